/* SPDX-License-Identifier: MIT */
/* program_door.c - the descriptors that a launched program inherits: the region and the door. */
#include "collect/program_door.h"

#include <corotracer/inherit.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* Descriptors in one message; more are closed by the kernel. */
#define DOOR_FDS 4u

void door_init(struct door *d)
{
	*d = (struct door){ .fd = -1, .program_fd = -1, .region_fd = -1 };
}

static void door_close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void door_launched(struct door *d)
{
	door_close_fd(&d->program_fd);
	door_close_fd(&d->region_fd);
}

void door_close(struct door *d)
{
	door_launched(d);
	door_close_fd(&d->fd);
	free(d->value);
	door_init(d);
}

/* ---- open ----------------------------------------------------------------- */

/* Move *@fd to a high number, as the SDK does; a low one if the limit of descriptors is low. */
static void door_move_up(int *fd)
{
	int high = *fd >= 0 ? fcntl(*fd, F_DUPFD_CLOEXEC, CTP_HIGH_FD) : -1;

	if (high < 0)
		return;
	close(*fd);
	*fd = high;
}

static bool door_describe(struct door *d, const char *path)
{
	struct stat region, door;

	if (fstat(d->region_fd, &region) < 0 || fstat(d->program_fd, &door) < 0)
		return false;
	return asprintf(&d->value, "%x:%" PRIx64 ":%" PRIx64 ":%x:%" PRIx64 ":%" PRIx64 ":%s",
			(unsigned)d->region_fd, (uint64_t)region.st_dev, (uint64_t)region.st_ino,
			(unsigned)d->program_fd, (uint64_t)door.st_dev, (uint64_t)door.st_ino,
			path) >= 0;
}

int door_open(struct door *d, const char *path, struct err *err)
{
	int pair[2], on = 1;

	door_init(d);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(err, "cannot make a pair of sockets");
	d->fd = pair[0];
	d->program_fd = pair[1];
	/*
	 * Opened again: the lock on the region belongs to the collector's own descriptor, and must
	 * not last as long as the program has one.
	 */
	d->region_fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
	door_move_up(&d->program_fd);
	door_move_up(&d->region_fd);
	if (setsockopt(d->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 || d->region_fd < 0 ||
	    !door_describe(d, path)) {
		err_errno(err, "cannot open '%s' for the program", path);
		door_close(d);
		return err->code;
	}
	return 0;
}

/* ---- receive --------------------------------------------------------------- */

/* Keep the first descriptor, close the others. */
static void door_take_fds(const struct cmsghdr *cmsg, struct door_guest *guest)
{
	size_t nr = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int), i;
	int fd;

	for (i = 0; i < nr; i++) {
		memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(fd), sizeof(fd));
		if (guest->fd < 0)
			guest->fd = fd;
		else
			close(fd);
	}
}

static void door_take_control(struct msghdr *message, struct door_guest *guest)
{
	struct cmsghdr *cmsg;
	struct ucred cred;

	for (cmsg = CMSG_FIRSTHDR(message); cmsg; cmsg = CMSG_NXTHDR(message, cmsg)) {
		if (cmsg->cmsg_level != SOL_SOCKET)
			continue;
		if (cmsg->cmsg_type == SCM_RIGHTS) {
			door_take_fds(cmsg, guest);
		} else if (cmsg->cmsg_type == SCM_CREDENTIALS &&
			   cmsg->cmsg_len >= CMSG_LEN(sizeof(cred))) {
			memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
			guest->pid = (uint32_t)cred.pid;
			guest->uid = cred.uid;
		}
	}
}

static bool door_is_stream(int fd)
{
	int domain = 0, type = 0;
	socklen_t size = sizeof(int);

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_STREAM;
}

/* A message that is not as the SDK sends it becomes a guest with pid 0. */
static void door_check(struct door_guest *guest, const struct ctp_hello *hello, size_t size)
{
	bool is_known = size == sizeof(*hello) && hello->magic == CTP_HELLO_MAGIC;
	bool had_fd = guest->fd >= 0;

	guest->inner = hello->pid;

	if (is_known && hello->kind == CTP_HELLO_CONNECT && guest->fd >= 0 &&
	    door_is_stream(guest->fd))
		return;
	door_close_fd(&guest->fd);
	if (is_known && hello->kind == CTP_HELLO_FAILED)
		guest->why = hello->why;
	else if (is_known && hello->kind == CTP_HELLO_CONNECT && !had_fd)
		guest->is_no_room = true;
	else
		guest->pid = 0;
}

bool door_receive(struct door *d, struct door_guest *guest, bool *is_over)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(DOOR_FDS * sizeof(int))];
	} control;
	struct ctp_hello hello = { 0 };
	struct iovec io = { .iov_base = &hello, .iov_len = sizeof(hello) };
	struct msghdr message = {
		.msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got;

	*guest = (struct door_guest){ .fd = -1 };
	*is_over = false;
	if (d->fd < 0)
		return false;
	do {
		got = recvmsg(d->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0) {
		*is_over = errno != EAGAIN;
		return false;
	}
	door_take_control(&message, guest);
	/* At its end a socket gives messages of size 0, from no process. */
	*is_over = got == 0 && guest->fd < 0 && !guest->pid;
	if (*is_over)
		return false;
	door_check(guest, &hello, (size_t)got);
	return true;
}
