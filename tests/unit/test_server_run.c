/* SPDX-License-Identifier: MIT */
/*
 * test_server_run.c - the servers of the page and of the metrics, asked over loopback; the rules of
 * addresses, secrets and of a reader that is behind.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "check.h"
#include "count_memory.h"
#include "held_locks.h"
#include "serve/metrics.h"
#include "serve/metrics_server.h"
#include "serve/server.h"
#include "serve/server_listen.h"
#include "serve/server_pace.h"
#include "trace/trace_writer.h"

static char scratch[64], trace_path[128], meta_path[160];

/* ---- addresses and secrets ----------------------------------------------------------- */

static void a_listener_is_on_loopback_by_default(void)
{
	struct listener l, second;
	struct err err = { 0 };
	char url[256], address[32];

	CHECK_EQ(listener_open(&l, NULL, 0, &err), 0);
	CHECK(l.fd >= 0);
	CHECK(fcntl(l.fd, F_GETFD) & FD_CLOEXEC);
	CHECK(l.port != 0);
	CHECK(l.is_loopback);
	CHECK(!l.is_any);
	CHECK_STR(l.name, "127.0.0.1");
	CHECK_EQ(strlen(l.token), SERVER_TOKEN_SIZE);
	CHECK_EQ(strspn(l.token, "0123456789abcdef"), SERVER_TOKEN_SIZE);
	snprintf(url, sizeof(url), "http://127.0.0.1:%u/%s/", l.port, l.token);
	CHECK_STR(l.url, url);
	/* The port is taken. */
	CHECK_EQ(listener_open(&second, NULL, l.port, &err), -EADDRINUSE);
	CHECK(strstr(err.hint, "another port") != NULL);
	CHECK_EQ(second.fd, -1);
	/* Another address of loopback. */
	err = (struct err){ 0 };
	snprintf(address, sizeof(address), "127.0.0.2");
	CHECK_EQ(listener_open(&second, address, 0, &err), 0);
	CHECK(second.is_loopback);
	CHECK_STR(second.name, "127.0.0.2");
	CHECK(strcmp(second.token, l.token) != 0);
	listener_close(&second);
	CHECK_EQ(second.fd, -1);
	CHECK_EQ(listener_open(&second, "localhost", 0, &err), -EINVAL); /* not in numbers */
	CHECK(strstr(err.text, "'localhost' is not an address") != NULL);
	CHECK(err.hint[0] != '\0');
	listener_close(&l);
}

static void an_address_of_ipv6_is_in_brackets(void)
{
	struct listener l;
	struct err err = { 0 };

	CHECK_EQ(listener_open(&l, "0.0.0.0", 0, &err), 0);
	CHECK(l.is_any && !l.is_loopback);
	CHECK_STR(l.name, "127.0.0.1");
	listener_close(&l);
	if (listener_open(&l, "::1", 0, &err) < 0)
		return; /* a machine without it */
	CHECK(l.is_loopback && !l.is_any);
	CHECK(l.port != 0);
	CHECK_STR(l.name, "[::1]");
	CHECK_EQ(strncmp(l.url, "http://[::1]:", 13), 0);
	listener_close(&l);
	CHECK_EQ(listener_open(&l, "::", 0, &err), 0);
	CHECK(l.is_any && !l.is_loopback);
	CHECK_STR(l.name, "[::1]");
	listener_close(&l);
}

