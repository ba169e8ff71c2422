/* SPDX-License-Identifier: MIT */
/*
 * report.h - the result of an analysis, in several output forms.
 *
 * All forms have the same content: totals first (with lost and corrupt events), then the groups,
 * most certain first, each with one full example.
 */
#ifndef ANALYZE_REPORT_H
#define ANALYZE_REPORT_H

#include <stdio.h>

#include "analyze/analysis.h"
#include "analyze/suppress.h"
#include "symbols/symbols.h"
#include "trace/trace_reader.h"

struct json_writer;

struct report {
	const char *trace; /* path of the trace */
	const struct analysis *analysis;
	const struct trace_stats *stats;
	struct symbols *symbols;  /* may be NULL */
	enum confidence least;    /* groups below this confidence are only counted */
	enum confidence gate;     /* JUnit: faults of at least this confidence are failures */
	const bool *fails;        /* by detector number: failures though not faults; may be NULL */
	bool all;                 /* text and Markdown: every group in full, with its last steps */
	bool color;               /* text: with the escape sequences of a terminal */
	unsigned rows, columns;   /* text: of the screen; 0 rows: no limit, 0 columns: 92 */
	const char *source_root;  /* SARIF: absolute path that files are relative to; may be NULL */
	bool all_coroutines;      /* JSON lists all coroutines of a group, not only the example */
	unsigned some_coroutines; /* JSON lists this many of a group, without their last steps */
	/*
	 * Of a merged trace there is a report for each part.  The forms print all of them; the
	 * first one has the path and the statistics of the merged trace.
	 */
	const struct report *next; /* NULL: the last, or not merged */
	const char *whole;         /* NULL: not merged */
	const struct trace_stats *whole_stats;
	/* JSON: called to add members at the end; may be NULL. */
	void (*put_more)(struct json_writer *j, void *context);
	void *more;
};

/* A place as text; file is NULL if unknown. */
struct report_place {
	char text[512];       /* "server.c:12 reader", "reader+0x12 in server", "0x401234" */
	const char *file;     /* as given to the compiler */
	const char *function; /* NULL: unknown */
	uint32_t line;
};

/*
 * Resolve every place in advance, so that the notes, which are printed first, can mention problems
 * with symbols.
 */
void report_prepare(const struct report *r);

/* 0, or a negative errno of the output. */
int report_markdown(const struct report *r, FILE *out);
int report_text(const struct report *r, FILE *out);
int report_json(const struct report *r, FILE *out);
int report_sarif(const struct report *r, FILE *out);
int report_junit(const struct report *r, FILE *out);

/* What names a group in every run and on every host: see report_sarif.c. */
struct report_fingerprint {
	char text[40];
};

/* One for each group, by its number; empty if it is not shown.  The caller frees them; NULL: no
 * memory. */
struct report_fingerprint *report_fingerprints(const struct report *r);

/* Rules that suppress the groups that the report shows: see suppress.h. */
int report_suppressions(const struct report *r, FILE *out);

/* ---- shared by all forms -------------------------------------------------- */

/* True for groups to show: not suppressed, and with enough confidence. */
bool report_shows(const struct report *r, const struct group *g);

struct report_counts {
	uint64_t groups, findings, by_confidence[NR_CONFIDENCES]; /* shown */
	uint64_t suppressed, below;                               /* groups that are not shown */
};
struct report_counts report_count(const struct report *r);

void report_place_of(const struct report *r, uint32_t pid, uint32_t site, uint64_t addr,
		     struct report_place *out);

/* The place where the group's coroutines wait; false: the group has no place. */
bool report_group_place(const struct report *r, const struct group *g, struct report_place *out);

/* Where the coroutines of the group were created.  False: not known. */
bool report_group_spawn(const struct report *r, const struct group *g, struct report_place *out);

/* "reader (spawned at server.c:12 main)"; false: unknown. */
bool report_kind_of(const struct report *r, const struct group *g, char *buf, size_t size);

/* As report_kind_of(), by the index of the kind. */
bool report_spawn(const struct report *r, uint32_t spawn, char *buf, size_t size);

/* "coroutine 7 'reader 3'" */
void report_coroutine(const struct report *r, uint64_t probe_id, uint32_t name, char *buf,
		      size_t size);

/* "io-read on 7"; "" if no reason was recorded. */
void report_waits_for(unsigned reason, bool has_resource, uint64_t resource, char *buf,
		      size_t size);

/* The same for an example: a deadline is a time before or after the end of the run. */
void report_example_waits_for(const struct report *r, const struct coro *co, char *buf,
			      size_t size);

/* The @i-th of the example's last steps, from the oldest. */
const struct step *report_step(const struct coro *co, unsigned i);

/* Line @i of the group's evidence, with its place, if it has one; NULL: no more. */
const char *report_evidence(const struct report *r, const struct group *g, unsigned i, char *buf,
			    size_t size);

/* "7 'reader 3', 9 'reader 5' and 12 more", up to @max names; false: not about coroutines. */
bool report_names(const struct report *r, const struct group *g, unsigned max, char *buf,
		  size_t size);

/* What to do about the group. */
const char *report_hint(const struct group *g);

/*
 * How sure the group is about one of its coroutines: a detector may raise or lower a whole group.
 */
enum confidence report_confidence_of(const struct group *g, const struct affected *most_certain,
				     const struct affected *co);

/* What the size of a group means: "oldest", "longest", "most". */
const char *report_size_word(const struct group *g);

/* What makes the findings incomplete or uncertain: one sentence per @nr, from 0; NULL: no more. */
const char *report_caveat(const struct report *r, unsigned nr, char *buf, size_t size);

/* The totals that every form contains. */
struct report_totals {
	uint64_t coroutines, alive, events, others, threads, duration_ns;
	bool loss_known;
	uint64_t written, lost, others_lost, garbage;
	uint64_t missing; /* events that the totals count and the trace does not contain */
};
struct report_totals report_totals_of(const struct report *r);

/* The same for all parts from @r on. */
struct report_totals report_totals_of_parts(const struct report *r);

/* True if the trace is known to be incomplete: trace_shortage() says what is missing. */
bool report_is_incomplete(const struct report *r);

/* A group as an object, as the JSON report has it. */
void report_put_group(struct json_writer *j, const struct report *r, const struct group *g);

/* "totals": { ... }, as the JSON report has them. */
void report_put_totals(struct json_writer *j, const struct report *r);

#endif
