/* SPDX-License-Identifier: MIT */
/* control_socket.c - the socket where a running collector accepts requests. */
#include "collect/control_socket.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"

#define LISTENER UINT64_MAX /* in place of a client's index */

/* A client without a complete request after this time may be dropped for a new one. */
#define PATIENCE_NS (1 * NS_PER_SEC)

#define ANSWER_MAX  ((size_t)1 << 20)

char *control_path(const char *region)
{
	char *path = NULL;

	return asprintf(&path, "%s.control", region) < 0 ? NULL : path;
}

static int control_address(const char *path, struct sockaddr_un *sun, struct err *err)
{
	memset(sun, 0, sizeof(*sun));
	sun->sun_family = AF_UNIX;
	if (strlen(path) >= sizeof(sun->sun_path))
		return err_set(err, -ENAMETOOLONG,
			       "the path of the control socket is too long: '%s'", path);
	memcpy(sun->sun_path, path, strlen(path));
	return 0;
}

/* ---- open, close --------------------------------------------------------------- */

void control_remove_stale(const char *path)
{
	struct err ignored = { 0 };
	struct sockaddr_un sun;
	struct stat st;
	int fd;

	if (control_address(path, &sun, &ignored) < 0 || lstat(path, &st) < 0 ||
	    !S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (connect(fd, (const struct sockaddr *)&sun, sizeof(sun)) < 0 && errno == ECONNREFUSED)
		unlink(path);
	close(fd);
}

/* The umask gives the socket mode 0600 from its creation on. */
static int control_bind_private(int fd, const struct sockaddr_un *sun)
{
	mode_t mask = umask(0177);
	int rc = bind(fd, (const struct sockaddr *)sun, sizeof(*sun));

	umask(mask);
	return rc;
}

static int control_watch(struct control *c, int fd, uint64_t who)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u64 = who };

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

static int control_listen_at(struct control *c, const char *path, struct err *err)
{
	struct sockaddr_un sun;
	char *own;

	if (control_address(path, &sun, err) < 0)
		return err->code;
	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->epoll_fd < 0 || c->listen_fd < 0)
		return err_errno(err, "cannot make a socket");
	control_remove_stale(path);
	own = strdup(path); /* before the socket exists: control_close() removes it by this name */
	if (!own || control_bind_private(c->listen_fd, &sun) < 0) {
		err_errno(err, "cannot listen at '%s'", path);
		free(own);
		return err->code;
	}
	c->path = own;
	if (listen(c->listen_fd, (int)CONTROL_CLIENTS) < 0 ||
	    control_watch(c, c->listen_fd, LISTENER) < 0)
		return err_errno(err, "cannot listen at '%s'", path);
	return 0;
}

int control_open(struct control *c, const char *region, control_handler *handle, void *ctx,
		 struct err *err)
{
	char *path = control_path(region);
	uint32_t i;
	int rc;

	memset(c, 0, sizeof(*c));
	c->listen_fd = c->epoll_fd = -1;
	for (i = 0; i < CONTROL_CLIENTS; i++)
		c->clients[i].fd = -1;
	c->handle = handle;
	c->ctx = ctx;
	rc = path ? control_listen_at(c, path, err) : err_set(err, -ENOMEM, "no memory for a path");
	free(path);
	if (rc < 0)
		control_close(c);
	return rc;
}

static void control_drop(struct control_client *client)
{
	/*
	 * A forked child may hold a copy of the descriptor: close() alone would not end the
	 * connection.
	 */
	shutdown(client->fd, SHUT_RDWR);
	close(client->fd);
	client->fd = -1;
}

void control_close(struct control *c)
{
	uint32_t i;

	if (c->epoll_fd < 0 && c->listen_fd < 0)
		return;
	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd >= 0)
			control_drop(&c->clients[i]);
	}
	if (c->listen_fd >= 0)
		close(c->listen_fd);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	if (c->path)
		unlink(c->path);
	free(c->path);
	c->path = NULL;
	c->listen_fd = c->epoll_fd = -1;
}

/* ---- requests -------------------------------------------------------------------- */

/* A free client entry, or the entry of an idle client, which is dropped. */
static struct control_client *place_for(struct control *c, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd < 0)
			return &c->clients[i];
	}
	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (!c->clients[i].asked && now_ns - c->clients[i].since_ns > PATIENCE_NS) {
			control_drop(&c->clients[i]);
			return &c->clients[i];
		}
	}
	return NULL;
}

static bool may_ask(struct control *c, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    (cred.uid == geteuid() || cred.uid == 0))
		return true;
	c->nr_refused++;
	return false;
}

