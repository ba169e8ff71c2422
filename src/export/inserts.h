/* SPDX-License-Identifier: MIT */
/*
 * inserts.h - rows as multi-row INSERT statements, for a command line client or for a server
 * that does not allow LOAD DATA LOCAL.
 */
#ifndef EXPORT_INSERTS_H
#define EXPORT_INSERTS_H

#include "base/bytes.h"
#include "export/tables.h"
#include "trace/event.h"

/* Sends a statement without a semicolon.  Returns 0, or a negative errno with a message in @err. */
typedef int inserts_send(void *to, const char *sql, size_t size, struct err *err);

struct inserts {
	enum dialect dialect; /* SQLite or MySQL */
	char *const *names;   /* of the tables; owned by the caller */
	inserts_send *send;
	void *to;
	struct bytes statements[NR_TABLES]; /* begun, not sent yet */
	uint64_t large;                     /* numbers that do not fit in INTEGER of SQLite */
};

int inserts_event(struct inserts *in, const struct trace_event *ev, struct err *err);
int inserts_row(struct inserts *in, enum table_id id, const struct cell *cells, struct err *err);

/* Sends all begun statements. */
int inserts_flush(struct inserts *in, struct err *err);

void inserts_release(struct inserts *in);

#endif
