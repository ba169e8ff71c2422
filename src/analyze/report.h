/* SPDX-License-Identifier: MIT */
/*
 * report.h - what an analysis found, in the form that its reader wants.
 *
 * All forms hold the same: totals first (with what was lost and what was garbage), then the
 * groups, surest first, each with one full example.
 */
#ifndef ANALYZE_REPORT_H
#define ANALYZE_REPORT_H

#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/suppress.h"
#include "symbols/symbols.h"
#include "trace/reader.h"

struct report {
	const char *trace; /* its path */
	const struct analysis *analysis;
	const struct trace_stats *stats;
	struct symbols *symbols; /* may be NULL */
	enum confidence least;   /* groups below are only counted */
};

/* A place in words; file is NULL where it is not known. */
struct report_place {
	char text[512];       /* "server.c:12 reader", "reader+0x12 in server", "0x401234" */
	const char *file;     /* as the compiler was given it */
	const char *function; /* NULL: not known */
	uint32_t line;
};

/* Look up every place that will be named: so that the notes, which come first, can tell of trouble.
 */
void report_prepare(const struct report *r);

/* 0, or a negative errno of the output. */
int report_markdown(const struct report *r, FILE *out);
int report_text(const struct report *r, FILE *out);
int report_json(const struct report *r, FILE *out);
int report_sarif(const struct report *r, FILE *out);
int report_junit(const struct report *r, FILE *out);

/* ---- for all of them ------------------------------------------------------ */

/* Groups to be shown: not suppressed, and sure enough. */
bool report_shows(const struct report *r, const struct group *g);

struct report_counts {
	uint64_t groups, findings, by_confidence[NR_CONFIDENCES]; /* shown */
	uint64_t suppressed, below;                               /* groups that are not */
};
struct report_counts report_count(const struct report *r);

void report_place_of(const struct report *r, uint32_t pid, uint32_t site, uint64_t addr,
		     struct report_place *out);

/* Where the group's coroutines wait; false: it has no place. */
bool report_group_place(const struct report *r, const struct group *g, struct report_place *out);

/* "reader (spawned at server.c:12 main)"; false: nothing is known. */
bool report_kind_of(const struct report *r, const struct group *g, char *buf, size_t size);

/* The same of a kind by its number. */
bool report_spawn(const struct report *r, uint32_t spawn, char *buf, size_t size);

/* "coroutine 7 'reader 3'" */
void report_coroutine(const struct report *r, uint64_t probe_id, uint32_t name, char *buf,
		      size_t size);

/* "io-read on 7"; "" if nothing was told. */
void report_waits_for(unsigned reason, bool has_resource, uint64_t resource, char *buf,
		      size_t size);

/* The @i-th of the example's last steps, oldest first. */
const struct step *report_step(const struct coro *co, unsigned i);

/* What the numbers of a group are: "oldest", "longest", "most". */
const char *report_size_word(const struct group *g);

/* What keeps the findings from being all, or sure; each a sentence, @nr from 0 on; NULL: no more.
 */
const char *report_caveat(const struct report *r, unsigned nr, char *buf, size_t size);

/* Of all totals the ones that every form has. */
struct report_totals {
	uint64_t coroutines, alive, events, others, threads, duration_ns;
	bool loss_known;
	uint64_t written, lost, others_lost, garbage;
	uint64_t missing; /* events that the totals tell of and the trace does not hold */
};
struct report_totals report_totals_of(const struct report *r);

/* Something is missing in the trace, and is known to be: trace_shortage() says what. */
bool report_is_incomplete(const struct report *r);

struct json_writer;

/* "totals": { ... }, as the JSON report has them. */
void report_put_totals(struct json_writer *j, const struct report *r);

#endif
