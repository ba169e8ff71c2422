/* SPDX-License-Identifier: MIT */
/*
 * test_target_memory.c - the memory of another process is read and written, with and without
 * ptrace(2), and a refusal is explained.  Also: a mapped file that is cut off does not end us.
 */
#include "process/target_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/map_guard.h"

static struct err err;
static struct target t;
static pid_t child;
static uint8_t *area; /* one page; the next one is not mapped.  The same in parent and child */

static uint64_t at(size_t offset)
{
	return (uint64_t)(uintptr_t)area + offset;
}

/* In a child: end with the test, also if it has failed already. */
static void end_with_parent(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
}

static void child_start(void)
{
	pid_t self = getpid();
	size_t i;

	for (i = 0; i < 4096; i++)
		area[i] = (uint8_t)i;
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		end_with_parent(self);
		for (;;)
			pause();
	}
	CHECK_EQ(target_open(&t, child, &err), 0);
}

static void child_end(void)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	target_close(&t);
	CHECK_EQ(t.pidfd, -1);
}

/* ---- memory ---------------------------------------------------------------------------- */

static void check_bytes(size_t offset, const void *wanted, size_t size)
{
	uint8_t got[64];

	CHECK_EQ(target_read(&t, at(offset), got, size, &err), 0);
	CHECK_EQ(memcmp(got, wanted, size), 0);
}

static void check_access(bool by_ptrace)
{
	static const struct {
		size_t offset, size;
	} places[] = {
		{ 64, 8 }, { 65, 1 }, { 71, 2 }, { 66, 3 }, { 69, 17 }, { 64, 24 }, { 79, 1 }
	};
	uint8_t new[32], whole[64];
	size_t i, k;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		child_start();
		t.by_ptrace = by_ptrace;
		memcpy(whole, area + 48, 64);
		check_bytes(48, whole, 64);
		for (k = 0; k < places[i].size; k++)
			new[k] = (uint8_t)(0xf0 ^ (k * 7));
		CHECK_EQ(target_write(&t, at(places[i].offset), new, places[i].size, &err), 0);
		memcpy(&whole[places[i].offset - 48], new, places[i].size);
		check_bytes(48, whole, 64); /* and nothing beside it */
		CHECK_EQ(area[places[i].offset], (uint8_t)places[i].offset); /* not our own */
		CHECK_EQ(t.stops, by_ptrace);
		CHECK_EQ(t.stopped_ns > 0, by_ptrace);
		child_end();
	}
}

static void memory_is_read_and_written_to_the_byte(void)
{
	check_access(false);
}

static void ptrace_does_the_same(void)
{
	check_access(true);
}

static void check_faults(void)
{
	uint8_t bytes[16] = { 0 };
	char text[128];

	CHECK_EQ(target_read_some(&t, at(4096 - 8), bytes, 16), 8);
	CHECK_EQ(bytes[7], 255);
	CHECK_EQ(target_read(&t, at(4096 - 8), bytes, 8, &err), 0);
	CHECK_EQ(target_read(&t, at(4096 - 8), bytes, 9, &err), -EFAULT);
	snprintf(text, sizeof(text), "cannot read 9 bytes at %#llx of process %d",
		 (unsigned long long)at(4096 - 8), (int)child);
	CHECK_STR(err.text, text);
	CHECK(target_read(&t, 16, bytes, 8, &err) < 0);
	CHECK(target_write(&t, 16, bytes, 8, &err) < 0);
	CHECK(strstr(err.text, "cannot write ") != NULL);
}

static void what_is_not_mapped_is_an_error(void)
{
	child_start();
	check_faults();
	t.by_ptrace = true;
	check_faults();
	t.by_ptrace = false;
	CHECK_EQ(target_write(&t, at(4096 - 8), "123456789", 9, &err), -EFAULT);
	CHECK(strstr(err.text, "cannot write 9 bytes at 0x") != NULL);
	child_end();
}

static void a_process_that_ended_is_told(void)
{
	char text[64];
	uint64_t word;

	child_start();
	CHECK(target_alive(&t));
	CHECK(!target_is_leaving(&t));
	kill(child, SIGKILL);
	CHECK_EQ(waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT), 0);
	CHECK(!target_alive(&t)); /* a zombie */
	CHECK(target_is_leaving(&t));
	target_close(&t);
	CHECK_EQ(target_open(&t, child, &err), -ESRCH);
	snprintf(text, sizeof(text), "process %d has no program: it has ended", (int)child);
	CHECK_STR(err.text, text);
	CHECK(strstr(err.hint, "its parent has not read its exit status") != NULL);
	waitpid(child, NULL, 0);
	t = (struct target){ .pid = child, .pidfd = -1 };
	CHECK(!target_alive(&t));
	CHECK_EQ(target_read(&t, at(0), &word, 8, &err), -ESRCH);
	snprintf(text, sizeof(text), "process %d has ended", (int)child);
	CHECK_STR(err.text, text);
	err.text[0] = '\0';
	CHECK_EQ(target_write(&t, at(0), &word, 8, &err), -ESRCH);
	CHECK_STR(err.text, text);
	t.pid = getpid();
	CHECK(target_alive(&t));
}

