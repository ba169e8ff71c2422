/* SPDX-License-Identifier: MIT */
/* load_session.c - a session of the server, without which an INSERT that arrives late is refused.
 */
#include "fleet/load_session.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/io.h"
#include "base/monotonic.h"

/* The server forgets a session that was not used for this time. */
#define SESSION_TIMEOUT_S 10
#define SESSION_IDLE_NS   (4 * NS_PER_SEC)
#define SESSION_TEXT_SIZE 17 /* a number and a newline */

enum session_state {
	SESSION_NONE, /* not opened on this shard */
	SESSION_OPEN,
	SESSION_LATE, /* an INSERT that was given up may still arrive */
};

void load_session_init(struct load_session *s, struct clickhouse *client, const char *name)
{
	*s = (struct load_session){ .client = client, .name = name, .fd = -1 };
}

void load_session_release(struct load_session *s)
{
	free(s->state);
	s->state = NULL;
}

/* The next INSERT needs another session. */
static void session_renew(struct load_session *s)
{
	s->number = 0;
	if (s->state)
		memset(s->state, SESSION_NONE, clickhouse_shards(s->client));
}

static int session_states(struct load_session *s, struct err *err)
{
	if (!s->state)
		s->state = calloc(clickhouse_shards(s->client), 1);
	if (s->state)
		return 0;
	s->client->fault = CLICKHOUSE_LOCAL;
	return err_set(err, -ENOMEM, "no memory for a session");
}

/* ---- file ------------------------------------------------------------------------- */

int load_session_keep(struct load_session *s, int fd, struct err *err)
{
	char text[SESSION_TEXT_SIZE + 1] = "";
	ssize_t size = io_pread(fd, text, SESSION_TEXT_SIZE, LOAD_SESSION_AT);

	s->fd = fd;
	if (size < SESSION_TEXT_SIZE)
		return 0; /* of an earlier version, or new */
	s->noted = strtoull(text, NULL, 16);
	if (!s->noted)
		return 0;
	if (session_states(s, err) < 0)
		return err->code;
	s->number = s->noted;
	memset(s->state, SESSION_LATE, clickhouse_shards(s->client));
	return 0;
}

static int session_note(struct load_session *s, uint64_t number, struct err *err)
{
	char text[SESSION_TEXT_SIZE + 1];

	if (s->fd < 0 || s->noted == number)
		return 0;
	snprintf(text, sizeof(text), "%016" PRIx64 "\n", number);
	if (io_pwrite(s->fd, text, SESSION_TEXT_SIZE, LOAD_SESSION_AT) < 0) {
		s->client->fault = CLICKHOUSE_LOCAL;
		return err_errno(err, "cannot write the session of the loader to its state");
	}
	s->noted = number;
	return 0;
}

int load_session_rest(struct load_session *s, struct err *err)
{
	return session_note(s, 0, err);
}

/* ---- server ------------------------------------------------------------------------ */

static int session_text(const struct load_session *s, char *text, size_t size, int timeout)
{
	return snprintf(text, size, "session_id=corotracer-%s-%016" PRIx64 "&session_timeout=%d",
			s->name, s->number, timeout);
}

static int session_call(struct load_session *s, size_t shard, const char *settings, struct err *err)
{
	struct clickhouse_call call = { .sql = "SELECT 1", .settings = settings };

	return clickhouse_send(s->client, shard, &call, NULL, err);
}

void load_session_settings(const struct load_session *s, char text[LOAD_SESSION_SETTINGS_SIZE])
{
	text[0] = '&';
	session_text(s, text + 1, LOAD_SESSION_SETTINGS_SIZE - 1, SESSION_TIMEOUT_S);
	strncat(text, "&session_check=1", LOAD_SESSION_SETTINGS_SIZE - strlen(text) - 1);
}

int load_session_open(struct load_session *s, size_t shard, struct err *err)
{
	char settings[LOAD_SESSION_SETTINGS_SIZE];
	int rc = session_states(s, err);

	if (rc == 0)
		rc = load_session_end(s, err);
	if (rc < 0)
		return rc;
	if (s->number && clock_now_ns() - s->used_ns > SESSION_IDLE_NS)
		session_renew(s);
	if (!s->number)
		s->number = monotonic_clock_ns(CLOCK_REALTIME);
	rc = session_note(s, s->number, err);
	if (rc == 0 && s->state[shard] != SESSION_OPEN) {
		session_text(s, settings, sizeof(settings), SESSION_TIMEOUT_S);
		rc = session_call(s, shard, settings, err);
		/* Another number after a failure: this call may arrive late as well. */
		if (rc < 0)
			session_renew(s);
		else
			s->state[shard] = SESSION_OPEN;
	}
	s->used_ns = clock_now_ns();
	return rc;
}

void load_session_failed(struct load_session *s, size_t shard)
{
	enum clickhouse_fault fault = s->client->fault;

	if (s->client->code == CLICKHOUSE_SESSION_NOT_FOUND)
		session_renew(s);
	else if (fault == CLICKHOUSE_UNCERTAIN || fault == CLICKHOUSE_RUNNING)
		s->state[shard] = SESSION_LATE;
}

/* A question keeps the session alive: longer than that is waited between two. */
static int session_end_at(struct load_session *s, size_t shard, struct err *err)
{
	static const unsigned pauses_s[] = { 4, SESSION_TIMEOUT_S + 2, SESSION_TIMEOUT_S + 2 };
	char settings[LOAD_SESSION_SETTINGS_SIZE];
	unsigned i;
	int rc;

	session_text(s, settings, sizeof(settings), 1);
	strncat(settings, "&session_check=1", sizeof(settings) - strlen(settings) - 1);
	for (i = 0;; i++) {
		struct timespec pause = { 0 };

		rc = session_call(s, shard, settings, err);
		if (rc < 0 && s->client->code == CLICKHOUSE_SESSION_NOT_FOUND) {
			*err = (struct err){ 0 };
			return 0;
		}
		if (rc < 0 && s->client->fault != CLICKHOUSE_RUNNING)
			return rc;
		if (i == sizeof(pauses_s) / sizeof(pauses_s[0]))
			break;
		*err = (struct err){ 0 };
		pause.tv_sec = pauses_s[i];
		nanosleep(&pause, NULL);
	}
	s->client->fault = CLICKHOUSE_RUNNING;
	return err_set(err, -EBUSY, "an earlier insert of this loader may still arrive");
}

int load_session_end(struct load_session *s, struct err *err)
{
	size_t shard;
	bool is_late = false;
	int rc = 0;

	for (shard = 0; s->state && rc == 0 && shard < clickhouse_shards(s->client); shard++) {
		if (s->state[shard] != SESSION_LATE)
			continue;
		is_late = true;
		rc = session_end_at(s, shard, err);
		if (rc == 0)
			s->state[shard] = SESSION_NONE;
	}
	if (rc == 0 && is_late)
		session_renew(s);
	return rc;
}
