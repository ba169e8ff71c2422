/* SPDX-License-Identifier: MIT */
/*
 * corotracer/inherit_slow.h - use the descriptors of inherit.h, if the program still has them.
 *
 * The program may close a descriptor and reuse its number at any time, also between a check and a
 * use.  So each use duplicates the descriptor, checks the duplicate and closes it afterwards.
 */
#ifndef COROTRACER_INHERIT_SLOW_H
#define COROTRACER_INHERIT_SLOW_H

#include <corotracer/clock.h>
#include <corotracer/inherit.h>
#include <corotracer/probe.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <corotracer/header_begin.h>

#ifdef __cplusplus
extern "C" {
#endif

CTP_SLOW int ctp_inherited_is(int fd, const struct ctp_inherited *in)
{
	struct stat st;

	return in->ino && fstat(fd, &st) == 0 && (uint64_t)st.st_dev == in->dev &&
	       (uint64_t)st.st_ino == in->ino;
}

/* A duplicate with a high number; any number if the limit of descriptors is low. */
CTP_SLOW int ctp_fd_duplicate(int fd)
{
	int high = fcntl(fd, F_DUPFD_CLOEXEC, CTP_HIGH_FD);

	return high >= 0 ? high : fcntl(fd, F_DUPFD_CLOEXEC, 3);
}

/* A duplicate of the descriptor, or -1 if the program has closed or reused it. */
CTP_SLOW int ctp_inherited_open(const struct ctp_inherited *in)
{
	int fd;

	/* Closing a duplicate of another file would release the program's locks on that file. */
	if (!ctp_inherited_is(in->fd, in))
		return -1;
	fd = ctp_fd_duplicate(in->fd);
	if (fd < 0 || ctp_inherited_is(fd, in))
		return fd;
	close(fd);
	return -1;
}

/* A hexadecimal number and the colon after it. */
CTP_SLOW int ctp_inherited_number(const char **at, uint64_t *number)
{
	char *end;

	*number = strtoull(*at, &end, 16);
	if (end == *at || *end != ':')
		return 0;
	*at = end + 1;
	return 1;
}

CTP_SLOW int ctp_inherited_parse(const char **at, struct ctp_inherited *in)
{
	uint64_t fd;

	if (!ctp_inherited_number(at, &fd) || !ctp_inherited_number(at, &in->dev) ||
	    !ctp_inherited_number(at, &in->ino) || fd > INT32_MAX)
		return 0;
	in->fd = (int32_t)fd;
	return 1;
}

/* Read CTP_FDS for the region at @path.  The session has no descriptors if it is not for that one.
 */
CTP_SLOW void ctp_inherited_find(struct ctp_session *s, const char *path)
{
	const char *at = secure_getenv(CTP_ENV_FDS);
	struct ctp_inherited region, door;

	if (!at || !ctp_inherited_parse(&at, &region) || !ctp_inherited_parse(&at, &door) ||
	    strcmp(at, path) != 0)
		return;
	s->region_fd = region;
	s->door = door;
}

/* Send @hello, with descriptor @fd unless it is -1.  Not sendmsg(), a cancellation point. */
CTP_SLOW int ctp_door_send(int door, const struct ctp_hello *hello, int fd)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec io;
	struct msghdr message;

	memset(&control, 0, sizeof(control));
	memset(&message, 0, sizeof(message));
	io.iov_base = (void *)(uintptr_t)hello; // NOLINT
	io.iov_len = sizeof(*hello);
	message.msg_iov = &io;
	message.msg_iovlen = 1;
	if (fd >= 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(fd));
		memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	return syscall(SYS_sendmsg, door, &message, MSG_DONTWAIT | MSG_NOSIGNAL) ==
	       (long)sizeof(*hello);
}

/* Connect through the door, without blocking.  Returns -1 if that is not possible. */
CTP_SLOW int ctp_door_connect(const struct ctp_session *s)
{
	struct ctp_hello hello = { CTP_HELLO_MAGIC, CTP_HELLO_CONNECT, 0, (uint32_t)getpid(), 0 };
	int door = ctp_inherited_open(&s->door), pair[2], high = -1;

	if (door < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0) {
		if (ctp_door_send(door, &hello, pair[1]))
			high = ctp_fd_duplicate(pair[0]);
		close(pair[0]);
		close(pair[1]);
	}
	close(door);
	return high;
}

/* Tell the collector why this process is not traced, if it can be told. */
CTP_SLOW void ctp_door_report(const struct ctp_session *s, uint32_t why)
{
	struct ctp_hello hello = { CTP_HELLO_MAGIC, CTP_HELLO_FAILED, why, (uint32_t)getpid(), 0 };
	int door = ctp_inherited_open(&s->door);

	if (door < 0)
		return;
	ctp_door_send(door, &hello, -1);
	close(door);
}

#ifdef __cplusplus
}
#endif

#include <corotracer/header_end.h>

#endif
