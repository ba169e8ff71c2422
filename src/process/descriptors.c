/* SPDX-License-Identifier: MIT */
/* descriptors.c - look at the descriptors of another process, without a change to them. */
#include "process/descriptors.h"
#include "base/io.h"
#include "base/libc_gaps.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* The kernel keeps these of a one-shot registration whose event was delivered. */
#define EPOLL_KEPT (EPOLLWAKEUP | EPOLLONESHOT | EPOLLET | EPOLLEXCLUSIVE)

static const char *const kind_names[NR_DESCRIPTOR_KINDS] = {
	[DESCRIPTOR_OTHER] = "other",     [DESCRIPTOR_SOCKET] = "socket",
	[DESCRIPTOR_PIPE] = "pipe",       [DESCRIPTOR_EVENTFD] = "eventfd",
	[DESCRIPTOR_TIMERFD] = "timerfd", [DESCRIPTOR_EPOLL] = "epoll",
};

const char *descriptor_kind_name(enum descriptor_kind kind)
{
	return kind < NR_DESCRIPTOR_KINDS ? kind_names[kind] : kind_names[DESCRIPTOR_OTHER];
}

int descriptors_open(struct descriptors *d, pid_t pid, struct err *err)
{
	*d = (struct descriptors){ .pid = pid, .pidfd = (int)syscall(SYS_pidfd_open, pid, 0) };
	/* Without pidfd_open(2), before Linux 5.3, kinds of descriptors are known, states are not.
	 */
	if (d->pidfd < 0 && (errno != ENOSYS || (kill(pid, 0) < 0 && errno == ESRCH)))
		return err_errno(err, "look at process %d", (int)pid);
	return 0;
}

void descriptors_close(struct descriptors *d)
{
	if (d->pidfd >= 0)
		close(d->pidfd);
	d->pidfd = -1;
}

/* ---- /proc ------------------------------------------------------------------------ */

#define FD_PATH 64

static const char *fd_path(const struct descriptors *d, const char *folder, int fd,
			   char path[FD_PATH])
{
	snprintf(path, FD_PATH, "/proc/%d/%s/%d", (int)d->pid, folder, fd);
	return path;
}

/* What the link of an anonymous inode says. */
static enum descriptor_kind kind_of_link(const char *link)
{
	if (!strcmp(link, "anon_inode:[eventfd]"))
		return DESCRIPTOR_EVENTFD;
	if (!strcmp(link, "anon_inode:[timerfd]"))
		return DESCRIPTOR_TIMERFD;
	if (!strcmp(link, "anon_inode:[eventpoll]"))
		return DESCRIPTOR_EPOLL;
	return DESCRIPTOR_OTHER;
}

/* An errno of /proc: the process or the descriptor is gone, or access is denied. */
static int fd_errno(const struct descriptors *d)
{
	char path[FD_PATH];

	if (errno == EACCES)
		return -EPERM;
	if (errno != ENOENT)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)d->pid);
	return access(path, F_OK) == 0 ? -EBADF : -ESRCH;
}

static int fd_kind(const struct descriptors *d, int fd, struct descriptor_state *out)
{
	char path[FD_PATH], link[64];
	struct statx st;
	ssize_t size;

	*out = (struct descriptor_state){ .fd = fd };
	fd_path(d, "fd", fd, path);
	size = readlink(path, link, sizeof(link) - 1);
	/* Do not ask the server of a network file system: it may not answer. */
	if (size < 0 ||
	    kernel_statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &st) < 0)
		return fd_errno(d);
	link[size] = '\0';
	out->inode = st.stx_ino;
	if (S_ISSOCK(st.stx_mode))
		out->kind = DESCRIPTOR_SOCKET;
	else if (S_ISFIFO(st.stx_mode))
		out->kind = DESCRIPTOR_PIPE;
	else
		out->kind = kind_of_link(link);
	return 0;
}

/* A number in /proc/PID/fdinfo/FD; 0 if it is missing. */
static uint64_t fdinfo_number(const struct descriptors *d, int fd, const char *key, int base)
{
	char path[FD_PATH], line[256];
	uint64_t value = 0;
	size_t size = strlen(key);
	FILE *f = fopen(fd_path(d, "fdinfo", fd, path), "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, key, size) && line[size] == ':') {
			value = strtoull(line + size + 1, NULL, base);
			break;
		}
	}
	if (f)
		fclose(f);
	return value;
}

/* ---- one descriptor ------------------------------------------------------------------ */

