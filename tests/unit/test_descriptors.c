/* SPDX-License-Identifier: MIT */
/* test_descriptors.c - what descriptors.h says of the descriptors of a child process. */
#include "process/descriptors.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

/* The numbers are the same in the child: it inherits all of them and only sleeps. */
static int to_child[2], pipe_fds[2], event_fd, timer_fd, file_fd, closed_fd;
static int one_shot_set, edge_set, listener, client;
static struct descriptors child;

static int child_start(void)
{
	int pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		for (;;)
			pause();
	}
	return pid;
}

static void wait_until_quiet(void)
{
	int i;

	for (i = 0; i < 500 && !descriptors_are_quiet(&child); i++)
		usleep(10000);
	CHECK(descriptors_are_quiet(&child));
}

static void open_sockets(void)
{
	struct sockaddr_in any = { .sin_family = AF_INET };
	socklen_t size = sizeof(any);

	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, to_child) == 0);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	client = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(bind(listener, (struct sockaddr *)&any, sizeof(any)) == 0);
	CHECK(listen(listener, 4) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&any, &size) == 0);
	CHECK(connect(client, (struct sockaddr *)&any, sizeof(any)) == 0);
}

static void watch_with(int set, uint32_t events, uint64_t data)
{
	struct epoll_event ev = { .events = events, .data.u64 = data };

	CHECK(epoll_ctl(set, EPOLL_CTL_ADD, to_child[0], &ev) == 0);
}

static void open_all(void)
{
	struct itimerspec soon = { .it_value = { .tv_nsec = 1000 } };
	struct epoll_event ev;

	open_sockets();
	CHECK(pipe(pipe_fds) == 0);
	event_fd = eventfd(3, 0);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, 0);
	CHECK(timerfd_settime(timer_fd, 0, &soon, NULL) == 0);
	file_fd = fileno(tmpfile());
	one_shot_set = epoll_create1(0);
	edge_set = epoll_create1(0);
	closed_fd = dup(file_fd);
	close(closed_fd);
	watch_with(one_shot_set, EPOLLIN | EPOLLONESHOT, 0x1234);
	watch_with(edge_set, EPOLLIN | EPOLLET, 7);
	CHECK(write(to_child[1], "hello", 5) == 5);
	CHECK(epoll_wait(one_shot_set, &ev, 1, 1000) == 1);
}

static void unread_bytes_of_a_socket_are_seen_and_stay(void)
{
	struct descriptor_state s;
	char data[8];
	int i;

	for (i = 0; i < 3; i++) {
		CHECK_EQ(descriptors_look(&child, to_child[0], &s), 0);
		CHECK_EQ(s.kind, DESCRIPTOR_SOCKET);
		CHECK(s.is_asked && s.can_read && s.can_write && !s.has_error && !s.has_hung_up);
		CHECK_EQ(s.unread, 5);
	}
	CHECK_EQ(descriptors_look(&child, to_child[1], &s), 0);
	CHECK(s.is_asked && !s.can_read);
	CHECK_EQ(recv(to_child[0], data, sizeof(data), MSG_PEEK | MSG_DONTWAIT), 5);
}

static void a_pipe_is_ready_for_one_side(void)
{
	struct descriptor_state s;

	CHECK_EQ(descriptors_look(&child, pipe_fds[0], &s), 0);
	CHECK_EQ(s.kind, DESCRIPTOR_PIPE);
	CHECK(!s.can_read && s.unread == 0);
	CHECK(write(pipe_fds[1], "12345678", 8) == 8);
	CHECK_EQ(descriptors_look(&child, pipe_fds[0], &s), 0);
	CHECK(s.can_read && s.unread == 8);
	CHECK_EQ(descriptors_look(&child, pipe_fds[1], &s), 0);
	CHECK(s.can_write);
}

static void counters_of_an_eventfd_and_a_timer_are_seen(void)
{
	struct descriptor_state s;

	CHECK_EQ(descriptors_look(&child, event_fd, &s), 0);
	CHECK_EQ(s.kind, DESCRIPTOR_EVENTFD);
	CHECK(s.can_read && s.unread == 3);
	usleep(1000);
	CHECK_EQ(descriptors_look(&child, timer_fd, &s), 0);
	CHECK_EQ(s.kind, DESCRIPTOR_TIMERFD);
	CHECK(s.can_read && s.unread == 1);
}

static void a_pending_connection_makes_a_listener_ready(void)
{
	struct descriptor_state s;

	CHECK_EQ(descriptors_look(&child, listener, &s), 0);
	CHECK(s.is_listening && s.can_read);
	CHECK_EQ(descriptors_look(&child, client, &s), 0);
	CHECK(!s.is_listening && !s.can_read);
	CHECK(strncmp(s.peer, "127.0.0.1:", 10) == 0);
}

static void files_and_closed_numbers_are_told_apart(void)
{
	struct descriptor_state s;

	CHECK_EQ(descriptors_look(&child, file_fd, &s), 0);
	CHECK(s.kind == DESCRIPTOR_OTHER && !s.is_asked);
	CHECK_EQ(descriptors_look(&child, closed_fd, &s), -EBADF);
}

