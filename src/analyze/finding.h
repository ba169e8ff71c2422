/* SPDX-License-Identifier: MIT */
/*
 * finding.h - what detectors found, grouped by detector and place.
 *
 * Of each group the number is kept and one example, the most certain and of these the
 * oldest: so memory does not grow with the findings.
 */
#ifndef ANALYZE_FINDING_H
#define ANALYZE_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"

/* As sure as one can be of it (field E.3); in this order. */
enum confidence {
	CONFIDENCE_INFO,    /* true, and may be as it should be */
	CONFIDENCE_SUSPECT, /* looks wrong, can be right */
	CONFIDENCE_STRONG,  /* wrong unless the program does something unusual */
	CONFIDENCE_PROVEN,  /* what the program itself told cannot be right */
	NR_CONFIDENCES,
};

/* "strong"; and back: -1 for what is none. */
const char *confidence_name(enum confidence confidence);
int confidence_from_name(const char *name);

struct detector;

#define FINDING_DETAIL 240
#define FINDING_CHAIN  8
#define FINDING_GROUPS 4096
#define FINDING_LARGE  (50 * MODEL_MS)

/* A coroutine in the example's chain of waiting. */
struct link {
	uint64_t probe_id;
	uint32_t name, site;
	uint64_t addr;
	uint8_t state, reason;
};

struct finding {
	const struct detector *detector;
	enum confidence confidence;
	const struct coro *co;       /* NULL: of the program as a whole */
	uint32_t place, spawn;       /* it belongs to */
	uint64_t size_ns;            /* how long; orders groups and examples */
	uint64_t ts;                 /* when */
	unsigned needs;              /* what it relies on not being missing: enum need */
	const char *doubt;           /* why it is not surer; NULL: no reason */
	char detail[FINDING_DETAIL]; /* what was seen, a sentence */
};

struct group {
	const struct detector *detector;
	enum confidence confidence; /* of the surest */
	uint32_t place, spawn;
	uint64_t count, by_confidence[NR_CONFIDENCES];
	uint64_t oldest_ns;
	unsigned needs; /* of any of them */
	uint64_t large; /* at least FINDING_LARGE long */
	bool has_coro;
	uint32_t suppressed_by; /* 1 + number of the rule; 0: none */
	struct coro example;
	struct finding finding; /* of the example */
	struct link chain[FINDING_CHAIN];
	unsigned nr_chain;
};

struct findings {
	struct group *groups;
	size_t nr, room;
	struct u64map numbers; /* hash of detector, place and kind to 1 + number */
	uint64_t beyond;       /* that belong to groups beyond the last */
};

/* The group it went to, *@is_example if it became its example; NULL without memory or beyond all.
 */
struct group *findings_add(struct findings *f, const struct finding *finding, bool *is_example);

/* All of @f a second time, as it is before it is sorted; 0 or -ENOMEM. */
int findings_copy(struct findings *copy, const struct findings *f);

/* Places became others: @into by place.  Groups that are of one place now are one.  0 or -ENOMEM.
 */
int findings_move(struct findings *f, const uint32_t *into);

/* Events of the trace are missing: what relies on them is a suspicion at most, because of @why. */
void findings_doubt(struct findings *f, const char *why);

/* Surest first, then those that are most. */
void findings_sort(struct findings *f);

void findings_release(struct findings *f);

#endif
