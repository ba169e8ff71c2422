/* SPDX-License-Identifier: MIT */
/*
 * test_exit_witness.c - the witness notes signals of the group and ends of processes, whatever
 * descriptors the collector has, and leaves nothing behind.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "process/exit_witness.h"

static sigset_t watched;

static void next_note(const struct witness *w, int sig, pid_t pid)
{
	struct pollfd p = { .fd = w->notes_fd, .events = POLLIN };
	struct witness_note note = { 0 };
	uint64_t now;

	CHECK_EQ(poll(&p, 1, 20000), 1);
	CHECK(witness_next(w, &note));
	CHECK_EQ(note.sig, sig);
	CHECK_EQ(note.pid, pid);
	now = clock_now_ns();
	CHECK(note.time_ns <= now && now - note.time_ns < 20 * NS_PER_SEC);
}

static void no_more_notes(const struct witness *w)
{
	struct witness_note note;

	CHECK(witness_ask(w));
	next_note(w, 0, 0);
	CHECK(!witness_next(w, &note));
}

static pid_t start_child(int *go)
{
	int ends[2];
	pid_t pid;
	char byte;

	CHECK_EQ(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		close(ends[1]);
		(void)!read(ends[0], &byte, 1);
		_exit(0);
	}
	close(ends[0]);
	*go = ends[1];
	return pid;
}

static void ends_are_noted(void)
{
	struct witness w;
	pid_t pid[3];
	int go[3], i;

	witness_start(&w, &watched);
	CHECK(w.pid > 0 && w.notes_fd >= 0 && w.watch_fd >= 0);
	for (i = 0; i < 3; i++) {
		pid[i] = start_child(&go[i]);
		witness_watch(&w, pid[i]);
	}
	no_more_notes(&w);
	for (i = 2; i >= 0; i--) {
		close(go[i]);
		next_note(&w, 0, pid[i]);
		CHECK_EQ(waitpid(pid[i], NULL, 0), pid[i]);
	}
	witness_watch(&w, pid[0]); /* it has ended */
	next_note(&w, 0, pid[0]);
	no_more_notes(&w);
	witness_stop(&w);
}

static void signals_are_noted_in_order(void)
{
	struct witness w;

	witness_start(&w, &watched);
	no_more_notes(&w);
	CHECK_EQ(kill(w.pid, SIGINT), 0);
	next_note(&w, SIGINT, 0);
	CHECK_EQ(kill(w.pid, SIGTERM), 0);
	CHECK(witness_ask(&w)); /* the answer is behind the signal */
	next_note(&w, SIGTERM, 0);
	next_note(&w, 0, 0);
	no_more_notes(&w);
	witness_stop(&w);
}

/* Two pipes, the signals and an epoll: nothing of the collector's. */
static unsigned count_descriptors(pid_t pid)
{
	char name[64];
	unsigned nr = 0;
	DIR *d;

	snprintf(name, sizeof(name), "/proc/%d/fd", (int)pid);
	d = opendir(name);
	CHECK(d != NULL);
	while (readdir(d))
		nr++;
	closedir(d);
	return nr - 2; /* . and .. */
}

static void the_witness_has_nothing_of_the_collector(void)
{
	int extra = open("/dev/null", O_RDONLY), high = fcntl(extra, F_DUPFD, 700);
	unsigned before = count_descriptors(getpid());
	char name[64], comm[32] = "";
	struct witness w;
	pid_t pid;
	int fd;

	witness_start(&w, &watched);
	pid = w.pid;
	no_more_notes(&w);
	CHECK_EQ(count_descriptors(getpid()), before + 2);
	CHECK(fcntl(w.notes_fd, F_GETFD) & FD_CLOEXEC && fcntl(w.watch_fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(count_descriptors(w.pid), 4);
	snprintf(name, sizeof(name), "/proc/%d/comm", (int)w.pid);
	fd = open(name, O_RDONLY);
	CHECK(read(fd, comm, sizeof(comm) - 1) > 0);
	close(fd);
	CHECK_STR(comm, "corotracer-sig\n");
	witness_stop(&w);
	CHECK(w.pid == 0 && w.notes_fd == -1 && w.watch_fd == -1);
	CHECK(kill(pid, 0) < 0 && errno == ESRCH); /* it is reaped */
	CHECK_EQ(count_descriptors(getpid()), before);
	witness_stop(&w);
	close(extra);
	close(high);
}

/* Without a witness nothing is noted, and nothing fails. */
static void without_a_witness_nothing_happens(void)
{
	struct witness w = { .pid = 0, .notes_fd = -1, .watch_fd = -1 };
	struct witness_note note;

	witness_watch(&w, getpid());
	CHECK(!witness_ask(&w));
	CHECK(!witness_next(&w, &note));
	witness_stop(&w);
}

/* A collector without standard files: the pipes have their numbers. */
static void closed_standard_files_do_not_matter(void)
{
	int status, closed;
	pid_t pid;

	for (closed = 1; closed <= 3; closed++) {
		pid = fork();
		if (!pid) {
			struct witness w;
			int go, fd;
			pid_t child;

			for (fd = 0; fd < closed; fd++)
				close(fd);
			witness_start(&w, &watched);
			child = start_child(&go);
			witness_watch(&w, child);
			no_more_notes(&w);
			close(go);
			next_note(&w, 0, child);
			no_more_notes(&w); /* it has closed what it had of the child */
			CHECK_EQ(count_descriptors(w.pid), 4);
			witness_stop(&w);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
}

/* It ends with the collector, however that ends. */
static void the_witness_ends_with_the_collector(void)
{
	struct pollfd p = { .events = POLLHUP };
	int ends[2], i;
	pid_t pid, witness = 0;

	CHECK_EQ(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		struct witness w;

		witness_start(&w, &watched);
		CHECK_EQ(write(ends[1], &w.pid, sizeof(w.pid)), sizeof(w.pid));
		pause();
	}
	CHECK_EQ(read(ends[0], &witness, sizeof(witness)), sizeof(witness));
	close(ends[0]);
	close(ends[1]);
	CHECK_EQ(kill(pid, SIGKILL), 0);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	for (i = 0; i < 20000; i++) {
		char name[64], line[200] = "";
		FILE *f;

		snprintf(name, sizeof(name), "/proc/%d/stat", (int)witness);
		f = fopen(name, "r");
		if (!f)
			break;
		CHECK(fgets(line, sizeof(line), f) || ferror(f));
		fclose(f);
		if (strstr(line, ") Z "))
			break;
		poll(&p, 0, 1);
	}
	CHECK(i < 20000);
}

int main(void)
{
	sigemptyset(&watched);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	CHECK_EQ(sigprocmask(SIG_BLOCK, &watched, NULL), 0);
	RUN(ends_are_noted);
	RUN(signals_are_noted_in_order);
	RUN(the_witness_has_nothing_of_the_collector);
	RUN(without_a_witness_nothing_happens);
	RUN(closed_standard_files_do_not_matter);
	RUN(the_witness_ends_with_the_collector);
	return 0;
}