static void a_host_has_to_be_the_one_of_the_url(void)
{
	struct listener l = { .port = 8080, .is_loopback = true, .name = "127.0.0.1" };
	char name[300];

	CHECK(listener_is_called(&l, "127.0.0.1:8080"));
	CHECK(listener_is_called(&l, "localhost:8080"));
	CHECK(listener_is_called(&l, "LocalHost:8080"));
	CHECK(listener_is_called(&l, "[::1]:8080"));
	CHECK(!listener_is_called(&l, "127.0.0.1"));
	CHECK(!listener_is_called(&l, "127.0.0.1:8081"));
	CHECK(!listener_is_called(&l, "127.0.0.1:80801"));
	CHECK(!listener_is_called(&l, "127.0.0.3:8080"));
	CHECK(!listener_is_called(&l, "evil.example:8080"));
	CHECK(!listener_is_called(&l, ":8080"));
	memset(name, 'a', sizeof(name));
	snprintf(name + 200, sizeof(name) - 200, ":8080");
	CHECK(!listener_is_called(&l, name));

	l = (struct listener){ .port = 80, .name = "192.0.2.7" };
	CHECK(listener_is_called(&l, "192.0.2.7:80"));
	CHECK(!listener_is_called(&l, "localhost:80"));
	CHECK(!listener_is_called(&l, "127.0.0.1:80"));

	/* All addresses of the machine: any number, but no name that a site could own. */
	l = (struct listener){ .port = 80, .name = "127.0.0.1", .is_any = true };
	CHECK(listener_is_called(&l, "192.0.2.7:80"));
	CHECK(listener_is_called(&l, "localhost:80"));
	CHECK(listener_is_called(&l, "[2001:db8::1]:80"));
	CHECK(!listener_is_called(&l, "[2001:db8::1:80"));
	CHECK(!listener_is_called(&l, "[]:80"));
	CHECK(!listener_is_called(&l, "[x]:80"));
	CHECK(!listener_is_called(&l, "evil.example:80"));
	CHECK(!listener_is_called(&l, "192.0.2.777:80"));
}

static void a_secret_is_compared_completely(void)
{
	struct listener l = { .token = "0123456789abcdef0123456789abcdef" };
	char token[64];
	size_t i;

	CHECK(listener_token_is(&l, l.token));
	CHECK(!listener_token_is(&l, ""));
	for (i = 0; i < SERVER_TOKEN_SIZE; i++) {
		snprintf(token, sizeof(token), "%s", l.token);
		token[i] = (char)(token[i] ^ 1);
		CHECK(!listener_token_is(&l, token));
	}
	snprintf(token, sizeof(token), "%sx", l.token);
	CHECK(!listener_token_is(&l, token));
	token[SERVER_TOKEN_SIZE - 1] = '\0';
	CHECK(!listener_token_is(&l, token));
}

static void openmetrics_has_to_be_preferred(void)
{
	CHECK(!metrics_wants_openmetrics(NULL));
	CHECK(!metrics_wants_openmetrics(""));
	CHECK(!metrics_wants_openmetrics("text/plain"));
	CHECK(!metrics_wants_openmetrics("*/*"));
	CHECK(metrics_wants_openmetrics("application/openmetrics-text"));
	CHECK(metrics_wants_openmetrics("APPLICATION/openmetrics-text;version=1.0.0"));
	CHECK(metrics_wants_openmetrics("application/openmetrics-text;q=0.5,text/plain;q=0.5"));
	CHECK(metrics_wants_openmetrics("text/plain;q=0.4, application/openmetrics-text; q=0.5"));
	CHECK(!metrics_wants_openmetrics("application/openmetrics-text;q=0.4,text/plain;q=0.5"));
	CHECK(!metrics_wants_openmetrics("application/openmetrics-text;q=0.9,text/plain"));
	CHECK(!metrics_wants_openmetrics("application/openmetrics-text;q=0"));
	CHECK(!metrics_wants_openmetrics("application/openmetrics-textual"));
	CHECK(metrics_wants_openmetrics("application/openmetrics-text;q=0.2,application/"
					"openmetrics-text;Q=0.8,text/plain;q=0.5"));
}

/* ---- a reader that is behind ---------------------------------------------------------- */

static struct trace_item event_item(enum trace_kind kind, uint64_t ts)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = (uint8_t)kind;
	item.event.ts = ts;
	return item;
}

