/* SPDX-License-Identifier: MIT */
/* wake_socket.c - the wake-up socket and the processes connected to it. */
#include "collect/wake_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "process/target_memory.h"

#define LISTENER UINT32_MAX /* in place of a peer's index */
#define DOOR     (UINT32_MAX - 1)
/* By this time a program has usually loaded most of its libraries. */
#define FIRST_LOOK_NS (UINT64_C(1000000000))

static int endpoint_watch(struct endpoint *e, int fd, uint32_t who)
{
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = who };

	return epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/*
 * bind() neither follows nor replaces an existing file; the umask gives mode 0600 from creation
 * on.
 */
static int endpoint_bind_private(int fd, const char *path)
{
	struct sockaddr_un sun;
	mode_t mask;
	int rc;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	memcpy(sun.sun_path, path, strlen(path));
	mask = umask(0177);
	rc = bind(fd, (struct sockaddr *)&sun, sizeof(sun));
	umask(mask);
	return rc;
}

int endpoint_open(struct endpoint *e, const char *path, struct err *err)
{
	memset(e, 0, sizeof(*e));
	door_init(&e->door);
	e->guest_uid = geteuid();
	e->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	e->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (e->epoll_fd < 0 || e->listen_fd < 0) {
		err_errno(err, "cannot make a socket");
		endpoint_close(e);
		return err->code;
	}
	if (endpoint_bind_private(e->listen_fd, path) < 0) {
		err_errno(err, "cannot listen at '%s'", path);
		if (err->code == -EADDRINUSE)
			err_hint(err, "another collector may be using it; if not, remove it");
		endpoint_close(e);
		return err->code;
	}
	e->path = path;
	if (listen(e->listen_fd, SOMAXCONN) < 0 || endpoint_watch(e, e->listen_fd, LISTENER) < 0) {
		err_errno(err, "cannot listen at '%s'", path);
		endpoint_close(e);
		return err->code;
	}
	return 0;
}

void endpoint_close(struct endpoint *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_peers; i++) {
		if (e->peers[i].fd >= 0)
			close(e->peers[i].fd);
	}
	if (e->spare_fd > 0)
		close(e->spare_fd);
	door_close(&e->door);
	if (e->listen_fd >= 0)
		close(e->listen_fd);
	if (e->epoll_fd >= 0)
		close(e->epoll_fd);
	if (e->path)
		unlink(e->path);
	free(e->peers);
	modules_release(&e->modules);
	memset(e, 0, sizeof(*e));
	door_init(&e->door);
	e->listen_fd = -1;
	e->epoll_fd = -1;
}

static bool endpoint_make_room(struct endpoint *e)
{
	uint32_t room = e->room ? e->room * 2 : 16;
	struct peer *peers;

	if (e->nr_peers < e->room)
		return true;
	peers = realloc(e->peers, room * sizeof(*peers));
	if (!peers)
		return false;
	e->peers = peers;
	e->room = room;
	return true;
}

/* @fd is the connection of process @pid. */
static void endpoint_add_peer(struct endpoint *e, int fd, uint32_t pid, uint32_t uid)
{
	struct peer *p;

	if (!endpoint_make_room(e) || endpoint_watch(e, fd, e->nr_peers) < 0) {
		close(fd);
		return;
	}
	p = &e->peers[e->nr_peers++];
	p->fd = fd;
	p->buried = false;
	p->hung_up_ns = 0;
	p->pid = pid;
	p->uid = uid;
	p->connected_ns = clock_now_ns();
	p->look_again_ns = p->connected_ns + FIRST_LOOK_NS;
	e->nr_connected++;
	pid_alias_add(&e->pids, p->pid);
	/* Read the mappings immediately: the process may be short-lived. */
	modules_read(&e->modules, p->pid);
}

static void endpoint_admit(struct endpoint *e, int fd)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
	    (cred.uid != geteuid() && cred.uid != 0 && cred.uid != e->guest_uid)) {
		e->nr_refused++;
		close(fd);
		return;
	}
	endpoint_add_peer(e, fd, (uint32_t)cred.pid, cred.uid);
}

static void endpoint_add_failed(struct endpoint *e, struct door_guest *guest)
{
	target_name((pid_t)guest->pid, guest->name);
	e->failed[e->nr_failed++] = *guest;
}

