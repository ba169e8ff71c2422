/* SPDX-License-Identifier: MIT */
/* test_load_session.c - sessions that make a late INSERT fail, on servers that are a table. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "fleet/load_session.h"

#define NAME "0123456789abcdef0123456789abcdef"

/* Answers to the next calls: fault and code; all others are answered without a fault. */
static struct {
	enum clickhouse_fault fault;
	int code;
} script[16];
static unsigned script_size, script_at;
static char calls[16][LOAD_SESSION_SETTINGS_SIZE + 8];
static unsigned nr_calls;
static unsigned slept_s[16], nr_slept;

int clickhouse_send(struct clickhouse *c, size_t shard, const struct clickhouse_call *call,
		    struct bytes *answer, struct err *err)
{
	(void)answer;
	CHECK(!strcmp(call->sql, "SELECT 1"));
	CHECK(nr_calls < 16);
	snprintf(calls[nr_calls++], sizeof(calls[0]), "%zu %s", shard, call->settings);
	c->fault = CLICKHOUSE_NO_FAULT;
	c->code = 0;
	if (script_at == script_size)
		return 0;
	c->fault = script[script_at].fault;
	c->code = script[script_at++].code;
	return c->fault ? err_set(err, -EREMOTEIO, "as told") : 0;
}

/* As the library declares it; it returns at once. */
int nanosleep(const struct timespec *requested, struct timespec *remaining)
{
	(void)remaining;
	CHECK(nr_slept < 16);
	slept_s[nr_slept++] = (unsigned)requested->tv_sec;
	return 0;
}

static struct clickhouse server;
static struct load_session session;

static void begin(size_t shards)
{
	server = (struct clickhouse){ .url = { .nr_hosts = shards } };
	load_session_init(&session, &server, NAME);
	script_size = script_at = nr_calls = nr_slept = 0;
}

static void answer_with(enum clickhouse_fault fault, int code)
{
	script[script_size].fault = fault;
	script[script_size++].code = code;
}

static void fail_insert(size_t shard, enum clickhouse_fault fault, int code)
{
	server.fault = fault;
	server.code = code;
	load_session_failed(&session, shard);
}

/* The call has the session @number, opens it or asks whether it is there. */
static void check_call(unsigned i, size_t shard, uint64_t number, const char *rest)
{
	char text[sizeof(calls[0])];

	CHECK(i < nr_calls);
	snprintf(text, sizeof(text), "%zu session_id=corotracer-" NAME "-%016" PRIx64 "&%s", shard,
		 number, rest);
	CHECK_STR(calls[i], text);
}