static bool takes(struct feed_pace *p, enum trace_kind kind, uint64_t ts)
{
	struct trace_item item = event_item(kind, ts);

	return pace_takes(p, &item);
}

static void a_reader_far_behind_leaves_transitions_out(void)
{
	struct feed_pace p = { 0 };
	struct trace_item fact;
	struct trace_gap gap;

	trace_item_init(&fact, TRACE_ITEM_SITE);
	CHECK(takes(&p, TRACE_RESUME, 100));
	CHECK_EQ(p.last_ts, 100);
	CHECK(takes(&p, TRACE_SUSPEND, 50)); /* unordered */
	CHECK_EQ(p.last_ts, 100);
	pace_set(&p, 100 + 2 * NS_PER_SEC, true);
	CHECK(!p.hurries);
	pace_set(&p, 101 + 2 * NS_PER_SEC, false); /* nothing more to read: it is not behind */
	CHECK(!p.hurries);
	pace_set(&p, 50, true);
	CHECK(!p.hurries);
	pace_set(&p, 101 + 2 * NS_PER_SEC, true);
	CHECK(p.hurries);
	CHECK(!takes(&p, TRACE_RESUME, 400));
	CHECK(!takes(&p, TRACE_SUSPEND, 300));
	CHECK(!takes(&p, TRACE_WAKE, 900));
	CHECK(takes(&p, TRACE_BIRTH, 500));
	CHECK(takes(&p, TRACE_END, 500));
	CHECK(takes(&p, TRACE_DESTROY, 500));
	CHECK(takes(&p, TRACE_ACQUIRE, 500));
	CHECK(pace_takes(&p, &fact));
	CHECK_EQ(p.last_ts, 900);
	/* It goes on until it is less than half a second behind. */
	pace_set(&p, 900 + NS_PER_SEC / 2, true);
	CHECK(p.hurries);
	CHECK(pace_take_gap(&p, &gap));
	CHECK_EQ(gap.from_ts, 300);
	CHECK_EQ(gap.to_ts, 900);
	CHECK_EQ(gap.transitions, 2);
	CHECK_EQ(gap.others, 1);
	CHECK(!pace_take_gap(&p, &gap));
	CHECK_EQ(p.transitions, 2);
	CHECK_EQ(p.wakes, 1);
	CHECK_EQ(p.left_ns, 600);
	CHECK(!takes(&p, TRACE_WAKE, 1000));
	CHECK(pace_take_gap(&p, &gap));
	CHECK_EQ(gap.transitions, 0);
	CHECK_EQ(p.wakes, 2);
	CHECK_EQ(p.left_ns, 600);
	pace_set(&p, 999 + NS_PER_SEC / 2, true);
	CHECK(!p.hurries);
	CHECK(takes(&p, TRACE_RESUME, 1100));
}

/* ---- a trace ----------------------------------------------------------------------------- */

static struct trace_writer *writer;
static uint64_t now;

static void put(enum trace_kind kind, uint64_t id)
{
	struct trace_item item = event_item(kind, now += 1000);
	struct trace_event *ev = &item.event;

	ev->probe_id = id;
	ev->tid = 7;
	ev->is_active = kind == TRACE_RESUME;
	ev->seq = 2;
	if (kind == TRACE_BIRTH) {
		ev->name = "worker";
		ev->name_size = 6;
		ev->pid = 1234;
	}
	trace_put_event(writer, 0, ev);
}

