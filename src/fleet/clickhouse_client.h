/* SPDX-License-Identifier: MIT */
/*
 * clickhouse_client.h - statements and inserts for the shards of a ClickHouse store, over HTTP.
 *
 *	struct clickhouse *c = clickhouse_open("clickhouse://host/corotracer", &err);
 *	struct bytes answer = { 0 };
 *
 *	if (c && clickhouse_ask(c, 0, "SELECT count() FROM waits", &answer, &err) == 0)
 *		...
 *	clickhouse_close(c);
 *
 * A client belongs to one thread.  Connections stay open between calls.  No message has the
 * password.
 */
#ifndef FLEET_CLICKHOUSE_CLIENT_H
#define FLEET_CLICKHOUSE_CLIENT_H

#include "base/bytes.h"
#include "fleet/clickhouse_url.h"

/* Why a call failed, and what may be done about it. */
enum clickhouse_fault {
	CLICKHOUSE_NO_FAULT,
	CLICKHOUSE_UNREACHABLE, /* no connection: the statement was not sent */
	CLICKHOUSE_UNCERTAIN,   /* time limit or lost connection: it may have been executed */
	CLICKHOUSE_BUSY,        /* refused for now: too many parts, queries or memory */
	CLICKHOUSE_RUNNING,     /* a query with this id is still running */
	CLICKHOUSE_DENIED,      /* user, password, or a right that is missing */
	CLICKHOUSE_NO_DATABASE,
	CLICKHOUSE_SCHEMA,  /* a table or a column is missing or is another one */
	CLICKHOUSE_REFUSED, /* any other error of the server */
	CLICKHOUSE_LOCAL,   /* of this process: no memory, no library */
};

/* The code of a server that does not know the session of a call (any more). */
#define CLICKHOUSE_SESSION_NOT_FOUND 372

/* True if the same call may succeed later. */
static inline bool clickhouse_may_pass(enum clickhouse_fault fault)
{
	return fault >= CLICKHOUSE_UNREACHABLE && fault <= CLICKHOUSE_RUNNING;
}

struct clickhouse {
	struct clickhouse_url url;
	void **handles;      /* one per shard; NULL: not used yet */
	unsigned version;    /* major * 1000 + minor, of the first shard; 0: not asked yet */
	bool is_old;         /* the dialect of before 22.8 */
	unsigned connect_ms; /* limits of time: for a connection, */
	unsigned answer_ms;  /* and for a whole call */
	enum clickhouse_fault fault; /* of the last call */
	int code;                    /* of the server's error; 0: none */
	uint64_t sent;               /* bytes */
};

struct clickhouse_call {
	const char *sql;
	const char *settings; /* "name=value&name2=value2", escaped; NULL: none */
	const char *query_id; /* NULL: chosen by the server */
	/* The rows of an INSERT, in pieces that are sent one after the other. */
	const struct bytes *const *body;
	size_t nr_body;
};

/* Parses the address and loads the library; connects to nothing.  NULL with a message in @err. */
struct clickhouse *clickhouse_open(const char *url, struct err *err);
void clickhouse_close(struct clickhouse *c); /* accepts NULL */

static inline size_t clickhouse_shards(const struct clickhouse *c)
{
	return c->url.nr_hosts;
}

/* The shard that has the rows of @host. */
size_t clickhouse_shard_of(const struct clickhouse *c, const char *host);

/*
 * Executes a call on @shard, in the database of the address unless @sql is about databases.  The
 * answer is appended to @answer (may be NULL), complete or not at all.  0, or a negative errno with
 * a message in @err, and c->fault set.
 */
int clickhouse_send(struct clickhouse *c, size_t shard, const struct clickhouse_call *call,
		    struct bytes *answer, struct err *err);

/* The same for a statement alone. */
int clickhouse_ask(struct clickhouse *c, size_t shard, const char *sql, struct bytes *answer,
		   struct err *err);

/* A statement whose answer is one number. */
int clickhouse_number(struct clickhouse *c, size_t shard, const char *sql, uint64_t *number,
		      struct err *err);

/* Asks every shard for its version, and sets version and is_old. */
int clickhouse_hello(struct clickhouse *c, struct err *err);

/* Append @text to @sql as a string literal, with its quotes. */
void clickhouse_quote(struct bytes *sql, const char *text);

/* ---- for the client and its tests ------------------------------------------- */

/*
 * Finds the error's number and its text in an answer of the server.  @text gets one line without
 * the version and the stack; 0: there is no number.
 */
int clickhouse_error_parse(const char *answer, size_t size, char *text, size_t room);
enum clickhouse_fault clickhouse_fault_of(int code);

/* "18.16.1" becomes 18016; 0: not a version. */
unsigned clickhouse_version_parse(const char *text, size_t size);

#endif
