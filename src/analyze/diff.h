/* SPDX-License-Identifier: MIT */
/*
 * diff.h - compare two sets of runs: which sites wait longer, run longer or starve, which kinds of
 * coroutines are left, which findings and sites are new or gone.  docs/diff.md has the rules.
 */
#ifndef ANALYZE_DIFF_H
#define ANALYZE_DIFF_H

#include "analyze/diff_profile.h"

struct json_writer;

/* In the order of the report. */
enum diff_class {
	DIFF_WORSE,
	DIFF_BETTER,
	DIFF_NEW,
	DIFF_GONE,
	NR_DIFF_CLASSES,
};

enum diff_subject {
	DIFF_OF_WAIT = DIFF_WAIT,
	DIFF_OF_READY = DIFF_READY,
	DIFF_OF_RUN = DIFF_RUN,
	DIFF_OF_ALIVE,   /* coroutines of a kind that are left at the end */
	DIFF_OF_FINDING, /* a strong finding */
	DIFF_OF_SITE,
};

/* One side of a change, over all its runs. */
struct diff_numbers {
	uint64_t count;         /* values; coroutines in the median run; runs with the finding */
	uint64_t p50, p90, p99; /* nanoseconds, over all values */
	uint64_t low, high;     /* least and greatest run, at the quantile that differs */
};

struct diff_change {
	enum diff_class class;
	enum diff_subject subject;
	const char *text, *path; /* of the place or the kind; path "" if unknown */
	uint32_t line;
	const char *detector; /* of a finding; "" otherwise */
	struct diff_numbers base, head;
	struct diff_verdict verdict;
	double impact_ns; /* change of the sum in one run; orders the changes */
};

/* A site of one side or of both, whether it differs or not. */
struct diff_pair {
	const struct diff_site *base, *head; /* NULL: not on this side */
	struct diff_verdict verdicts[NR_DIFF_METRICS];
};

/* A kind of coroutine, likewise. */
struct diff_kind_pair {
	const struct diff_row *base, *head;
	struct diff_verdict verdict;
};

struct diff {
	struct diff_profile base, head;
	struct diff_limits limits;
	struct diff_change *changes; /* sorted by class, then by impact */
	size_t nr, room;
	size_t compared; /* sites on both sides */
	struct diff_pair *pairs;
	size_t nr_pairs, pairs_room;
	struct diff_kind_pair *kinds;
	size_t nr_kinds, kinds_room;
	size_t by_class[NR_DIFF_CLASSES];
};

/* Compare d->base with d->head, both with at least one run.  0 or -ENOMEM. */
int diff_compare(struct diff *d);

void diff_release(struct diff *d);

/* "waits longer", "new finding" */
const char *diff_title(const struct diff_change *c);

/* The numbers of a side at a site; @permille: of the least and the greatest run.  0 or -ENOMEM. */
int diff_site_numbers(const struct diff_profile *p, const struct diff_site *s,
		      enum diff_metric metric, unsigned permille, struct diff_numbers *out);

/* The same for a kind. */
struct diff_numbers diff_kind_numbers(const struct diff_profile *p, const struct diff_row *row);

/* ---- forms ---------------------------------------------------------------------- */

struct diff_form {
	const char *const *base, *const *head; /* names of the traces, NULL-terminated */
	const char *const *notes;              /* sentences, NULL-terminated */
	bool color, all;
};

/* 0, or a negative errno of the output. */
int diff_text(const struct diff *d, const struct diff_form *form, FILE *out);
int diff_markdown(const struct diff *d, const struct diff_form *form, FILE *out);
int diff_json(const struct diff *d, const struct diff_form *form, FILE *out);

/* The members of that object, into one that the caller began. */
void diff_put_members(struct json_writer *j, const struct diff *d, const struct diff_form *form);

/*
 * "sites" with all pairs up to @most, those that differ first, and "kinds": with percentiles,
 * histograms and verdicts.  0 or -ENOMEM.
 */
int diff_put_pairs(struct json_writer *j, const struct diff *d, size_t most);

#endif