static void peer_describe(int copy, struct descriptor_state *out)
{
	union {
		struct sockaddr_storage any;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} name = { 0 };
	socklen_t size = sizeof(name);
	char text[INET6_ADDRSTRLEN];

	if (getpeername(copy, (struct sockaddr *)&name, &size) < 0)
		return;
	if (name.any.ss_family == AF_INET &&
	    inet_ntop(AF_INET, &name.in.sin_addr, text, sizeof(text)))
		snprintf(out->peer, sizeof(out->peer), "%s:%u", text, ntohs(name.in.sin_port));
	else if (name.any.ss_family == AF_INET6 &&
		 inet_ntop(AF_INET6, &name.in6.sin6_addr, text, sizeof(text)))
		snprintf(out->peer, sizeof(out->peer), "[%s]:%u", text, ntohs(name.in6.sin6_port));
	else if (name.any.ss_family == AF_UNIX && size > sizeof(sa_family_t) && name.un.sun_path[0])
		snprintf(out->peer, sizeof(out->peer), "unix:%.108s", name.un.sun_path);
}

/* A close that waits (SO_LINGER) must be the one of the process itself. */
static bool socket_lingers(int copy)
{
	struct linger linger = { 0 };
	socklen_t size = sizeof(linger);

	return getsockopt(copy, SOL_SOCKET, SO_LINGER, &linger, &size) == 0 && linger.l_onoff;
}

static void socket_ask(int copy, struct descriptor_state *out)
{
	int is_listening = 0;
	socklen_t size = sizeof(is_listening);

	getsockopt(copy, SOL_SOCKET, SO_ACCEPTCONN, &is_listening, &size);
	out->is_listening = is_listening != 0;
	peer_describe(copy, out);
}

static void copy_ask(int copy, struct descriptor_state *out)
{
	struct pollfd p = { .fd = copy, .events = POLLIN | POLLOUT | POLLRDHUP };
	int unread = 0;

	if (poll(&p, 1, 0) < 0)
		return;
	out->is_asked = true;
	out->can_read = p.revents & POLLIN;
	out->can_write = p.revents & POLLOUT;
	out->has_error = p.revents & POLLERR;
	out->has_hung_up = p.revents & (POLLHUP | POLLRDHUP);
	if (out->kind == DESCRIPTOR_SOCKET)
		socket_ask(copy, out);
	if ((out->kind == DESCRIPTOR_SOCKET || out->kind == DESCRIPTOR_PIPE) &&
	    !out->is_listening && ioctl(copy, FIONREAD, &unread) == 0 && unread > 0)
		out->unread = (uint64_t)unread;
}

/* True if @copy is the file that was described: the number may mean another one since. */
static bool copy_is_same(int copy, const struct descriptor_state *out)
{
	struct stat st;

	return fstat(copy, &st) == 0 && st.st_ino == out->inode;
}

int descriptors_kind(const struct descriptors *d, int fd, struct descriptor_state *out)
{
	return fd_kind(d, fd, out);
}

int descriptors_look(const struct descriptors *d, int fd, struct descriptor_state *out)
{
	int rc = fd_kind(d, fd, out), copy;

	if (rc < 0 || out->kind == DESCRIPTOR_OTHER || out->kind == DESCRIPTOR_EPOLL)
		return rc;
	if (d->pidfd < 0)
		return -ENOSYS;
	copy = (int)syscall(SYS_pidfd_getfd, d->pidfd, fd, 0);
	if (copy < 0)
		return -errno;
	if (!copy_is_same(copy, out))
		rc = -EAGAIN;
	else if (out->kind != DESCRIPTOR_SOCKET || !socket_lingers(copy))
		copy_ask(copy, out);
	close(copy);
	if (out->kind == DESCRIPTOR_EVENTFD)
		out->unread = fdinfo_number(d, fd, "eventfd-count", 16);
	else if (out->kind == DESCRIPTOR_TIMERFD)
		out->unread = fdinfo_number(d, fd, "ticks", 10);
	return rc;
}

int descriptors_each(const struct descriptors *d, descriptor_visitor *visit, void *ctx)
{
	char path[FD_PATH];
	struct dirent *entry;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)d->pid);
	folder = opendir(path);
	if (!folder)
		return errno == ENOENT ? -ESRCH : errno == EACCES ? -EPERM : -errno;
	while ((entry = readdir(folder))) {
		if (isdigit((unsigned char)entry->d_name[0]) && !visit(ctx, atoi(entry->d_name)))
			break;
	}
	closedir(folder);
	return 0;
}

/* ---- epoll --------------------------------------------------------------------------- */