static bool keep_watch(void *ctx, const struct descriptor_watch *watch)
{
	*(struct descriptor_watch *)ctx = *watch;
	return true;
}

static void epoll_sets_show_what_they_wait_for(void)
{
	struct descriptor_watch w = { 0 };
	struct descriptor_state s;

	CHECK_EQ(descriptors_each_watch(&child, one_shot_set, keep_watch, &w), 0);
	CHECK_EQ(w.fd, to_child[0]);
	CHECK_EQ(w.data, 0x1234);
	CHECK(w.is_one_shot && w.is_disarmed && !w.is_edge);
	CHECK_EQ(descriptors_each_watch(&child, edge_set, keep_watch, &w), 0);
	CHECK(w.is_edge && !w.is_disarmed && (w.events & EPOLLIN) && !(w.events & EPOLLOUT));
	CHECK_EQ(descriptors_look(&child, to_child[0], &s), 0);
	CHECK(descriptors_find_watch(&child, &s, &w));
	CHECK(w.epoll_fd == one_shot_set || w.epoll_fd == edge_set);
	CHECK_EQ(descriptors_look(&child, event_fd, &s), 0);
	CHECK(!descriptors_find_watch(&child, &s, &w));
}

static bool count_descriptor(void *ctx, int fd)
{
	(void)fd;
	++*(int *)ctx;
	return true;
}

static void a_process_that_ended_is_reported(void)
{
	struct descriptor_state s;
	int nr = 0;

	CHECK_EQ(descriptors_each(&child, count_descriptor, &nr), 0);
	CHECK(nr >= 13);
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	CHECK(!descriptors_are_quiet(&child));
	CHECK_EQ(descriptors_look(&child, to_child[0], &s), -ESRCH);
	CHECK_EQ(descriptors_each(&child, count_descriptor, &nr), -ESRCH);
}

/* ---- loops ------------------------------------------------------------------------- */

static void sleep_in_poll(void)
{
	poll(NULL, 0, -1);
}

static void sleep_in_select(void)
{
	select(0, NULL, NULL, NULL, NULL);
}

static void sleep_in_epoll(void)
{
	struct epoll_event ev;

	epoll_wait(epoll_create1(0), &ev, 1, -1);
}

static void sleep_in_pause(void)
{
	pause();
}

static void sleep_in_read(void)
{
	char byte;

	(void)!read(pipe_fds[0], &byte, 1);
}

/* A thread that waits for many descriptors at once is in the loop of the program. */
static void a_loop_is_recognized_by_its_system_call(void)
{
	static const struct {
		void (*sleep)(void);
		bool is_loop;
	} sleeps[] = { { sleep_in_poll, true },
		       { sleep_in_select, true },
		       { sleep_in_epoll, true },
		       { sleep_in_pause, false },
		       { sleep_in_read, false } };
	struct descriptors d;
	struct err err = { 0 };
	size_t i;
	int pid, k;

	for (i = 0; i < sizeof(sleeps) / sizeof(sleeps[0]); i++) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			alarm(60);
			sleeps[i].sleep();
			_exit(1);
		}
		CHECK_EQ(descriptors_open(&d, pid, &err), 0);
		for (k = 0; k < 5000 && !descriptors_are_quiet(&d); k++)
			usleep(1000);
		CHECK_EQ(descriptors_has_loop(&d), sleeps[i].is_loop);
		kill(pid, SIGKILL);
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK(!descriptors_has_loop(&d)); /* it has ended */
		descriptors_close(&d);
	}
}

static void a_stopped_process_is_not_quiet(void)
{
	int status;

	kill(child.pid, SIGSTOP);
	CHECK(waitpid(child.pid, &status, WUNTRACED) == child.pid);
	CHECK(!descriptors_are_quiet(&child));
	kill(child.pid, SIGCONT);
	wait_until_quiet();
}

int main(void)
{
	struct descriptor_state s;
	struct err err = { 0 };

	open_all();
	if (descriptors_open(&child, child_start(), &err) < 0)
		SKIP("the kernel has no pidfd_open()");
	wait_until_quiet();
	if (descriptors_look(&child, event_fd, &s) < 0) {
		kill(child.pid, SIGKILL);
		SKIP("this user may not duplicate descriptors of a child");
	}
	RUN(unread_bytes_of_a_socket_are_seen_and_stay);
	RUN(a_pipe_is_ready_for_one_side);
	RUN(counters_of_an_eventfd_and_a_timer_are_seen);
	RUN(a_pending_connection_makes_a_listener_ready);
	RUN(files_and_closed_numbers_are_told_apart);
	RUN(epoll_sets_show_what_they_wait_for);
	RUN(a_loop_is_recognized_by_its_system_call);
	RUN(a_stopped_process_is_not_quiet);
	RUN(a_process_that_ended_is_reported);
	descriptors_close(&child);
	return 0;
}
