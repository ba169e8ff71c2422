/* SPDX-License-Identifier: MIT */
/*
 * descriptors.h - look at the descriptors of another process: is one readable now, how many bytes
 * are unread, which epoll sets watch it.
 *
 * Nothing is read from a descriptor and nothing is changed: a socket, pipe, eventfd or timerfd is
 * duplicated with pidfd_getfd(2), asked with poll(2) and FIONREAD, and closed at once.  A
 * descriptor of another kind is not duplicated: the close of a file may flush it, and polling a
 * device may start it.  The process is not stopped, so an answer may be old when it is used;
 * callers that judge look twice, with all threads asleep (descriptors_are_quiet()).
 */
#ifndef PROCESS_DESCRIPTORS_H
#define PROCESS_DESCRIPTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum descriptor_kind {
	DESCRIPTOR_OTHER, /* a file, a device, a signalfd: what it is ready for is not asked */
	DESCRIPTOR_SOCKET,
	DESCRIPTOR_PIPE, /* or a fifo */
	DESCRIPTOR_EVENTFD,
	DESCRIPTOR_TIMERFD,
	DESCRIPTOR_EPOLL,
	NR_DESCRIPTOR_KINDS,
};

#define DESCRIPTOR_PEER 128

struct descriptor_state {
	int fd;
	enum descriptor_kind kind;
	uint64_t inode; /* as in /proc/PID/fdinfo of an epoll descriptor */
	bool is_asked;  /* the following are valid */
	bool can_read;  /* a read, or an accept of a listening socket, does not block */
	bool can_write;
	bool has_error, has_hung_up; /* POLLERR; POLLHUP or POLLRDHUP */
	bool is_listening;
	/*
	 * Unread bytes of a socket or pipe; the count of an eventfd; expirations of a timerfd that
	 * were not read.  0 if there are none, or the kernel does not say.
	 */
	uint64_t unread;
	char peer[DESCRIPTOR_PEER]; /* "127.0.0.1:80", "unix:/path"; empty: none, or no name */
};

/* One descriptor in an epoll set. */
struct descriptor_watch {
	int epoll_fd, fd;
	uint64_t inode;  /* of the file; fd may be closed, or mean another file since */
	uint32_t events; /* EPOLLIN and so on */
	uint64_t data;
	bool is_edge, is_one_shot;
	bool is_disarmed; /* one-shot, and its event was delivered: no further one follows */
};

struct descriptors {
	pid_t pid;
	int pidfd; /* -1: closed, or an old kernel */
};

/* Fails if process @pid does not exist. */
int descriptors_open(struct descriptors *d, pid_t pid, struct err *err);
void descriptors_close(struct descriptors *d);

/*
 * Look at descriptor @fd.  0; -EBADF: it is not open; -EPERM: not allowed to look; another negative
 * errno, -ESRCH if the process has ended.
 */
int descriptors_look(const struct descriptors *d, int fd, struct descriptor_state *out);

/* As descriptors_look(), without duplicating it: its kind and inode only. */
int descriptors_kind(const struct descriptors *d, int fd, struct descriptor_state *out);

/* Visit the numbers of all open descriptors until @visit returns false.  0 or a negative errno. */
typedef bool descriptor_visitor(void *ctx, int fd);
int descriptors_each(const struct descriptors *d, descriptor_visitor *visit, void *ctx);

/*
 * Visit what epoll descriptor @epoll_fd watches, until @visit returns false.  0 or a negative
 * errno.
 */
typedef bool descriptor_watch_visitor(void *ctx, const struct descriptor_watch *watch);
int descriptors_each_watch(const struct descriptors *d, int epoll_fd,
			   descriptor_watch_visitor *visit, void *ctx);

/*
 * Find the epoll set that watches descriptor @state; the first of several.  False: none.  Looks at
 * all descriptors of the process.
 */
bool descriptors_find_watch(const struct descriptors *d, const struct descriptor_state *state,
			    struct descriptor_watch *out);

/* True if every thread of the process sleeps: none runs, is ready to run, or is stopped. */
bool descriptors_are_quiet(const struct descriptors *d);

/*
 * True if a thread of the process sleeps in a call that waits for descriptors: epoll_wait(2),
 * poll(2), select(2), io_uring_enter(2).  False also if the kernel does not say.
 */
bool descriptors_has_loop(const struct descriptors *d);

/* "socket", "pipe", ... */
const char *descriptor_kind_name(enum descriptor_kind kind);

#endif