/* "tfd: 5 events: 19 data: 5 pos:0 ino:61af sdev:7" */
static bool watch_parse(const char *line, struct descriptor_watch *out)
{
	const char *ino = strstr(line, " ino:");
	unsigned events;

	if (sscanf(line, "tfd: %d events: %x data: %" SCNx64, &out->fd, &events, &out->data) != 3)
		return false;
	out->inode = ino ? strtoull(ino + 5, NULL, 16) : 0;
	out->events = events;
	out->is_edge = events & EPOLLET;
	out->is_one_shot = events & EPOLLONESHOT;
	out->is_disarmed = out->is_one_shot && !(events & ~EPOLL_KEPT);
	return true;
}

int descriptors_each_watch(const struct descriptors *d, int epoll_fd,
			   descriptor_watch_visitor *visit, void *ctx)
{
	struct descriptor_watch watch = { .epoll_fd = epoll_fd };
	char path[FD_PATH], line[256];
	FILE *f = fopen(fd_path(d, "fdinfo", epoll_fd, path), "re");

	if (!f)
		return fd_errno(d);
	while (fgets(line, sizeof(line), f)) {
		if (watch_parse(line, &watch) && !visit(ctx, &watch))
			break;
	}
	fclose(f);
	return 0;
}

struct watch_search {
	const struct descriptors *d;
	const struct descriptor_state *wanted;
	struct descriptor_watch *out;
	bool is_found;
};

static bool search_set(void *ctx, const struct descriptor_watch *watch)
{
	struct watch_search *s = ctx;

	if (watch->fd != s->wanted->fd || watch->inode != s->wanted->inode)
		return true;
	*s->out = *watch;
	s->is_found = true;
	return false;
}

static bool search_descriptor(void *ctx, int fd)
{
	struct watch_search *s = ctx;
	struct descriptor_state state;

	if (fd_kind(s->d, fd, &state) == 0 && state.kind == DESCRIPTOR_EPOLL)
		descriptors_each_watch(s->d, fd, search_set, s);
	return !s->is_found;
}

bool descriptors_find_watch(const struct descriptors *d, const struct descriptor_state *state,
			    struct descriptor_watch *out)
{
	struct watch_search s = { .d = d, .wanted = state, .out = out };

	descriptors_each(d, search_descriptor, &s);
	return s.is_found;
}

/* ---- threads ------------------------------------------------------------------------- */

/* The beginning of a file of a thread, as a string.  False: it cannot be read. */
static bool thread_file(const struct descriptors *d, const char *tid, const char *name, char *text,
			size_t size)
{
	char path[96];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/%s", (int)d->pid, tid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	got = io_pread(fd, text, size - 1, 0);
	close(fd);
	text[got > 0 ? got : 0] = '\0';
	return true;
}

/* The state of a thread is after its name, which may contain anything. */
static bool thread_runs(const struct descriptors *d, const char *tid)
{
	char text[128];
	const char *behind;

	if (!thread_file(d, tid, "stat", text, sizeof(text)))
		return errno != ENOENT; /* the thread has ended */
	behind = strrchr(text, ')');
	return !behind || behind[1] != ' ' || (behind[2] != 'S' && behind[2] != 'I');
}

static bool thread_is_in_loop(const struct descriptors *d, const char *tid)
{
	static const long calls[] = {
		SYS_epoll_pwait,  SYS_ppoll, SYS_pselect6, SYS_io_uring_enter,
#ifdef SYS_epoll_wait
		SYS_epoll_wait,   SYS_poll,  SYS_select,
#endif
#ifdef SYS_epoll_pwait2
		SYS_epoll_pwait2,
#endif
	};
	char text[64], *end;
	long call;
	size_t i;

	if (!thread_file(d, tid, "syscall", text, sizeof(text)))
		return false;
	call = strtol(text, &end, 10);
	for (i = 0; end != text && i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (calls[i] == call)
			return true;
	}
	return false;
}

/* True if @test is true for one of the threads; @if_none: if they cannot be listed. */
static bool threads_any(const struct descriptors *d,
			bool (*test)(const struct descriptors *d, const char *tid), bool if_none)
{
	char path[FD_PATH];
	struct dirent *entry;
	bool is_true = false;
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)d->pid);
	folder = opendir(path);
	if (!folder)
		return if_none;
	while (!is_true && (entry = readdir(folder))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			is_true = test(d, entry->d_name);
	}
	closedir(folder);
	return is_true;
}

bool descriptors_are_quiet(const struct descriptors *d)
{
	return !threads_any(d, thread_runs, true);
}

bool descriptors_has_loop(const struct descriptors *d)
{
	return threads_any(d, thread_is_in_loop, false);
}
