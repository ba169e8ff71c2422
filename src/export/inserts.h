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
	enum dialect dialect;       /* SQLite or MySQL */
	const struct table *tables; /* owned by the caller */
	size_t nr_tables;
	bool guard; /* against formulas */
	inserts_send *send;
	void *to;
	struct bytes *statements; /* per table: begun, not sent yet */
	uint64_t large;           /* numbers that do not fit in INTEGER of SQLite */
};

/* After the caller set the fields above `statements`.  Returns 0 or -ENOMEM. */
int inserts_init(struct inserts *in);

int inserts_event(struct inserts *in, const struct trace_event *ev, struct err *err);
int inserts_row(struct inserts *in, size_t table, const struct cell *cells, struct err *err);

/* Sends all begun statements. */
int inserts_flush(struct inserts *in, struct err *err);

void inserts_release(struct inserts *in);

#endif
