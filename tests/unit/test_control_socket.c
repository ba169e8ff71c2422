/* SPDX-License-Identifier: MIT */
/*
 * test_control_socket.c - requests to a collector: one line each, answered once.
 *
 * This test is the collector and its clients in one process: it serves when it wants to.  Questions
 * that wait for an answer are asked by a child.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "collect/control_socket.h"

static char dir[] = "/tmp/corotracer-test-XXXXXX", region[64], path[80];
static struct control c;

/* ---- the collector ------------------------------------------------------------- */

static unsigned nr_asked;
static uint64_t last_ticket;
static char asked[CONTROL_LINE_MAX + 1];

static void take(void *ctx, uint64_t ticket, const char *request)
{
	CHECK(ctx == dir);
	nr_asked++;
	last_ticket = ticket;
	snprintf(asked, sizeof(asked), "%s", request);
}

static void start_control(void)
{
	struct err err = { 0 };

	nr_asked = 0;
	CHECK_EQ(control_open(&c, region, take, dir, &err), 0);
}

/* ---- clients --------------------------------------------------------------------- */

static int connect_client(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(sun.sun_path, sizeof(sun.sun_path), "%s", path);
	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&sun, sizeof(sun)), 0);
	control_serve(&c);
	return fd;
}

static void send_text(int fd, const char *text, size_t size)
{
	CHECK_EQ(send(fd, text, size, MSG_NOSIGNAL), size);
	control_serve(&c);
}

/* "" once the collector has closed the connection. */
static const char *received(int fd)
{
	static char text[200];
	ssize_t got = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN ? "nothing" : "";
	text[got] = '\0';
	return text;
}

/* ---- tests ------------------------------------------------------------------------ */

static void a_request_is_one_line(void)
{
	int fd;

	start_control();
	fd = connect_client();
	send_text(fd, "sta", 3);
	CHECK_EQ(nr_asked, 0);
	send_text(fd, "tus\n", 4);
	CHECK_EQ(nr_asked, 1);
	CHECK_STR(asked, "status");
	CHECK_STR(received(fd), "nothing");
	control_answer(&c, last_ticket + 1, "for another");
	CHECK_STR(received(fd), "nothing");
	control_answer(&c, last_ticket, "fine");
	CHECK_STR(received(fd), "fine\n");
	CHECK_STR(received(fd), ""); /* closed */
	control_answer(&c, last_ticket, "again");
	close(fd);
	control_close(&c);
	CHECK(access(path, F_OK) < 0);
	control_close(&c); /* does nothing */
	control_serve(&c);
}

static void other_requests_are_not_answered(void)
{
	static char longest[CONTROL_LINE_MAX + 1];
	static const struct {
		const char *text;
		size_t size;
	} wrong[] = { { "a\nb", 3 }, { "a\nb\n", 4 }, { "a\0b\n", 4 }, { "\n\n", 2 } };
	size_t i;
	int fd;

	start_control();
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		fd = connect_client();
		send_text(fd, wrong[i].text, wrong[i].size);
		CHECK_EQ(nr_asked, 0);
		CHECK_STR(received(fd), "");
		close(fd);
	}
	/* An empty line is a request; the handler refuses it. */
	fd = connect_client();
	send_text(fd, "\n", 1);
	CHECK_EQ(nr_asked, 1);
	CHECK_STR(asked, "");
	close(fd);
	control_serve(&c);
	/* The longest line that fits, and one more byte. */
	memset(longest, 'x', sizeof(longest));
	longest[CONTROL_LINE_MAX - 1] = '\n';
	fd = connect_client();
	send_text(fd, longest, CONTROL_LINE_MAX);
	CHECK_EQ(nr_asked, 2);
	CHECK_EQ(strlen(asked), CONTROL_LINE_MAX - 1);
	close(fd);
	control_serve(&c);
	longest[CONTROL_LINE_MAX - 1] = 'x';
	fd = connect_client();
	send_text(fd, longest, CONTROL_LINE_MAX - 1);
	CHECK_STR(received(fd), "nothing"); /* the line may still end */
	send_text(fd, "x", 1);
	CHECK_STR(received(fd), "");
	CHECK_EQ(nr_asked, 2);
	close(fd);
	control_close(&c);
}

static void a_client_that_leaves_is_forgotten(void)
{
	int fd;

	start_control();
	fd = connect_client();
	send_text(fd, "hal", 3);
	close(fd);
	control_serve(&c);
	CHECK_EQ(c.clients[0].fd, -1);
	fd = connect_client();
	send_text(fd, "x\n", 2);
	CHECK_EQ(nr_asked, 1);
	CHECK(c.clients[0].asked);
	close(fd);
	control_serve(&c);
	CHECK_EQ(c.clients[0].fd, -1);
	/* More than the request, after it. */
	fd = connect_client();
	send_text(fd, "y\n", 2);
	send_text(fd, "z\n", 2);
	CHECK_EQ(nr_asked, 2);
	CHECK_STR(received(fd), "");
	close(fd);
	control_close(&c);
}

