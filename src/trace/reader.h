/* SPDX-License-Identifier: MIT */
/*
 * reader.h - read a trace as a stream of items, in whichever format.
 *
 *	struct trace_reader *r = trace_reader_open(path, &err);
 *	struct trace_item item;
 *	int rc;
 *
 *	if (!r)
 *		return err.code;
 *	while ((rc = trace_next(r, &item, &err)) > 0)
 *		...;
 *	trace_reader_close(r);
 *
 * Order
 *   Run, processes and sites first; then events and gaps, in order of time; then
 *   coroutines; the totals last.  So what an event refers to is known when it comes.
 *   Transitions of JSON lines come as they stand there: a trace of another tool may be in
 *   no order at all.
 *
 * Memory does not grow with the number of events: a window per stream.
 *
 * Trust
 *   None.  What cannot be read is left out and counted, the rest is given: lines that are
 *   no events, packets that are damaged, a file that ends too early.  At the end
 *   trace_verdict() says whether anything is missing: a command that prints what it read
 *   prints that too.
 */
#ifndef TRACE_READER_H
#define TRACE_READER_H

#include "base/err.h"
#include "trace/completeness.h"
#include "trace/item.h"
#include "trace/jsonl_reader.h"
#include "trace/sidecar.h"
#include "trace/writer.h"

/* What was odd about a CTF trace, so far. */
struct ctf_stats {
	uint64_t streams;   /* files */
	uint64_t packets;   /* with a head that makes sense */
	uint64_t damaged;   /* packets whose end was not reached, or that have no head */
	uint64_t torn;      /* files that end inside a packet: their writer was killed */
	uint64_t missing;   /* packets that their numbers tell of */
	uint64_t unknown;   /* records of a kind that we do not know, skipped */
	uint64_t discarded; /* events that their writer said it did not write */
};

struct trace_stats {
	enum trace_format format;
	bool is_stdin;
	bool growing;       /* it is followed, and somebody still writes it */
	char *sidecar_path; /* jsonl: where it is, or would be; NULL: there can be none */
	bool has_sidecar;
	struct jsonl_stats lines;     /* jsonl */
	struct sidecar_stats sidecar; /* jsonl */
	struct ctf_stats ctf;
	struct trace_completeness completeness;
	uint64_t bytes; /* read so far */
	uint64_t total; /* of all files; 0: not known */
};

struct trace_reader;

struct trace_reader_ops {
	int (*next)(struct trace_reader *r, struct trace_item *item, struct err *err);
	void (*close)(struct trace_reader *r);
};

/* The head of every format's own. */
struct trace_reader {
	const struct trace_reader_ops *ops;
	struct trace_stats stats;
	struct site_table sites;
};

/*
 * @path: a file of JSON lines, with a sidecar beside it or without; "-" for standard
 * input; a directory with a CTF trace of ours, or its metadata file.  NULL and words if
 * it cannot be read.
 */
struct trace_reader *trace_reader_open(const char *path, struct err *err);

/*
 * The same of a trace that may still be written (somebody holds the lock that writers hold, see
 * ctp/place.h): then trace_next() gives -EAGAIN, without words, where there is no more for now,
 * and goes on from there at the next call; 0 once its writer has ended, however.  Facts come
 * when they become known, but before the events that need them; coroutines and totals come last
 * as always.  Of a finished trace it is the same as the above.  A CTF trace can only be read
 * when it is finished.
 */
struct trace_reader *trace_reader_follow(const char *path, struct err *err);

/*
 * Give a site its one name, and what refers to a site the number of its place.  False: a site
 * whose place has been told before.
 */
bool trace_reader_settle(struct trace_reader *r, struct trace_item *item);

/* 1: *@item is the next one, its strings valid until the next call; 0: the end; -errno. */
static inline int trace_next(struct trace_reader *r, struct trace_item *item, struct err *err)
{
	int rc;

	do {
		rc = r->ops->next(r, item, err);
		if (rc > 0)
			trace_completeness_count(&r->stats.completeness, item);
	} while (rc > 0 && (item->type == TRACE_ITEM_SITE || r->sites.has_doubles) &&
		 !trace_reader_settle(r, item));
	return rc;
}

/* Whole once trace_next() has returned 0; gone with the close. */
static inline const struct trace_stats *trace_reader_stats(const struct trace_reader *r)
{
	return &r->stats;
}

/* Nothing that was read was odd: no garbage, nothing damaged, nothing missing. */
bool trace_stats_are_clean(const struct trace_stats *stats);

/* Accepts NULL. */
void trace_reader_close(struct trace_reader *r);

#endif
