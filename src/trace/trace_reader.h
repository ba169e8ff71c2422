/* SPDX-License-Identifier: MIT */
/*
 * trace_reader.h - read a trace in any format as a stream of items.
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
 *   Run, processes and sites first; then events and gaps, in order of time; then coroutines;
 *   the totals last.  An event therefore comes after the facts that it refers to.
 *   Transitions of JSON lines come in the order of the file: a trace of another tool may be
 *   unordered.
 *
 * Memory does not grow with the number of events: there is one window per stream.
 *
 * Trust
 *   The input is not trusted.  Corrupt parts are skipped and counted, the rest is returned:
 *   lines that are not events, damaged packets, truncated files.  At the end
 *   trace_verdict() says whether anything is missing; a command that prints what it read
 *   prints the verdict too.
 */
#ifndef TRACE_TRACE_READER_H
#define TRACE_TRACE_READER_H

#include "base/err.h"
#include "trace/completeness.h"
#include "trace/item.h"
#include "trace/jsonl_reader.h"
#include "trace/sidecar.h"
#include "trace/trace_filter.h"
#include "trace/trace_writer.h"

/* Problems of a CTF trace, so far. */
struct ctf_stats {
	uint64_t streams;   /* files */
	uint64_t packets;   /* with a valid head */
	uint64_t damaged;   /* packets without a valid head, or whose content ends early */
	uint64_t torn;      /* files that end inside a packet: their writer was killed */
	uint64_t missing;   /* packets, according to the sequence numbers */
	uint64_t unknown;   /* records of an unknown kind, skipped */
	uint64_t discarded; /* events that the writer counted as not written */
};

/* A compact trace, so far. */
struct ct_stats {
	uint64_t blocks;  /* of events and facts */
	uint64_t read;    /* of these, unpacked: a filter needs few of them */
	uint64_t damaged; /* blocks, or places between two blocks */
	uint64_t missing; /* blocks, by their numbers */
	uint64_t torn;    /* the file ends inside a block: its writer was killed, or it was cut */
	uint64_t unknown; /* blocks and events of an unknown kind, skipped */
	bool has_index;
};

struct trace_stats {
	enum trace_format format;
	bool is_stdin;
	bool growing;       /* the trace is followed and still being written */
	char *sidecar_path; /* jsonl: where it is or would be; NULL: there can be no sidecar */
	bool has_sidecar;
	bool packed_cut;              /* jsonl: compressed data ends early, or is damaged */
	struct jsonl_stats lines;     /* jsonl */
	struct sidecar_stats sidecar; /* jsonl */
	struct ctf_stats ctf;
	struct ct_stats ct;
	struct trace_completeness completeness;
	uint64_t bytes; /* read so far */
	uint64_t total; /* size of all files; 0: not known */
};

struct trace_reader;

struct trace_reader_ops {
	int (*next)(struct trace_reader *r, struct trace_item *item, struct err *err);
	void (*close)(struct trace_reader *r);
	/* Of trace_count_kinds(); NULL: it counts nothing. */
	void (*count_kinds)(struct trace_reader *r, uint64_t *counts);
};

/* First member of the reader of every format. */
struct trace_reader {
	const struct trace_reader_ops *ops;
	struct trace_stats stats;
	struct site_table sites;
	struct trace_filter *filter; /* &part, or NULL: everything is returned */
	struct trace_filter part;
};

/*
 * @path: a file of JSON lines, with or without a sidecar; "-" for standard input; the directory
 * of a corotracer CTF trace, or its metadata file; a compact trace.  JSON lines and their sidecar
 * may be compressed by gzip or zstd.  Returns NULL and sets @err if
 * it cannot be read.
 */
struct trace_reader *trace_reader_open(const char *path, struct err *err);

/*
 * The same for a trace that may still be written (its writer holds the lock, see
 * collect/output_path.h). trace_next() then returns -EAGAIN, with @err not set, if nothing more is
 * available, and continues at the next call; it returns 0 when the writer has ended.  Facts come
 * when they become known, but before the events that need them; coroutines and totals come last.  A
 * finished trace is read as with trace_reader_open().  A CTF trace can only be read when it is
 * finished.
 */
struct trace_reader *trace_reader_follow(const char *path, struct err *err);

/*
 * Normalizes the names of a site, and replaces the site ids in other items by the first id of
 * their source location.  False: the item is a site whose source location is already known.
 */
bool trace_reader_settle(struct trace_reader *r, struct trace_item *item);

/* Return only what passes @filter, of which the reader makes a copy.  Before the first
 * trace_next(). */
static inline void trace_reader_set_filter(struct trace_reader *r,
					   const struct trace_filter *filter)
{
	r->part = *filter;
	r->filter = trace_filter_is_set(filter) ? &r->part : NULL;
}

/* The rest of trace_next() for a reader with a filter.  False: the item is not to be returned. */
bool trace_reader_filter(struct trace_reader *r, struct trace_item *item);

/* Returns 1: *@item is the next one, its strings valid until the next call; 0: the end; -errno. */
static inline int trace_next(struct trace_reader *r, struct trace_item *item, struct err *err)
{
	int rc;

	do {
		rc = r->ops->next(r, item, err);
		if (rc > 0)
			trace_completeness_count(&r->stats.completeness, item);
	} while (rc > 0 && (r->filter ? !trace_reader_filter(r, item)
				      : (item->type == TRACE_ITEM_SITE || r->sites.has_doubles) &&
						!trace_reader_settle(r, item)));
	return rc;
}

/*
 * Skips events that follow, as many as can be skipped without decoding them, and adds to @counts
 * how many are of each kind.  Only for a reader with the hint is_light and without a filter, whose
 * caller needs the kinds and nothing else.
 */
static inline void trace_count_kinds(struct trace_reader *r, uint64_t counts[NR_TRACE_KINDS])
{
	uint64_t own[NR_TRACE_KINDS] = { 0 };
	unsigned kind;

	if (r->filter || !r->ops->count_kinds)
		return;
	r->ops->count_kinds(r, own);
	for (kind = 0; kind < NR_TRACE_KINDS; kind++) {
		counts[kind] += own[kind];
		if (kind <= TRACE_RESUME)
			r->stats.completeness.read += own[kind];
		else
			r->stats.completeness.read_others += own[kind];
	}
}

/* Final once trace_next() has returned 0; freed by the close. */
static inline const struct trace_stats *trace_reader_stats(const struct trace_reader *r)
{
	return &r->stats;
}

/* True if nothing that was read is corrupt, damaged or missing. */
bool trace_stats_are_clean(const struct trace_stats *stats);

/* Accepts NULL. */
void trace_reader_close(struct trace_reader *r);

#endif