static void *sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void a_process_without_its_main_thread_is_told(void)
{
	pid_t self = getpid();
	pthread_t thread;
	char text[128];
	int i;

	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		end_with_parent(self);
		pthread_create(&thread, NULL, sleep_for_ever, NULL);
		pthread_exit(NULL);
	}
	for (i = 0; i < 2000; i++) { /* until its main thread has ended */
		if (target_open(&t, child, &err) < 0)
			break;
		target_close(&t);
		usleep(5000);
	}
	snprintf(text, sizeof(text),
		 "the main thread of process %d has ended: its memory cannot be read, though 1 "
		 "thread of it runs",
		 (int)child);
	CHECK_STR(err.text, text);
	CHECK_STR(err.hint, "let main() wait for the threads instead of calling pthread_exit()");
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void another_program_has_other_memory(void)
{
	int ends[2], started[2];
	pid_t self = getpid();
	char byte;

	CHECK_EQ(pipe(ends), 0);
	CHECK_EQ(pipe2(started, O_CLOEXEC), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		end_with_parent(self);
		if (read(ends[0], &byte, 1) == 1)
			execlp("sleep", "sleep", "100", NULL);
		_exit(1);
	}
	close(started[1]);
	CHECK_EQ(target_open(&t, child, &err), 0);
	CHECK(t.auxv_size > 0);
	CHECK(!target_replaced(&t));
	CHECK_EQ(write(ends[1], "x", 1), 1);
	CHECK_EQ(read(started[0], &byte, 1), 0); /* execve(2) closes it */
	CHECK(target_replaced(&t));
	t.auxv_size = 0; /* not known */
	CHECK(!target_replaced(&t));
	close(ends[0]);
	close(ends[1]);
	close(started[0]);
	child_end();
}

/* ---- refusals --------------------------------------------------------------------------- */

static void *thread_open_itself(void *arg)
{
	char text[96];

	(void)arg;
	CHECK_EQ(target_open(&t, gettid(), &err), -EINVAL);
	snprintf(text, sizeof(text), "%d is a thread, of process %d", (int)gettid(), (int)getpid());
	CHECK_STR(err.text, text);
	snprintf(text, sizeof(text), "give the process: -p %d", (int)getpid());
	CHECK_STR(err.hint, text);
	return NULL;
}

static void a_thread_is_not_a_process(void)
{
	pthread_t thread;

	CHECK_EQ(pthread_create(&thread, NULL, thread_open_itself, NULL), 0);
	pthread_join(thread, NULL);
	CHECK_EQ(target_open(&t, 4194305, &err), -ESRCH);
	CHECK_STR(err.text, "there is no process 4194305");
	CHECK_STR(err.hint, "'ps -e' or 'pgrep NAME' lists processes");
	CHECK_EQ(target_ptrace_refused(4194305, &err), -ESRCH);
	CHECK_STR(err.text, "there is no process 4194305");
}