static void a_session_is_opened_once_for_each_shard(void)
{
	char settings[LOAD_SESSION_SETTINGS_SIZE], text[LOAD_SESSION_SETTINGS_SIZE];
	struct err err = { 0 };
	uint64_t number;

	begin(2);
	CHECK_EQ(load_session_end(&session, &err), 0); /* nothing is late */
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	CHECK_EQ(nr_calls, 2);
	number = session.number;
	CHECK(number);
	check_call(0, 1, number, "session_timeout=10");
	check_call(1, 0, number, "session_timeout=10");
	load_session_settings(&session, settings);
	snprintf(text, sizeof(text),
		 "&session_id=corotracer-" NAME "-%016" PRIx64
		 "&session_timeout=10&session_check=1",
		 number);
	CHECK_STR(settings, text);
	/* The server has forgotten it. */
	session.used_ns -= UINT64_C(5000000000);
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK(session.number != number);
	check_call(2, 1, session.number, "session_timeout=10");
	number = session.number;
	fail_insert(1, CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK(session.number != number);
	CHECK_EQ(nr_calls, 4);
	/* Errors that the server answered with: the INSERT is over, the session is as good as
	 * before. */
	number = session.number;
	fail_insert(1, CLICKHOUSE_BUSY, 252);
	fail_insert(1, CLICKHOUSE_UNREACHABLE, 0);
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK_EQ(session.number, number);
	CHECK_EQ(nr_calls, 4);
	CHECK_EQ(nr_slept, 0);
	load_session_release(&session);
}

static void a_session_that_was_not_opened_gets_another_number(void)
{
	struct err err = { 0 };

	begin(1);
	answer_with(CLICKHOUSE_UNCERTAIN, 0);
	CHECK(load_session_open(&session, 0, &err) < 0);
	CHECK_EQ(session.number, 0);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	CHECK_EQ(nr_calls, 2);
	CHECK(strcmp(calls[0], calls[1]) != 0);
	load_session_release(&session);
}

/* An INSERT that was given up: the session is asked for until it is gone. */
static void a_late_insert_is_waited_for(void)
{
	struct err err = { 0 };
	uint64_t number;

	begin(2);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	number = session.number;
	fail_insert(0, CLICKHOUSE_UNCERTAIN, 0);
	answer_with(CLICKHOUSE_NO_FAULT, 0);
	answer_with(CLICKHOUSE_RUNNING, 373);
	answer_with(CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	CHECK_EQ(load_session_end(&session, &err), 0);
	CHECK_EQ(err.code, 0);
	CHECK_EQ(nr_calls, 4);
	check_call(1, 0, number, "session_timeout=1&session_check=1");
	check_call(3, 0, number, "session_timeout=1&session_check=1");
	CHECK_EQ(nr_slept, 2);
	CHECK_EQ(slept_s[0], 4);
	CHECK_EQ(slept_s[1], 12);
	CHECK_EQ(session.number, 0);
	CHECK_EQ(load_session_end(&session, &err), 0);
	CHECK_EQ(nr_calls, 4);
	load_session_release(&session);
}

static void a_session_that_does_not_end_is_an_error(void)
{
	struct err err = { 0 };
	uint64_t number;

	begin(1);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	number = session.number;
	fail_insert(0, CLICKHOUSE_RUNNING, 216);
	CHECK_EQ(load_session_open(&session, 0, &err), -EBUSY);
	CHECK_EQ(server.fault, CLICKHOUSE_RUNNING);
	CHECK_STR(err.text, "an earlier insert of this loader may still arrive");
	CHECK_EQ(nr_calls, 5);
	CHECK_EQ(nr_slept, 3);
	/* It is still late. */
	answer_with(CLICKHOUSE_UNREACHABLE, 0);
	answer_with(CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	CHECK_EQ(load_session_open(&session, 0, &err), -EREMOTEIO);
	CHECK_EQ(session.number, number);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	CHECK(session.number != number);
	CHECK_EQ(nr_calls, 8);
	load_session_release(&session);
}

static void the_session_of_a_killed_loader_is_ended_on_every_shard(void)
{
	char path[] = "/tmp/ct-session-XXXXXX", text[64] = "";
	struct err err = { 0 };
	uint64_t number;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	begin(2);
	CHECK_EQ(pwrite(fd, NAME, 32, 0), 32); /* as an earlier version left it */
	CHECK_EQ(load_session_keep(&session, fd, &err), 0);
	CHECK_EQ(load_session_end(&session, &err), 0);
	CHECK_EQ(load_session_open(&session, 0, &err), 0);
	number = session.number;
	CHECK_EQ(pread(fd, text, sizeof(text), 0), 49);
	CHECK(!memcmp(text, NAME, 32) && strtoull(text + 32, NULL, 16) == number &&
	      text[48] == '\n');
	load_session_release(&session);
	begin(2);
	CHECK_EQ(load_session_keep(&session, fd, &err), 0);
	answer_with(CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	answer_with(CLICKHOUSE_BUSY, CLICKHOUSE_SESSION_NOT_FOUND);
	CHECK_EQ(load_session_open(&session, 1, &err), 0);
	CHECK_EQ(nr_calls, 3);
	check_call(0, 0, number, "session_timeout=1&session_check=1");
	check_call(1, 1, number, "session_timeout=1&session_check=1");
	check_call(2, 1, session.number, "session_timeout=10");
	CHECK(session.number != number);
	/* Everything was answered: the next loader has nothing to wait for. */
	CHECK_EQ(load_session_rest(&session, &err), 0);
	load_session_release(&session);
	begin(2);
	CHECK_EQ(load_session_keep(&session, fd, &err), 0);
	CHECK_EQ(load_session_end(&session, &err), 0);
	CHECK_EQ(nr_calls, 0);
	CHECK_EQ(session.number, 0);
	CHECK_EQ(close(fd), 0);
	CHECK_EQ(unlink(path), 0);
	/* A state that cannot be written: no INSERT is sent without its number. */
	CHECK_EQ(load_session_open(&session, 0, &err), -EBADF);
	CHECK_EQ(server.fault, CLICKHOUSE_LOCAL);
	CHECK_EQ(nr_calls, 0);
	load_session_release(&session);
}

int main(void)
{
	RUN(a_session_is_opened_once_for_each_shard);
	RUN(a_session_that_was_not_opened_gets_another_number);
	RUN(a_late_insert_is_waited_for);
	RUN(a_session_that_does_not_end_is_an_error);
	RUN(the_session_of_a_killed_loader_is_ended_on_every_shard);
	return 0;
}
