/* SPDX-License-Identifier: MIT */
/*
 * uv_echo.c - a server and its clients on one libuv loop, to be traced.
 *
 *	corotracer run -o trace.jsonl -- uv-echo
 *	corotracer run -o trace.jsonl -- uv-echo --forget 2
 *
 * libuv has callbacks and no coroutines: here a connection is what is traced.  It is suspended when
 * it starts an operation (peer_waits()), and resumed in the callback (peer_continues()).  These two
 * functions are all that a program on libuv needs.
 *
 * The second run has a bug: the server stops to read from two connections, as for back pressure,
 *and never starts again.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corotracer/corotracer.h>
#include <uv.h>

struct peer {
	uv_tcp_t tcp; /* the first member: a handle is its peer */
	struct corotracer_coro trace;
	uv_write_t write;
	uv_connect_t connect;
	char data[64];
	unsigned requests; /* server: answered; client: still to be sent */
	bool is_server;
};

static uv_tcp_t listener;
static struct sockaddr_in address;
static unsigned nr_clients = 4, nr_requests = 10, nr_forgotten, nr_running, nr_answers;

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf);

static void die_of(int status, const char *what)
{
	if (status >= 0)
		return;
	fprintf(stderr, "uv-echo: cannot %s: %s\n", what, uv_strerror(status));
	exit(1);
}

/* ---- tracing --------------------------------------------------------------- */

static uint64_t peer_fd(const struct peer *p)
{
	uv_os_fd_t fd = -1;

	return uv_fileno((const uv_handle_t *)&p->tcp, &fd) ? 0 : (uint64_t)fd;
}

/* The peer returns to the loop until @reason is over. */
#define peer_waits(p, reason) corotracer_await(&(p)->trace, (reason), peer_fd(p))

/* The loop calls the peer back. */
static void peer_continues(struct peer *p, uint32_t reason)
{
	corotracer_wake_by(&p->trace, NULL, NULL, reason, peer_fd(p));
	corotracer_resume(&p->trace);
}

/* ---- a connection, of the server or of a client ----------------------------- */

static struct peer *peer_new(const char *name)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		die_of(UV_ENOMEM, "create a connection");
	die_of(uv_tcp_init(listener.loop, &p->tcp), "create a socket");
	corotracer_spawn(&p->trace, name, NULL);
	corotracer_resume(&p->trace);
	return p;
}

static void on_closed(uv_handle_t *handle)
{
	struct peer *p = (struct peer *)handle;

	corotracer_end(&p->trace);
	free(p);
}

static void peer_close(struct peer *p)
{
	bool was_client = !p->is_server;

	corotracer_closing(&p->trace, peer_fd(p));
	corotracer_done(&p->trace);
	uv_close((uv_handle_t *)&p->tcp, on_closed);
	if (was_client && --nr_running == 0)
		uv_close((uv_handle_t *)&listener, NULL);
}

static void on_alloc(uv_handle_t *handle, size_t size, uv_buf_t *buf)
{
	struct peer *p = (struct peer *)handle;

	(void)size;
	*buf = uv_buf_init(p->data, sizeof(p->data));
}

static void peer_read(struct peer *p)
{
	die_of(uv_read_start((uv_stream_t *)&p->tcp, on_alloc, on_read), "read");
	peer_waits(p, CTP_REASON_IO_READ);
}

static void on_written(uv_write_t *write, int status)
{
	struct peer *p = (struct peer *)write->handle;

	peer_continues(p, CTP_REASON_IO_WRITE);
	if (status < 0) {
		peer_close(p);
		return;
	}
	if (p->is_server && nr_forgotten) { /* the bug: it waits, and does not read */
		nr_forgotten--;
		nr_running--;
		peer_waits(p, CTP_REASON_IO_READ);
		return;
	}
	peer_read(p);
}

static void peer_write(struct peer *p, size_t size)
{
	uv_buf_t buf = uv_buf_init(p->data, (unsigned)size);

	die_of(uv_write(&p->write, (uv_stream_t *)&p->tcp, &buf, 1, on_written), "write");
	peer_waits(p, CTP_REASON_IO_WRITE);
}

static void client_next(struct peer *p)
{
	if (!p->requests--) {
		peer_close(p);
		return;
	}
	memcpy(p->data, "ping", 4);
	peer_write(p, 4);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buf)
{
	struct peer *p = (struct peer *)stream;

	(void)buf;
	if (size == 0)
		return;
	peer_continues(p, CTP_REASON_IO_READ);
	uv_read_stop(stream);
	if (size < 0)
		peer_close(p);
	else if (p->is_server)
		peer_write(p, (size_t)size);
	else {
		nr_answers++;
		client_next(p);
	}
}

/* ---- the program ------------------------------------------------------------ */

static void on_connection(uv_stream_t *server, int status)
{
	struct peer *p;

	die_of(status, "listen");
	p = peer_new("connection");
	p->is_server = true;
	die_of(uv_accept(server, (uv_stream_t *)&p->tcp), "accept");
	peer_read(p);
}

static void on_connected(uv_connect_t *connect, int status)
{
	struct peer *p = (struct peer *)connect->handle;

	die_of(status, "connect");
	peer_continues(p, CTP_REASON_CONNECT);
	client_next(p);
}

static void server_start(uv_loop_t *loop)
{
	int size = sizeof(address);

	die_of(uv_tcp_init(loop, &listener), "create a socket");
	die_of(uv_ip4_addr("127.0.0.1", 0, &address), "use 127.0.0.1");
	die_of(uv_tcp_bind(&listener, (const struct sockaddr *)&address, 0), "bind");
	die_of(uv_listen((uv_stream_t *)&listener, 16, on_connection), "listen");
	die_of(uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &size), "bind");
}

static void client_start(void)
{
	struct peer *p = peer_new("client");

	p->requests = nr_requests;
	nr_running++;
	die_of(uv_tcp_connect(&p->connect, &p->tcp, (const struct sockaddr *)&address,
			      on_connected),
	       "connect");
	peer_waits(p, CTP_REASON_CONNECT);
}

/* With the bug the loop never becomes empty: leave it a full period after the others have ended. */
static void on_tick(uv_timer_t *timer)
{
	static unsigned nr_ticks;

	if (!nr_running && nr_ticks++)
		uv_stop(timer->loop);
}

int main(int argc, char **argv)
{
	uv_loop_t *loop = uv_default_loop();
	uv_timer_t timer;

	if (argc == 3 && !strcmp(argv[1], "--forget"))
		nr_forgotten = (unsigned)strtoul(argv[2], NULL, 10);
	else if (argc != 1) {
		fputs("usage: uv-echo [--forget N]\n", stderr);
		return 2;
	}
	corotracer_init();
	server_start(loop);
	for (unsigned i = 0; i < nr_clients; i++)
		client_start();
	if (nr_forgotten) {
		uv_timer_init(loop, &timer);
		uv_timer_start(&timer, on_tick, 20, 20);
	}
	uv_run(loop, UV_RUN_DEFAULT);
	printf("%u answers\n", nr_answers);
	return 0;
}
