/* SPDX-License-Identifier: MIT */
/*
 * server_stream.c - server-sent events: changes of the view, to every connected client.
 *
 * A stream sends one text at a time.  When the text is sent, the stream checks what changed since
 * the last tick it sent; if nothing changed, its connection is suspended until server_ticked().  A
 * slow client therefore skips ticks, and never has more than one text in memory.
 *
 * No tick is missed: checking and suspending happen under one lock, and so do a new tick and the
 * wake-up.
 */
#include "serve/server_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)64 * 1024)

/* Shared by several streams; freed with the last user. */
struct text {
	unsigned users;
	size_t size;
	char bytes[];
};

struct stream {
	struct server *server;
	struct MHD_Connection *connection;
	struct stream *next, **at;
	uint64_t tick;     /* last tick sent */
	uint64_t beat;     /* last beat sent */
	struct text *text; /* being sent; NULL: none */
	size_t sent;       /* bytes of text sent */
	bool asleep;
	bool told_end;
};

/* ---- texts ------------------------------------------------------------------------ */

static struct text *text_new(const char *head, const void *bytes, size_t size, const char *tail)
{
	size_t before = strlen(head), after = strlen(tail);
	struct text *t = malloc(sizeof(*t) + before + size + after);
	char *at;

	if (!t)
		return NULL;
	t->users = 1;
	t->size = before + size + after;
	at = mempcpy(t->bytes, head, before);
	if (size)
		at = mempcpy(at, bytes, size);
	mempcpy(at, tail, after);
	return t;
}

static struct text *text_plain(const char *words)
{
	return text_new(words, NULL, 0, "");
}

static struct text *text_use(struct text *t)
{
	t->users++;
	return t;
}

static void text_drop(struct text *t)
{
	if (t && !--t->users)
		free(t);
}

/* ---- updates ----------------------------------------------------------------------- */

/* The changes after tick @since, shared with streams that need the same; NULL: not available. */
static struct text *delta_since(struct server *s, uint64_t since, uint64_t ticks)
{
	struct bytes bytes = { 0 };
	struct err err = { 0 };
	struct text *made = NULL;
	uint64_t tick = ticks;
	char head[48];

	if (s->delta && s->delta_since == since && s->delta_tick == ticks)
		return text_use(s->delta);
	if (feed_delta(s->feed, since, &bytes, &tick, &err) == 0) {
		snprintf(head, sizeof(head), "id: %llu\ndata: ", (unsigned long long)tick);
		made = text_new(head, bytes.data, bytes.size, "\n\n");
	}
	bytes_release(&bytes);
	if (!made)
		return NULL;
	text_drop(s->delta);
	s->delta = text_use(made);
	s->delta_since = since;
	s->delta_tick = tick;
	return made;
}

/* The next text for @st; NULL: nothing new.  *@over: the stream ends. */
static struct text *next_text(struct stream *st, bool *over)
{
	struct server *s = st->server;
	struct text *t;
	uint64_t ticks;
	bool ended;

	feed_state(s->feed, &ticks, &ended);
	*over = st->told_end || s->stopping;
	if (*over)
		return NULL;
	if (ticks > st->tick) {
		t = delta_since(s, st->tick, ticks);
		if (t)
			st->tick = s->delta_tick;
		else
			*over = true; /* no memory: the client will reconnect */
		return t;
	}
	if (ended) {
		st->told_end = true;
		return text_plain("event: ended\ndata: {}\n\n");
	}
	if (st->beat != s->beats) {
		st->beat = s->beats;
		return text_plain(": still there\n\n");
	}
	return NULL;
}

/* ---- the connection ------------------------------------------------------------------ */

static ssize_t streams_give_back(void *ctx, uint64_t pos, char *buf, size_t max)
{
	struct stream *st = ctx;
	struct server *s = st->server;
	bool over = false;
	ssize_t given = 0;

	(void)pos;
	pthread_mutex_lock(&s->lock);
	if (!st->text) {
		st->text = next_text(st, &over);
		st->sent = 0;
	}
	if (st->text) {
		size_t left = st->text->size - st->sent;

		given = (ssize_t)(left < max ? left : max);
		memcpy(buf, st->text->bytes + st->sent, (size_t)given);
		st->sent += (size_t)given;
		if (st->sent == st->text->size) {
			text_drop(st->text);
			st->text = NULL;
		}
	} else if (over) {
		given = MHD_CONTENT_READER_END_OF_STREAM;
	} else {
		st->asleep = true;
		libmicrohttpd.MHD_suspend_connection(st->connection);
	}
	pthread_mutex_unlock(&s->lock);
	return given;
}

static void streams_remove(void *ctx)
{
	struct stream *st = ctx;
	struct server *s = st->server;

	pthread_mutex_lock(&s->lock);
	*st->at = st->next;
	if (st->next)
		st->next->at = st->at;
	text_drop(st->text);
	pthread_mutex_unlock(&s->lock);
	free(st);
}

struct MHD_Response *stream_response(struct server *s, struct MHD_Connection *connection,
				     uint64_t since)
{
	struct stream *st = calloc(1, sizeof(*st));
	struct MHD_Response *response;
	uint64_t ticks;
	bool ended;

	if (!st)
		return NULL;
	feed_state(s->feed, &ticks, &ended);
	pthread_mutex_lock(&s->lock);
	*st = (struct stream){
		.server = s,
		.connection = connection,
		.next = s->streams,
		.at = &s->streams,
		.tick = since <= ticks ? since : 0, /* a higher tick comes from an earlier server */
		.beat = s->beats,
		/* Sent at once, so that the client knows that it is connected. */
		.text = text_plain("retry: 1000\n\n"),
	};
	if (s->streams)
		s->streams->at = &st->next;
	s->streams = st;
	pthread_mutex_unlock(&s->lock);
	response = libmicrohttpd.MHD_create_response_from_callback(
		MHD_SIZE_UNKNOWN, BLOCK, streams_give_back, st, streams_remove);
	if (!response)
		streams_remove(st);
	return response;
}

void streams_wake(struct server *s)
{
	struct stream *st;

	for (st = s->streams; st; st = st->next) {
		if (!st->asleep)
			continue;
		st->asleep = false;
		libmicrohttpd.MHD_resume_connection(st->connection);
	}
}

void streams_release(struct server *s)
{
	text_drop(s->delta);
	s->delta = NULL;
}
