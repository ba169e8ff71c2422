/* SPDX-License-Identifier: MIT */
/*
 * query_trace.h - the trace of a query: opened once per scan, with a filter.
 *
 * The facts that a statement may need at any time, the start of the run and its sites, are read
 * when the query is opened.
 */
#ifndef QUERY_QUERY_TRACE_H
#define QUERY_QUERY_TRACE_H

#include "query/query.h"
#include "trace/trace_parts.h"

struct query_site {
	struct trace_site site; /* owns its texts */
};

struct query_trace {
	const char *path; /* NULL: the query has none */
	bool may_grow;
	/* Known after query_trace_open(). */
	enum trace_format format;
	bool is_growing, has_index;
	uint64_t start_ts;  /* of the run; without one, the first event */
	uint64_t realtime;  /* start of the run; 0: not known */
	uint64_t estimated; /* events, about */
	struct query_site *sites;
	size_t nr_sites, room;
	struct u64map numbers; /* site id to 1 + index in sites */
	struct trace_parts parts;
};

/* One pass over the trace. */
struct query_scan {
	struct query *query;
	struct trace_reader *reader;
	bool has_ended;
};

/* 0 or a negative errno, with a message in @err. */
int query_trace_open(struct query *q, struct err *err);
void query_trace_release(struct query_trace *t);

/* NULL: there is no such site. */
const struct trace_site *query_trace_site(const struct query_trace *t, uint64_t id);

/* True if events come in the order of time, so that a scan may stop when it is past a time. */
static inline bool query_trace_is_ordered(const struct query_trace *t)
{
	return t->format != TRACE_FORMAT_JSONL && !t->is_growing;
}

/*
 * A filter with absolute times.  Its site is a pattern, which @pattern holds.
 */
struct query_filter {
	struct trace_filter filter;
	char *pattern;
};

struct query_want;

/* Sets the filter for what a statement wants.  False: no memory. */
bool query_filter_set(struct query_filter *f, const struct query_trace *t,
		      const struct query_want *want);
void query_filter_release(struct query_filter *f);

/* Facts only: of a compact trace no block of events is read. */
extern const struct trace_filter query_no_events;

/* @filter must live as long as the scan; NULL: none.  0 or a negative errno. */
int query_scan_begin(struct query_scan *scan, struct query *q, const struct trace_filter *filter,
		     struct err *err);

/* 1, 0 at the end of what is there, or a negative errno. */
int query_scan_next(struct query_scan *scan, struct trace_item *item, struct err *err);

/* Has no effect on a scan that is all zero. */
void query_scan_end(struct query_scan *scan);

#endif
