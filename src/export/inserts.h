/* SPDX-License-Identifier: MIT */
/*
 * inserts.h - rows as INSERT statements of many rows each, where there is no better way in:
 * through a command line client, or to a server that allows no LOAD DATA LOCAL.
 */
#ifndef EXPORT_INSERTS_H
#define EXPORT_INSERTS_H

#include "base/bytes.h"
#include "export/tables.h"
#include "trace/event.h"

/* Takes a statement, without a semicolon.  0 or a negative errno with words. */
typedef int inserts_send(void *to, const char *sql, size_t size, struct err *err);

struct inserts {
	enum dialect dialect; /* SQLite or MySQL */
	char *const *names;   /* of the tables; the caller's */
	inserts_send *send;
	void *to;
	struct bytes statements[NR_TABLES]; /* begun, not sent yet */
	uint64_t large;                     /* numbers that SQLite's INTEGER does not hold */
};

int inserts_event(struct inserts *in, const struct trace_event *ev, struct err *err);
int inserts_row(struct inserts *in, enum table_id id, const struct cell *cells, struct err *err);

/* Everything that was begun. */
int inserts_flush(struct inserts *in, struct err *err);

void inserts_release(struct inserts *in);

#endif