static void a_debugger_is_named(void)
{
	int ready[2], status;
	char byte, text[128];
	pid_t tracer, self = getpid();

	child_start();
	CHECK_EQ(pipe(ready), 0);
	tracer = fork();
	CHECK(tracer >= 0);
	if (tracer == 0) {
		end_with_parent(self);
		prctl(PR_SET_NAME, "a debugger");
		byte = ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0 ? 'y' : 'n';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	if (byte == 'y') {
		CHECK_EQ(target_ptrace_refused(child, &err), -EPERM);
		snprintf(text, sizeof(text),
			 "process %d is already traced by process %d (a debugger)", (int)child,
			 (int)tracer);
		CHECK_STR(err.text, text);
		t.by_ptrace = true;
		CHECK_EQ(target_write(&t, at(0), "x", 1, &err), -EPERM);
		CHECK_STR(err.text, text);
		CHECK_EQ(t.stops, 0);
	}
	kill(tracer, SIGKILL);
	waitpid(tracer, &status, 0);
	close(ready[0]);
	close(ready[1]);
	child_end();
}

static void the_owner_of_a_process_is_named(void)
{
	char text[128];
	int status;
	pid_t pid;

	if (geteuid() != 0)
		return;
	child_start();
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		if (setuid(4444) < 0)
			_exit(2);
		snprintf(text, sizeof(text), "process %d belongs to user 0, and we are user 4444",
			 (int)child);
		if (target_read(&t, at(0), text + 100, 8, &err) != -EPERM)
			_exit(3);
		_exit(strcmp(err.text, text) == 0 ? 0 : 4);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(WEXITSTATUS(status), 0);
	child_end();
}

static void names_and_namespaces_are_known(void)
{
	pid_t self = getpid();
	char name[32], byte;
	int ready[2];

	prctl(PR_SET_NAME, "named so");
	CHECK_STR(target_name(getpid(), name), "named so");
	CHECK_STR(target_name(4194305, name), "?");
	CHECK(target_shares_namespace(getpid(), "uts"));
	CHECK(target_shares_namespace(4194305, "uts")); /* not known */
	if (geteuid() != 0)
		return;
	CHECK_EQ(pipe(ready), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		end_with_parent(self);
		byte = unshare(CLONE_NEWUTS) == 0 ? 'y' : 'n';
		if (write(ready[1], &byte, 1) == 1)
			pause();
		_exit(0);
	}
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	CHECK_EQ(target_shares_namespace(child, "uts"), byte == 'n');
	CHECK(target_shares_namespace(child, "net"));
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(ready[0]);
	close(ready[1]);
}

/* ---- mapped files that are cut off --------------------------------------------------------- */

/* A file of two pages, mapped; only the first byte of each is set. */
static volatile char *file_map(int *fd, int prot)
{
	char *map;

	*fd = memfd_create("guarded", MFD_CLOEXEC);
	CHECK(*fd >= 0);
	CHECK_EQ(ftruncate(*fd, 8192), 0);
	CHECK_EQ(pwrite(*fd, "a", 1, 0), 1);
	CHECK_EQ(pwrite(*fd, "b", 1, 4096), 1);
	map = mmap(NULL, 8192, prot, MAP_SHARED, *fd, 0);
	CHECK(map != MAP_FAILED);
	return map;
}

/* The signal that ends a process which reads the byte; 0: none. */
static int signal_of_read(const volatile char *byte)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(*byte == '~');
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void a_guarded_file_that_is_cut_off_reads_as_zeros(void)
{
	volatile char *one, *other;
	int fd, other_fd;

	one = file_map(&fd, PROT_READ);
	other = file_map(&other_fd, PROT_READ | PROT_WRITE);
	map_guard_add((void *)(uintptr_t)one, 8192, PROT_READ);
	CHECK_EQ(ftruncate(fd, 4096), 0);
	CHECK_EQ(ftruncate(other_fd, 4096), 0);
	CHECK(!map_guard_shrunk());
	CHECK_EQ(signal_of_read(&other[4096]), SIGBUS); /* not guarded */
	CHECK_EQ(one[4096 + 100], 0);
	CHECK(map_guard_shrunk());
	CHECK_EQ(one[4096], 0);
	CHECK_EQ(one[0], 'a'); /* what is still there */
	map_guard_add((void *)(uintptr_t)other, 8192, PROT_READ | PROT_WRITE);
	other[8191] = 'w'; /* goes nowhere */
	CHECK_EQ(other[8191], 'w');
	CHECK_EQ(other[0], 'a');
	munmap((void *)(uintptr_t)one, 8192);
	munmap((void *)(uintptr_t)other, 8192);
	map_guard_remove((void *)(uintptr_t)one);
	map_guard_remove((void *)(uintptr_t)one); /* not there any more */
	close(fd);
	close(other_fd);
	/* Removed is not guarded; the one beside it is. */
	one = file_map(&fd, PROT_READ);
	map_guard_add((void *)(uintptr_t)one, 8192, PROT_READ);
	map_guard_remove((void *)(uintptr_t)one);
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(signal_of_read(&one[0]), SIGBUS);
	map_guard_remove((void *)(uintptr_t)other);
	munmap((void *)(uintptr_t)one, 8192);
	close(fd);
}

static void the_end_of_a_guarded_file_is_outside(void)
{
	volatile char *map;
	int fd;

	map = file_map(&fd, PROT_READ);
	map_guard_add((void *)(uintptr_t)map, 4096, PROT_READ); /* its first page */
	CHECK_EQ(ftruncate(fd, 0), 0);
	CHECK_EQ(signal_of_read(&map[4096]), SIGBUS);
	CHECK_EQ(signal_of_read(&map[4095]), 0);
	CHECK_EQ(signal_of_read(&map[0]), 0);
	map_guard_remove((void *)(uintptr_t)map);
	munmap((void *)(uintptr_t)map, 8192);
	close(fd);
}

int main(void)
{
	area = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(area != MAP_FAILED);
	CHECK_EQ(munmap(area + 4096, 4096), 0);
	RUN(memory_is_read_and_written_to_the_byte);
	RUN(what_is_not_mapped_is_an_error);
	RUN(ptrace_does_the_same);
	RUN(a_process_that_ended_is_told);
	RUN(a_process_without_its_main_thread_is_told);
	RUN(another_program_has_other_memory);
	RUN(a_thread_is_not_a_process);
	RUN(a_debugger_is_named);
	RUN(the_owner_of_a_process_is_named);
	RUN(names_and_namespaces_are_known);
	RUN(a_guarded_file_that_is_cut_off_reads_as_zeros);
	RUN(the_end_of_a_guarded_file_is_outside);
	return 0;
}