static void endpoint_serve_door(struct endpoint *e)
{
	struct door_guest guest;
	bool is_over;

	while (door_receive(&e->door, &guest, &is_over)) {
		/* The process says its own number; it may have ended before it is looked at. */
		if (guest.pid)
			pid_alias_set(&e->pids, guest.inner, guest.pid);
		if (guest.fd >= 0 && guest.pid)
			endpoint_add_peer(e, guest.fd, guest.pid, guest.uid);
		else if (guest.fd >= 0)
			close(guest.fd);
		else if (guest.is_no_room)
			e->nr_turned_away++;
		else if (guest.pid && e->nr_failed < ENDPOINT_FAILED)
			endpoint_add_failed(e, &guest);
	}
	/* No process has the other end any more. */
	if (is_over)
		door_close(&e->door);
}

/* A process says hello before its first event: what it is called is known then. */
static void endpoint_learn_pids(void *ctx)
{
	endpoint_serve_door(ctx);
}

int endpoint_open_door(struct endpoint *e, const char *path, struct err *err)
{
	if (door_open(&e->door, path, err) < 0)
		return err->code;
	e->pids.learn = endpoint_learn_pids;
	e->pids.ctx = e;
	if (endpoint_watch(e, e->door.fd, DOOR) == 0)
		return 0;
	err_errno(err, "cannot watch a socket");
	door_close(&e->door);
	return err->code;
}

void endpoint_look_again(struct endpoint *e, uint64_t now_ns)
{
	uint32_t i;

	for (i = 0; i < e->nr_peers; i++) {
		struct peer *p = &e->peers[i];

		if (p->fd < 0 || now_ns < p->look_again_ns)
			continue;
		modules_read(&e->modules, p->pid);
		/* Each interval is ten times the last: a run of one day is read six times. */
		p->look_again_ns = now_ns + 9 * (now_ns - p->connected_ns);
	}
}

/*
 * Out of descriptors: accept and close.  A process left in the listen queue would clear the
 * "sleeping" flag and send a wake-up that the collector never reads; a process whose connection
 * is closed knows that it is not connected and leaves the flag to others.
 */
static bool turn_away(struct endpoint *e)
{
	int fd;

	if (e->spare_fd < 0)
		return false;
	close(e->spare_fd);
	fd = accept4(e->listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		e->nr_turned_away++;
	}
	e->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	return fd >= 0;
}

static void endpoint_let_in(struct endpoint *e)
{
	int fd;

	for (;;) {
		fd = accept4(e->listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			endpoint_admit(e, fd);
		else if ((errno != EMFILE && errno != ENFILE) || !turn_away(e))
			break;
	}
}

static void endpoint_receive(struct endpoint *e, uint32_t who)
{
	struct peer *p = &e->peers[who];
	char bytes[256];
	ssize_t got;

	got = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	if (got > 0) {
		e->nr_wakeups += (uint64_t)got;
		return;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	close(p->fd);
	p->fd = -1;
	p->hung_up_ns = clock_now_ns();
	e->nr_connected--;
	e->nr_doubtful++;
}

/*
 * A zombie no longer runs although its pid exists.  A process whose main thread has exited has
 * the same state and still runs.  Format "pid (any name) S ...": the state is the third field,
 * the number of threads the twentieth.
 */
static bool endpoint_is_zombie(const char *stat)
{
	const char *at = strrchr(stat, ')');
	int i;

	if (!at || at[1] != ' ' || (at[2] != 'Z' && at[2] != 'X'))
		return false;
	for (i = 2; at && i < 20; i++)
		at = strchr(at + 1, ' ');
	return !at || strtoul(at, NULL, 10) <= 1;
}

bool endpoint_process_is_gone(uint32_t pid)
{
	char path[64], text[512];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return got == 0 || errno == ESRCH;
	text[got] = '\0';
	return endpoint_is_zombie(text);
}

uint32_t endpoint_gone(struct endpoint *e)
{
	uint32_t i;

	for (i = 0; e->nr_doubtful && i < e->nr_peers; i++) {
		struct peer *p = &e->peers[i];

		if (p->fd >= 0 || p->buried || !endpoint_process_is_gone(p->pid))
			continue;
		p->buried = true;
		e->nr_doubtful--;
		return p->pid;
	}
	return 0;
}

int endpoint_serve(struct endpoint *e)
{
	struct epoll_event evs[64];
	int i, nr;

	nr = epoll_wait(e->epoll_fd, evs, 64, 0);
	for (i = 0; i < nr; i++) {
		if (evs[i].data.u32 == LISTENER)
			endpoint_let_in(e);
		else if (evs[i].data.u32 == DOOR)
			endpoint_serve_door(e);
		else if (evs[i].data.u32 < e->nr_peers && e->peers[evs[i].data.u32].fd >= 0)
			endpoint_receive(e, evs[i].data.u32);
	}
	return nr;
}
