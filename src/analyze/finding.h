/* SPDX-License-Identifier: MIT */
/*
 * finding.h - findings, grouped by detector and place.
 *
 * Each group keeps a count and one example, the most certain one and among equals the oldest:
 * memory does not grow with the number of findings.
 */
#ifndef ANALYZE_FINDING_H
#define ANALYZE_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

/* How sure a finding is, in ascending order. */
enum confidence {
	CONFIDENCE_INFO,    /* true, and possibly intended */
	CONFIDENCE_SUSPECT, /* looks wrong, may be correct */
	CONFIDENCE_STRONG,  /* wrong unless the program does something unusual */
	CONFIDENCE_PROVEN,  /* contradicts what the program itself recorded */
	NR_CONFIDENCES,
};

/* "strong"; and the reverse: -1 for an unknown name. */
const char *confidence_name(enum confidence confidence);
int confidence_from_name(const char *name);

struct detector;

#define FINDING_DETAIL 240
#define FINDING_CHAIN  8
#define FINDING_GROUPS 4096
#define FINDING_LARGE  (50 * MODEL_MS)

/* A coroutine in the chain of waiters of the example. */
struct link {
	uint64_t probe_id;
	uint32_t name, site;
	uint64_t addr;
	uint8_t state, reason;
};

struct finding {
	const struct detector *detector;
	enum confidence confidence;
	const struct coro *co;       /* NULL: about the whole program */
	uint32_t place, spawn;       /* that the finding belongs to */
	uint64_t size_ns;            /* duration; orders groups and examples */
	uint64_t ts;                 /* time of the finding */
	unsigned needs;              /* events it relies on not being missing: enum need */
	const char *doubt;           /* why the confidence is not higher; NULL: no reason */
	char detail[FINDING_DETAIL]; /* what was observed, one sentence */
};

struct group {
	const struct detector *detector;
	enum confidence confidence; /* highest confidence in the group */
	uint32_t place, spawn;
	uint64_t count, by_confidence[NR_CONFIDENCES];
	uint64_t oldest_ns;
	unsigned needs; /* union over the group */
	uint64_t large; /* findings of at least FINDING_LARGE */
	bool has_coro;
	uint32_t suppressed_by; /* 1 + rule number; 0: none */
	struct coro example;
	struct finding finding; /* the example */
	struct link chain[FINDING_CHAIN];
	unsigned nr_chain;
};

struct findings {
	struct group *groups;
	size_t nr, room;
	struct u64map numbers; /* hash of detector, place and kind to 1 + number */
	uint64_t beyond;       /* findings of groups beyond the limit */
};

/*
 * Returns the group of the finding; *@is_example is set if the finding became its example.  NULL:
 * no memory, or too many groups.
 */
struct group *findings_add(struct findings *f, const struct finding *finding, bool *is_example);

/* Copy @f, before it is sorted. 0 or -ENOMEM. */
int findings_copy(struct findings *copy, const struct findings *f);

/*
 * Renumber places: @into is indexed by the old place.  Groups that now share a place are merged. 0
 * or -ENOMEM.
 */
int findings_move(struct findings *f, const uint32_t *into);

/*
 * Events of the trace are missing: lower findings that rely on them to a suspicion, for the reason
 * @why.
 */
void findings_doubt(struct findings *f, const char *why);

/* Sort by confidence, then in the order of the detectors, then by count. */
void findings_sort(struct findings *f);

void findings_release(struct findings *f);

#endif
