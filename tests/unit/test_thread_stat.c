/* SPDX-License-Identifier: MIT */
/* test_thread_stat.c - what the kernel says of threads that run, wait, are stopped or have ended.
 */
#include "collect/thread_stat.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_open.h"
#include "trace/item.h"

static int ends[2];

/* A process with a difficult name that waits for a byte. */
static pid_t start_child(void)
{
	pid_t pid;
	char byte;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a) R (b) T");
		while (read(ends[0], &byte, 1) != 1)
			;
		_exit(0);
	}
	return pid;
}

static bool has_file(pid_t pid, const char *name)
{
	char path[64], text[16];
	bool is_there;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", (int)pid, (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	is_there = fd >= 0 && read(fd, text, sizeof(text)) > 0;
	if (fd >= 0)
		close(fd);
	return is_there;
}

static void a_thread_that_runs_is_running(void)
{
	struct thread_stat first, later;
	unsigned open_before = count_open();
	volatile unsigned i;

	CHECK(thread_stat_read((uint32_t)getpid(), (uint64_t)getpid(), &first));
	CHECK_STR(first.state, TRACE_CPU_RUNNING);
	CHECK(!first.call);
	do {
		for (i = 0; i < 1000000; i++)
			;
		CHECK(thread_stat_read((uint32_t)getpid(), (uint64_t)getpid(), &later));
	} while (later.cpu_ns == first.cpu_ns);
	CHECK(later.cpu_ns > first.cpu_ns);
	CHECK(later.queued_ns >= first.queued_ns);
	CHECK(!thread_stat_is_stopped((uint32_t)getpid()));
	CHECK_EQ(count_open(), open_before);
}

static void a_thread_that_waits_names_its_call(pid_t pid)
{
	struct thread_stat stat;

	do {
		usleep(1000);
		CHECK(thread_stat_read((uint32_t)pid, (uint64_t)pid, &stat));
	} while (!strcmp(stat.state, TRACE_CPU_RUNNING));
	CHECK_STR(stat.state, TRACE_CPU_BLOCKED);
	if (has_file(pid, "syscall"))
		CHECK_STR(stat.call, "read");
	else
		CHECK(!stat.call);
	CHECK(!thread_stat_is_stopped((uint32_t)pid));
}

static void a_thread_that_is_stopped_is_no_longer_waiting(pid_t pid)
{
	struct thread_stat stat;
	int status;

	kill(pid, SIGSTOP);
	CHECK_EQ(waitpid(pid, &status, WUNTRACED), pid);
	CHECK(WIFSTOPPED(status));
	CHECK(thread_stat_read((uint32_t)pid, (uint64_t)pid, &stat));
	CHECK_STR(stat.state, TRACE_CPU_STOPPED);
	CHECK(!stat.call);
	CHECK(thread_stat_is_stopped((uint32_t)pid));
	kill(pid, SIGCONT);
}

static void a_thread_that_has_ended_has_no_counters(pid_t pid)
{
	struct thread_stat stat = { .cpu_ns = 1, .call = "x" };

	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK(!thread_stat_read((uint32_t)pid, (uint64_t)pid, &stat));
	CHECK(!stat.call);
	CHECK_EQ(stat.cpu_ns, 0);
	CHECK(!thread_stat_is_stopped((uint32_t)pid));
	/* A thread of another process. */
	CHECK(!thread_stat_read((uint32_t)getpid(), (uint64_t)getppid(), &stat));
}

int main(void)
{
	pid_t pid;

	if (!has_file(getpid(), "schedstat"))
		SKIP("the kernel has no counters of threads");
	RUN(a_thread_that_runs_is_running);
	pid = start_child();
	a_thread_that_waits_names_its_call(pid);
	a_thread_that_is_stopped_is_no_longer_waiting(pid);
	a_thread_that_has_ended_has_no_counters(pid);
	return 0;
}
