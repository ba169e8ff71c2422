/* SPDX-License-Identifier: MIT */
/* exit_witness.c - a child that notes the group's signals and the ends of processes, with their
 * time. */
#include "process/exit_witness.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"

/* Descriptors of the two pipes in the child; all others are closed. */
#define WATCH_FD 0
#define NOTES_FD 1

/* ---- the child --------------------------------------------------------------- */

/* Keep only the two pipes, at WATCH_FD and NOTES_FD. */
static bool keep_pipes(int watch, int notes)
{
	struct rlimit limit = { 1024, 1024 };
	int fd, max;

	watch = fcntl(watch, F_DUPFD, 3);
	notes = fcntl(notes, F_DUPFD, 3);
	if (watch < 0 || notes < 0 || dup2(watch, WATCH_FD) < 0 || dup2(notes, NOTES_FD) < 0)
		return false;
	if (syscall(SYS_close_range, 2, ~0u, 0) == 0)
		return true;
	getrlimit(RLIMIT_NOFILE, &limit);
	max = limit.rlim_cur < 65536 ? (int)limit.rlim_cur : 65536;
	/* Before Linux 5.9. */
	for (fd = 2; fd < max; fd++)
		close(fd);
	return true;
}

/* Blocks while the pipe is full: the collector reads the notes once it runs again. */
static void put_note(int sig, pid_t pid)
{
	struct witness_note note = { .time_ns = clock_now_ns(), .sig = sig, .pid = pid };

	if (write(NOTES_FD, &note, sizeof(note)) != (ssize_t)sizeof(note))
		_exit(0);
}

static bool listen_to(int epoll, int fd, pid_t pid)
{
	struct epoll_event ev = {
		.events = EPOLLIN,
		.data.u64 = (uint64_t)(uint32_t)pid << 32 | (uint32_t)fd,
	};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev) == 0;
}

static void note_signals(int signal_fd)
{
	struct signalfd_siginfo info;

	while (read(signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		put_note((int)info.ssi_signo, 0);
}

/* A process that cannot be watched (no descriptor left) gets no note. */
static void start_watching(int epoll, int signal_fd)
{
	int32_t pid;
	int fd;

	if (read(WATCH_FD, &pid, sizeof(pid)) != (ssize_t)sizeof(pid))
		_exit(0);
	if (!pid) { /* witness_ask() */
		note_signals(signal_fd);
		put_note(0, 0);
		return;
	}
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0 && errno == ESRCH)
		put_note(0, pid);
	else if (fd >= 0 && !listen_to(epoll, fd, pid))
		close(fd);
}

static void witness_serve(int epoll, int signal_fd, const struct epoll_event *ev)
{
	int fd = (int)(uint32_t)ev->data.u64;
	pid_t pid = (pid_t)(ev->data.u64 >> 32);

	if (pid) {
		put_note(0, pid);
		close(fd);
	} else if (fd == WATCH_FD) {
		start_watching(epoll, signal_fd);
	} else {
		note_signals(signal_fd);
	}
}

static void witness_main(const int watch[2], const int notes[2], const sigset_t *signals,
			 pid_t collector)
{
	struct epoll_event evs[16];
	int epoll, signal_fd, i, nr;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "corotracer-sig");
	if (getppid() != collector || !keep_pipes(watch[0], notes[1]))
		_exit(0);
	epoll = epoll_create1(0);
	signal_fd = signalfd(-1, signals, SFD_NONBLOCK);
	if (epoll < 0 || signal_fd < 0 || !listen_to(epoll, signal_fd, 0) ||
	    !listen_to(epoll, WATCH_FD, 0))
		_exit(0);
	for (;;) {
		nr = epoll_wait(epoll, evs, sizeof(evs) / sizeof(evs[0]), -1);
		for (i = 0; i < nr; i++)
			witness_serve(epoll, signal_fd, &evs[i]);
	}
}

/* ---- the collector ------------------------------------------------------------ */

static void close_both(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

void witness_start(struct witness *w, const sigset_t *signals)
{
	pid_t collector = getpid();
	int watch[2], notes[2];

	*w = (struct witness){ .notes_fd = -1, .watch_fd = -1 };
	if (pipe2(watch, O_CLOEXEC) < 0)
		return;
	if (pipe2(notes, O_CLOEXEC) < 0) {
		close_both(watch);
		return;
	}
	w->pid = fork();
	if (w->pid == 0)
		witness_main(watch, notes, signals, collector);
	if (w->pid < 0) {
		w->pid = 0;
		close_both(watch);
		close_both(notes);
		return;
	}
	close(watch[0]);
	close(notes[1]);
	fcntl(watch[1], F_SETFL, O_NONBLOCK);
	fcntl(notes[0], F_SETFL, O_NONBLOCK);
	w->watch_fd = watch[1];
	w->notes_fd = notes[0];
}

void witness_stop(struct witness *w)
{
	if (!w->pid)
		return;
	kill(w->pid, SIGKILL);
	while (waitpid(w->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(w->notes_fd);
	close(w->watch_fd);
	*w = (struct witness){ .notes_fd = -1, .watch_fd = -1 };
}

void witness_watch(const struct witness *w, pid_t pid)
{
	int32_t number = pid;

	/* If the pipe is full there is no note: the collector's own time is used instead. */
	if (w->pid)
		(void)!write(w->watch_fd, &number, sizeof(number));
}

bool witness_ask(const struct witness *w)
{
	int32_t nothing = 0;

	return w->pid && write(w->watch_fd, &nothing, sizeof(nothing)) == (ssize_t)sizeof(nothing);
}

bool witness_next(const struct witness *w, struct witness_note *note)
{
	return w->pid && read(w->notes_fd, note, sizeof(*note)) == (ssize_t)sizeof(*note);
}