static void trace_begin(void)
{
	struct trace_output output = { .path = trace_path,
				       .format = TRACE_FORMAT_JSONL,
				       .has_sidecar = true };
	struct sidecar_run run = { .tool = "test", .arch = "x86_64", .pid = 1234 };
	struct err err = { 0 };

	output.fd = open(trace_path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
	CHECK(output.fd >= 0);
	now = clock_now_ns() - NS_PER_SEC;
	writer = trace_writer_open(&output, &err);
	CHECK(writer != NULL);
	run.start_ts = now;
	trace_put_run(writer, &run);
	trace_put_lane(writer, &(struct trace_lane){ 0, 1234, 7 });
}

static void trace_end(void)
{
	struct sidecar_totals totals = { .complete = true, .exit_status = 0, .end_ts = now };
	struct trace_counts counts;
	struct err err = { 0 }, facts = { 0 };

	trace_put_totals(writer, &totals);
	trace_writer_close(writer, &counts, &err, &facts);
	CHECK_EQ(err.code, 0);
	writer = NULL;
}

/* ---- requests ------------------------------------------------------------------------ */

static struct listener listener;
static char reply[1 << 20];
static size_t reply_size;

static int client_connect(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(listener.port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(fd >= 0);
	CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

/* "GET PATH", with further header lines; the reply is in reply[]. */
static void client_send(int fd, const char *method, const char *path, const char *host,
			const char *more)
{
	char request[4096];
	int size = snprintf(request, sizeof(request), "%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n",
			    method, path, host, more);

	CHECK_EQ(send(fd, request, (size_t)size, MSG_NOSIGNAL), size);
}

/* Read until the end of the connection, or until @text was received. */
static void client_read(int fd, const char *text)
{
	ssize_t got;

	reply_size = 0;
	reply[0] = '\0';
	while (!text || !memmem(reply, reply_size, text, strlen(text))) {
		got = recv(fd, reply + reply_size, sizeof(reply) - reply_size - 1, 0);
		if (got <= 0)
			break;
		reply_size += (size_t)got;
		reply[reply_size] = '\0';
	}
	CHECK(!text || memmem(reply, reply_size, text, strlen(text)));
}

static const char *own_host(void)
{
	static char host[32];

	snprintf(host, sizeof(host), "127.0.0.1:%u", listener.port);
	return host;
}

/* Returns the status. */
static int ask_with(const char *method, const char *path, const char *host, const char *more)
{
	char lines[512];
	int fd = client_connect(), status = 0;

	snprintf(lines, sizeof(lines), "Connection: close\r\n%s", more);
	client_send(fd, method, path, host, lines);
	client_read(fd, NULL);
	close(fd);
	CHECK_EQ(sscanf(reply, "HTTP/1.1 %d", &status), 1);
	return status;
}

static int ask(const char *path, const char *more)
{
	return ask_with("GET", path, own_host(), more);
}

static const char *secret_path(const char *rest)
{
	static char path[4][512];
	static unsigned next;
	char *at = path[next++ % 4];

	snprintf(at, sizeof(path[0]), "/%s%s", listener.token, rest);
	return at;
}

static bool has_header(const char *name, const char *value)
{
	char line[1024];
	const char *end = strstr(reply, "\r\n\r\n"), *at;

	snprintf(line, sizeof(line), "\r\n%s: %s", name, value);
	at = strcasestr(reply, line);
	return at && at < end;
}

static const char *body(size_t *size)
{
	const char *at = strstr(reply, "\r\n\r\n");

	CHECK(at != NULL);
	*size = reply_size - (size_t)(at + 4 - reply);
	return at + 4;
}

static void check_common_headers(void)
{
	CHECK(has_header("X-Content-Type-Options", "nosniff\r\n"));
	CHECK(has_header("Referrer-Policy", "no-referrer\r\n"));
	CHECK(has_header("X-Frame-Options", "DENY\r\n"));
	CHECK(has_header("Cross-Origin-Resource-Policy", "same-origin\r\n"));
	CHECK(has_header("Cross-Origin-Opener-Policy", "same-origin\r\n"));
	CHECK(has_header("Cache-Control", "no-store\r\n"));
	CHECK(has_header("Content-Security-Policy", "default-src 'none'"));
	CHECK(strstr(reply, "frame-ancestors 'none'") != NULL);
}

/* The header has the policy that the page itself has. */
static void check_policy_of_page(void)
{
	static const char mark[] = "http-equiv=\"Content-Security-Policy\" content=\"";
	const char *at = strstr(reply, mark), *end;
	char policy[512];

	if (!at)
		return; /* built without the page */
	at += strlen(mark);
	end = strchr(at, '"');
	CHECK(end && end - at < 400);
	snprintf(policy, sizeof(policy), "%.*s; frame-ancestors 'none'\r\n", (int)(end - at), at);
	CHECK(has_header("Content-Security-Policy", policy));
}

static void check_access(struct server *s)
{
	size_t size;

	CHECK_EQ(ask_with("GET", secret_path("/"), "evil.example:80", ""), 403);
	check_common_headers();
	CHECK(strstr(reply, "this server is not called that") != NULL);
	CHECK_EQ(ask("/", ""), 404);
	check_common_headers();
	CHECK_EQ(ask("/0123456789abcdef0123456789abcdef/", ""), 404);
	CHECK_EQ(ask("/0123456789abcdef0123456789abcdef/api/meta", ""), 404);
	CHECK_EQ(ask_with("POST", "/", own_host(), "Content-Length: 0\r\n"), 404);
	CHECK(!server_was_visited(s));
	CHECK_EQ(ask_with("POST", secret_path("/"), own_host(), "Content-Length: 0\r\n"), 405);
	CHECK(has_header("Allow", "GET, HEAD\r\n"));
	CHECK(!server_was_visited(s));
	CHECK_EQ(ask(secret_path(""), ""), 308);
	CHECK(has_header("Location", secret_path("/\r\n")));
	CHECK(!server_was_visited(s));
	CHECK_EQ(ask(secret_path("/"), ""), 200);
	CHECK(server_was_visited(s));
	check_common_headers();
	CHECK(has_header("Content-Type", "text/html; charset=utf-8\r\n"));
	CHECK(strcasestr(body(&size), "<!DOCTYPE html>") != NULL);
	check_policy_of_page();
	CHECK_EQ(ask_with("HEAD", secret_path("/"), own_host(), ""), 200);
	body(&size);
	CHECK_EQ(size, 0);
	CHECK_EQ(ask(secret_path("/nothing"), ""), 404);
}

static void check_sections(void)
{
	char name[256], first[4096];
	size_t size, packed_size;

	CHECK_EQ(ask(secret_path("/api/meta"), ""), 200);
	check_common_headers();
	CHECK(has_header("Content-Type", "application/json\r\n"));
	CHECK(has_header("Vary", "Accept-Encoding\r\n"));
	CHECK(!has_header("Content-Encoding", ""));
	CHECK_EQ(body(&size)[0], '{');
	CHECK_EQ(ask(secret_path("/api/coros"), ""), 200);
	CHECK(has_header("Content-Type", "application/"));
	/* Packed, and the same from the cache. */
	CHECK_EQ(ask(secret_path("/api/meta"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK(has_header("Content-Encoding", "gzip\r\n"));
	CHECK(has_header("Vary", "Accept-Encoding\r\n"));
	CHECK_EQ(memcmp(body(&packed_size), "\x1f\x8b", 2), 0);
	CHECK(packed_size < sizeof(first));
	memcpy(first, body(&packed_size), packed_size);
	CHECK_EQ(ask(secret_path("/api/meta"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK_EQ(memcmp(body(&size), first, packed_size), 0);
	CHECK_EQ(size, packed_size);
	CHECK_EQ(ask(secret_path("/api/strings"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK_EQ(memcmp(body(&size), "\x1f\x8b", 2), 0);
	CHECK_EQ(ask(secret_path("/api/nothing"), ""), 404);
	memset(name, 'x', sizeof(name) - 1);
	memcpy(name, "/api/", 5);
	name[sizeof(name) - 1] = '\0';
	CHECK_EQ(ask(secret_path(name), ""), 404);
	/* More sections than the cache has room for. */
	CHECK_EQ(ask(secret_path("/api/coros"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK_EQ(ask(secret_path("/api/report"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK_EQ(ask(secret_path("/api/meta"), "Accept-Encoding: gzip\r\n"), 200);
	CHECK_EQ(memcmp(body(&size), first, packed_size), 0);
}

static void check_ended_stream(uint64_t ticks)
{
	char path[64], id[64];

	snprintf(id, sizeof(id), "id: %llu\ndata: {", (unsigned long long)ticks);
	CHECK_EQ(ask(secret_path("/api/live"), ""), 200);
	CHECK(has_header("Content-Type", "text/event-stream\r\n"));
	CHECK(strstr(reply, "retry: 1000\n\n") != NULL);
	CHECK(strstr(reply, id) != NULL);
	CHECK(strstr(reply, "event: ended\ndata: {}\n\n") != NULL);
	CHECK(strstr(reply, "retry: 1000\n\n") < strstr(reply, id));
	CHECK(strstr(reply, id) < strstr(reply, "event: ended\n"));
	/* A client that has the last tick gets only the end. */
	snprintf(path, sizeof(path), "/api/live?since=%llu", (unsigned long long)ticks);
	CHECK_EQ(ask(secret_path(path), ""), 200);
	CHECK(strstr(reply, "\nid: ") == NULL);
	CHECK(strstr(reply, "event: ended\n") != NULL);
	snprintf(path, sizeof(path), "/api/live?since=%llux", (unsigned long long)ticks);
	CHECK_EQ(ask(secret_path(path), ""), 200);
	CHECK(strstr(reply, id) != NULL);
	/* A tick of an earlier server. */
	snprintf(path, sizeof(path), "/api/live?since=%llu", (unsigned long long)ticks + 1);
	CHECK_EQ(ask(secret_path(path), ""), 200);
	CHECK(strstr(reply, id) != NULL);
	/* The browser's own number counts more. */
	snprintf(path, sizeof(path), "Last-Event-ID: %llu\r\n", (unsigned long long)ticks);
	CHECK_EQ(ask(secret_path("/api/live?since=0"), path), 200);
	CHECK(strstr(reply, "\nid: ") == NULL);
	CHECK_EQ(ask_with("HEAD", secret_path("/api/live"), own_host(), ""), 200);
	CHECK(strstr(reply, "retry") == NULL);
}

/* Texts are released when they were sent.  The server's threads may be behind for a moment. */
static void check_streams_keep_no_memory(void)
{
	size_t before = 0, after = 0;
	unsigned i;

	for (i = 0; i < 240; i++) {
		CHECK_EQ(ask(secret_path("/api/live"), ""), 200);
		before = i == 40 ? count_memory() : before;
	}
	for (i = 0; i < 1000; i++) {
		after = count_memory();
		if (after < before + 4096)
			break;
		usleep(1000);
	}
	CHECK(after < before + 4096);
}

static void a_finished_trace_is_served(void)
{
	struct err err = { 0 };
	struct server *s;
	struct feed f;
	uint64_t ticks;
	bool ended;

	trace_begin();
	put(TRACE_BIRTH, 1);
	put(TRACE_RESUME, 1);
	put(TRACE_SUSPEND, 1);
	trace_end();
	CHECK_EQ(listener_open(&listener, NULL, 0, &err), 0);
	CHECK_EQ(feed_open(&f, trace_path, &err), 0);
	CHECK(!feed_grows(&f));
	CHECK_EQ(feed_read_all(&f, "test", &err), 0);
	feed_state(&f, &ticks, &ended);
	CHECK(ended);
	CHECK(ticks >= 1);
	CHECK_EQ(feed_step(&f, &err), 0);
	s = server_start(&listener, &f, &err);
	CHECK(s != NULL);
	check_access(s);
	check_sections();
	check_ended_stream(ticks);
	check_streams_keep_no_memory();
	server_stop(s);
	server_stop(NULL);
	listener_close(&listener);
	feed_close(&f);
}

/* Until there is a tick, or (-1) the end. */
static void step_until_tick(struct feed *f, struct server *s)
{
	struct err err = { 0 };
	int rc;

	do {
		rc = feed_step(f, &err);
		CHECK(rc >= 0);
		if (!rc)
			usleep(1000);
	} while (!rc);
	server_ticked(s);
}

static void a_growing_trace_is_streamed(void)
{
	struct err err = { 0 };
	struct server *s;
	struct feed f;
	uint64_t ticks, later;
	bool ended;
	int fd, lock;

	trace_begin();
	lock = open(trace_path, O_RDWR | O_CLOEXEC);
	CHECK_EQ(flock(lock, LOCK_EX), 0); /* as its collector holds it */
	put(TRACE_BIRTH, 1);
	put(TRACE_RESUME, 1);
	trace_flush(writer);
	CHECK_EQ(listener_open(&listener, NULL, 0, &err), 0);
	CHECK_EQ(feed_open(&f, trace_path, &err), 0);
	CHECK(feed_grows(&f));
	s = server_start(&listener, &f, &err);
	CHECK(s != NULL);
	step_until_tick(&f, s);
	feed_state(&f, &ticks, &ended);
	CHECK(ticks >= 1 && !ended);
	CHECK_EQ(f.added, 0);
	CHECK(f.pace.last_ts == now); /* every event was looked at */
	fd = client_connect();
	client_send(fd, "GET", secret_path("/api/live"), own_host(), "");
	client_read(fd, "\n\n\r\n"); /* the first two texts are separate chunks */
	server_beat(s);
	client_read(fd, ": still there\n\n");
	CHECK(!strstr(reply, "\r\n1\r\n") && strncmp(reply, "1\r\n", 3) != 0); /* texts only */
	put(TRACE_SUSPEND, 1);
	trace_flush(writer);
	step_until_tick(&f, s);
	client_read(fd, "data: {");
	feed_state(&f, &later, &ended);
	CHECK(later > ticks && !ended);
	/* What is known of the collector is a part of the page's data. */
	feed_set_collector(&f, 5 * NS_PER_SEC, 42);
	CHECK(f.stream.collector_known);
	CHECK_EQ(f.stream.silent_ns, 5 * NS_PER_SEC);
	CHECK_EQ(f.stream.lost, 42);
	trace_end();
	close(lock);
	do
		step_until_tick(&f, s);
	while (f.reader);
	client_read(fd, "event: ended\n");
	feed_state(&f, &ticks, &ended);
	CHECK(ended && ticks > later);
	CHECK(f.reader == NULL);
	close(fd);
	/* A stream that waits ends with the server. */
	server_stop(s);
	listener_close(&listener);
	feed_close(&f);
}

static void guests_are_few(void)
{
	struct err err = { 0 };
	int fds[66], friend_fd, i;
	struct server *s;
	struct feed f;
	char byte;

	CHECK_EQ(listener_open(&listener, NULL, 0, &err), 0);
	CHECK_EQ(feed_open(&f, trace_path, &err), 0);
	CHECK_EQ(feed_read_all(&f, "test", &err), 0);
	s = server_start(&listener, &f, &err);
	CHECK(s != NULL);
	/* One that has shown the secret stays, whatever others do. */
	friend_fd = client_connect();
	client_send(friend_fd, "GET", secret_path("/api/meta"), own_host(), "");
	client_read(friend_fd, "}");
	for (i = 0; i < 66; i++) {
		fds[i] = client_connect();
		CHECK_EQ(send(fds[i], "GET ", 4, MSG_NOSIGNAL), 4);
	}
	/* At most 64: the two oldest are dropped, when the last one has come. */
	CHECK_EQ(recv(fds[0], &byte, 1, 0), 0);
	CHECK_EQ(recv(fds[1], &byte, 1, 0), 0);
	CHECK(recv(fds[2], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(recv(fds[65], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	server_sweep(s); /* none of them is old */
	CHECK(recv(fds[2], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	client_send(friend_fd, "GET", secret_path("/api/meta"), own_host(), "");
	client_read(friend_fd, "}");
	for (i = 0; i < 66; i++)
		close(fds[i]);
	close(friend_fd);
	server_stop(s);
	listener_close(&listener);
	feed_close(&f);
}

static void metrics_are_served(void)
{
	struct metrics_server *s;
	struct metrics m;
	struct err err = { 0 };
	size_t size;

	CHECK_EQ(metrics_init(&m, trace_path, 10, &err), 0);
	CHECK_EQ(listener_open(&listener, NULL, 0, &err), 0);
	s = metrics_server_start(&listener, &m, &err);
	CHECK(s != NULL);
	CHECK_EQ(ask("/metrics", ""), 200);
	CHECK(has_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8\r\n"));
	CHECK(has_header("Vary", "Accept, Accept-Encoding\r\n"));
	CHECK(has_header("Cache-Control", "no-store\r\n"));
	CHECK(has_header("X-Content-Type-Options", "nosniff\r\n"));
	CHECK(strstr(reply, "# TYPE corotracer_") != NULL);
	CHECK(strstr(reply, "# EOF") == NULL);
	CHECK_EQ(ask("/metrics", "Accept: application/openmetrics-text\r\n"), 200);
	CHECK(has_header("Content-Type",
			 "application/openmetrics-text; version=1.0.0; charset=utf-8\r\n"));
	CHECK(strstr(reply, "# EOF\n") != NULL);
	CHECK_EQ(ask("/metrics", "Accept-Encoding: gzip\r\n"), 200);
	CHECK(has_header("Content-Encoding", "gzip\r\n"));
	CHECK_EQ(memcmp(body(&size), "\x1f\x8b", 2), 0);
	CHECK_EQ(ask("/", ""), 200);
	CHECK(strstr(reply, "metrics are at /metrics") != NULL);
	CHECK_EQ(ask("/other", ""), 404);
	CHECK_EQ(ask_with("GET", "/metrics", "evil.example:80", ""), 403);
	CHECK_EQ(ask_with("POST", "/metrics", own_host(), "Content-Length: 0\r\n"), 405);
	CHECK(has_header("Allow", "GET, HEAD\r\n"));
	CHECK_EQ(ask_with("HEAD", "/metrics", own_host(), ""), 200);
	body(&size);
	CHECK_EQ(size, 0);
	metrics_server_stop(s);
	metrics_server_stop(NULL);
	listener_close(&listener);
	metrics_release(&m);
}

int main(void)
{
	struct err err = { 0 };

	alarm(300);
#ifdef M_ARENA_MAX
	mallopt(M_ARENA_MAX, 1); /* count_memory() counts one */
#endif
	snprintf(scratch, sizeof(scratch), "/tmp/corotracer-test-XXXXXX");
	CHECK(mkdtemp(scratch) != NULL);
	snprintf(trace_path, sizeof(trace_path), "%s/t.jsonl", scratch);
	snprintf(meta_path, sizeof(meta_path), "%s.meta", trace_path);
	RUN(a_listener_is_on_loopback_by_default);
	RUN(an_address_of_ipv6_is_in_brackets);
	RUN(a_host_has_to_be_the_one_of_the_url);
	RUN(a_secret_is_compared_completely);
	RUN(openmetrics_has_to_be_preferred);
	RUN(a_reader_far_behind_leaves_transitions_out);
	CHECK_EQ(listener_open(&listener, NULL, 0, &err), 0);
	if (!server_library())
		SKIP("built without libmicrohttpd");
	listener_close(&listener);
	RUN(a_finished_trace_is_served);
	RUN(a_growing_trace_is_streamed);
	RUN(guests_are_few);
	RUN(metrics_are_served);
	unlink(trace_path);
	unlink(meta_path);
	rmdir(scratch);
	return 0;
}