static void control_let_in(struct control *c)
{
	uint64_t now_ns = clock_now_ns();
	struct control_client *client;
	int fd = accept4(c->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return;
	client = may_ask(c, fd) ? place_for(c, now_ns) : NULL;
	if (!client || control_watch(c, fd, (uint64_t)(client - c->clients)) < 0) {
		close(fd);
		return;
	}
	client->fd = fd;
	client->asked = false;
	client->used = 0;
	client->since_ns = now_ns;
	client->ticket = ++c->tickets;
}

/*
 * Handle a complete line.  Drop the client if the line is too long, contains NUL or is followed
 * by more data.
 */
static void take_request(struct control *c, struct control_client *client)
{
	char *end = memchr(client->line, '\n', client->used);

	if (!end && client->used < CONTROL_LINE_MAX)
		return;
	if (!end || end != client->line + client->used - 1 ||
	    memchr(client->line, '\0', client->used)) {
		control_drop(client);
		return;
	}
	*end = '\0';
	client->asked = true;
	c->handle(c->ctx, client->ticket, client->line);
}

static void control_receive(struct control *c, struct control_client *client)
{
	char more;
	ssize_t got;

	/*
	 * A client that waits for its answer sends nothing more; a read only detects that it
	 * disconnected.
	 */
	if (client->asked)
		got = read(client->fd, &more, 1) < 0 ? -1 : 0;
	else
		got = read(client->fd, client->line + client->used,
			   CONTROL_LINE_MAX - client->used);
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0) {
		control_drop(client);
		return;
	}
	client->used += (uint32_t)got;
	take_request(c, client);
}

void control_serve(struct control *c)
{
	struct epoll_event evs[CONTROL_CLIENTS + 1];
	int i, nr;

	if (c->epoll_fd < 0)
		return;
	nr = epoll_wait(c->epoll_fd, evs, (int)CONTROL_CLIENTS + 1, 0);
	for (i = 0; i < nr; i++) {
		if (evs[i].data.u64 == LISTENER)
			control_let_in(c);
		else if (evs[i].data.u64 < CONTROL_CLIENTS && c->clients[evs[i].data.u64].fd >= 0)
			control_receive(c, &c->clients[evs[i].data.u64]);
	}
}

void control_answer(struct control *c, uint64_t ticket, const char *text)
{
	struct iovec parts[] = { { (void *)text, strlen(text) }, { "\n", 1 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	uint32_t i;

	for (i = 0; i < CONTROL_CLIENTS; i++) {
		if (c->clients[i].fd < 0 || c->clients[i].ticket != ticket)
			continue;
		/*
		 * The empty socket buffer takes the whole answer, or the rest is lost with the
		 * connection.
		 */
		sendmsg(c->clients[i].fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
		control_drop(&c->clients[i]);
	}
}

/* ---- client side --------------------------------------------------------------------- */

static int no_answer(const char *region, int why, struct err *err)
{
	errno = why;
	if (why == ETIMEDOUT) {
		err_set(err, -why, "the collector of '%s' does not answer", region);
		err_hint(err, "is it stopped, or waiting for a slow disk?");
	} else if (why == ENOENT || why == ECONNREFUSED) {
		err_set(err, -why, "no collector takes requests at '%s.control'", region);
		err_hint(err, "what a collector left behind can be read with 'corotracer recover'");
	} else if (why == EPIPE || why == ECONNRESET) {
		err_set(err, -why, "the collector of '%s' ended without an answer", region);
	} else {
		err_errno(err, "cannot ask the collector of '%s'", region);
	}
	return err->code;
}

static int control_connect_to(const char *region, struct err *err)
{
	char *path = control_path(region);
	struct sockaddr_un sun;
	int fd = -1,
	    rc = path ? control_address(path, &sun, err) : err_set(err, -ENOMEM, "no memory");

	free(path);
	if (rc < 0)
		return rc;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&sun, sizeof(sun)) == 0)
		return fd;
	/* EAGAIN: the listen queue is full and the collector does not accept. */
	rc = no_answer(region, errno == EAGAIN ? ETIMEDOUT : errno, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Returns 0 or a positive errno. */
static int control_socket_receive(int fd, int timeout_ms, char **answer)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	size_t used = 0, size = 0;
	char *buf = NULL, *more;
	ssize_t got;
	int rc = ETIMEDOUT;

	for (;;) {
		if (used == size) {
			size = size ? size * 2 : 4096;
			more = size <= ANSWER_MAX ? realloc(buf, size) : NULL;
			if (!more) {
				rc = size <= ANSWER_MAX ? ENOMEM : EMSGSIZE;
				break;
			}
			buf = more;
		}
		if (poll(&pfd, 1, timeout_ms) == 0)
			break;
		got = read(fd, buf + used, size - used);
		if (got < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (got <= 0) {
			free(buf);
			return got < 0 ? errno : EPIPE;
		}
		used += (size_t)got;
		if (buf[used - 1] == '\n') {
			buf[used - 1] = '\0';
			*answer = buf;
			return 0;
		}
	}
	free(buf);
	return rc;
}

int control_ask(const char *region, const char *request, int timeout_ms, char **answer,
		struct err *err)
{
	struct iovec parts[] = { { (void *)request, strlen(request) }, { "\n", 1 } };
	struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	int fd = control_connect_to(region, err), why = 0;

	*answer = NULL;
	if (fd < 0)
		return fd;
	if (sendmsg(fd, &msg, MSG_NOSIGNAL) != (ssize_t)(parts[0].iov_len + 1))
		why = EPIPE;
	if (!why)
		why = control_socket_receive(fd, timeout_ms, answer);
	close(fd);
	return why ? no_answer(region, why, err) : 0;
}