static void idle_clients_make_room(void)
{
	int fds[CONTROL_CLIENTS + 2];
	uint32_t i;

	start_control();
	for (i = 0; i < CONTROL_CLIENTS; i++)
		fds[i] = connect_client();
	send_text(fds[0], "x\n", 2); /* waits for its answer, as long as that takes */
	fds[CONTROL_CLIENTS] = connect_client();
	CHECK_STR(received(fds[CONTROL_CLIENTS]), ""); /* no room: none is idle for long */
	for (i = 0; i < CONTROL_CLIENTS; i++) {
		CHECK_STR(received(fds[i]), "nothing");
		c.clients[i].since_ns -= 2 * NS_PER_SEC;
	}
	fds[CONTROL_CLIENTS + 1] = connect_client();
	CHECK_STR(received(fds[CONTROL_CLIENTS + 1]), "nothing");
	CHECK_STR(received(fds[0]), "nothing");
	CHECK_STR(received(fds[1]), ""); /* the first that asked nothing */
	CHECK_STR(received(fds[2]), "nothing");
	CHECK_EQ(c.nr_refused, 0);
	control_answer(&c, last_ticket, "late");
	CHECK_STR(received(fds[0]), "late\n");
	for (i = 0; i < CONTROL_CLIENTS + 2; i++)
		close(fds[i]);
	control_close(&c);
}

static void only_the_user_may_ask(void)
{
	struct stat st;

	start_control();
	CHECK_EQ(stat(path, &st), 0);
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_EQ(st.st_mode & 0777, 0600);
	control_close(&c);
}

static void a_socket_that_was_left_is_replaced(void)
{
	struct err err = { 0 };
	struct control second;
	FILE *f;

	start_control();
	/* A socket that is listened on. */
	CHECK_EQ(control_open(&second, region, take, dir, &err), -EADDRINUSE);
	free(c.path);
	c.path = NULL; /* as after a kill */
	control_close(&c);
	CHECK_EQ(access(path, F_OK), 0);
	start_control();
	control_close(&c);
	/* A file is not removed. */
	f = fopen(path, "w");
	CHECK(f != NULL);
	fclose(f);
	memset(&err, 0, sizeof(err));
	CHECK_EQ(control_open(&c, region, take, dir, &err), -EADDRINUSE);
	CHECK_EQ(access(path, F_OK), 0);
	unlink(path);
}

/* ---- tests: the client's side -------------------------------------------------------- */

/* Answer the question of a child after @serve; returns its exit status. */
static int ask_in_child(const char *request, int timeout_ms, const char *answer, int code)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		struct err err = { 0 };
		char *text = NULL;
		int rc = control_ask(region, request, timeout_ms, &text, &err);

		alarm(60);
		if (rc != code || (rc == 0) != (text != NULL))
			fprintf(stderr, "%d %s\n", rc, err.text);
		_exit(rc == code && (!answer || !text || !strcmp(text, answer)) ? 0 : 1);
	}
	while (nr_asked == 0 && timeout_ms < 0)
		control_serve(&c);
	if (answer)
		control_answer(&c, last_ticket, answer);
	else if (timeout_ms < 0)
		control_close(&c);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void a_question_has_an_answer_or_an_error(void)
{
	struct err err = { 0 };
	char *text = NULL, *large = malloc(20001), *too_long = malloc(300);
	char expected[200];

	start_control();
	CHECK_EQ(ask_in_child("hello", -1, "world", 0), 0);
	CHECK_STR(asked, "hello");
	nr_asked = 0;
	memset(large, 'y', 20000); /* more than the first buffer */
	large[20000] = '\0';
	CHECK_EQ(ask_in_child("much", -1, large, 0), 0);
	nr_asked = 0;
	CHECK_EQ(ask_in_child("slow", 1, NULL, -ETIMEDOUT), 0); /* nothing serves */
	control_serve(&c);                                      /* it connects, asks and leaves */
	control_serve(&c);
	control_serve(&c);
	CHECK_EQ(c.clients[0].fd, -1);
	nr_asked = 0;
	CHECK_EQ(ask_in_child("end", -1, NULL, -EPIPE), 0);
	/* Without a collector. */
	CHECK_EQ(control_ask(region, "x", 1, &text, &err), -ENOENT);
	snprintf(expected, sizeof(expected), "no collector takes requests at '%s'", path);
	CHECK_STR(err.text, expected);
	CHECK_STR(err.hint, "what a collector left behind can be read with 'corotracer recover'");
	CHECK(text == NULL);
	memset(too_long, 'r', 299);
	too_long[299] = '\0';
	memset(&err, 0, sizeof(err));
	CHECK_EQ(control_ask(too_long, "x", 1, &text, &err), -ENAMETOOLONG);
	CHECK_EQ(strncmp(err.text, "the path of the control socket is too long: 'rrr", 48), 0);
	free(large);
	free(too_long);
}

int main(void)
{
	CHECK(mkdtemp(dir) != NULL);
	snprintf(region, sizeof(region), "%s/region", dir);
	snprintf(path, sizeof(path), "%s.control", region);
	RUN(a_request_is_one_line);
	RUN(other_requests_are_not_answered);
	RUN(a_client_that_leaves_is_forgotten);
	RUN(idle_clients_make_room);
	RUN(only_the_user_may_ask);
	RUN(a_socket_that_was_left_is_replaced);
	RUN(a_question_has_an_answer_or_an_error);
	rmdir(dir);
	return 0;
}
