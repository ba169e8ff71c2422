/* SPDX-License-Identifier: MIT */
/*
 * finding.h - findings, grouped by detector and place.
 *
 * Each group keeps a count, one example (the most certain one and among equals the oldest) and a
 * bounded list of its coroutines: memory does not grow with the number of findings.
 */
#ifndef ANALYZE_FINDING_H
#define ANALYZE_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/affected.h"
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

#define FINDING_DETAIL   240
#define FINDING_CHAIN    8
#define FINDING_EVIDENCE 8
#define EVIDENCE_TEXT    184
#define FINDING_GROUPS   4096
#define FINDING_LARGE    (50 * MODEL_MS)

/* A coroutine in the chain of waiters of the example. */
struct link {
	uint64_t probe_id;
	uint32_t name, site;
	uint64_t addr;
	uint8_t state, reason;
};

/* What a line of evidence is about; decides its heading and its step in a SARIF code flow. */
enum evidence_role {
	EVIDENCE_NOTE,
	EVIDENCE_RESOURCE, /* what the coroutine waits for, and its last use */
	EVIDENCE_HOLDER,   /* who holds the resource, and where it was taken */
	EVIDENCE_WAKER,    /* who usually wakes the coroutine */
};

/* One short sentence in support of a finding, without a full stop at its end. */
struct evidence {
	char text[EVIDENCE_TEXT];
	uint64_t addr; /* place in the program, as in struct coro; both 0: none */
	uint32_t site;
	uint8_t role;
};

struct finding {
	const struct detector *detector;
	enum confidence confidence;
	const struct coro *co;       /* NULL: about the whole program */
	bool is_of_chosen;           /* though co is not: see analysis_options.chosen */
	uint32_t place, spawn;       /* that the finding belongs to */
	uint64_t size_ns;            /* duration; orders groups and examples */
	uint64_t shown_ns;           /* blocking: part of size_ns that evidence shows */
	uint64_t ts;                 /* time of the finding */
	uint64_t seen_ts;            /* co is as it was then; 0: as it is when reported */
	unsigned needs;              /* events it relies on not being missing: enum need */
	const char *doubt;           /* why the confidence is not higher; NULL: no reason */
	char detail[FINDING_DETAIL]; /* what was observed, one sentence */
	char hint[FINDING_DETAIL];   /* what to do; "": the detector's advice */
	struct evidence evidence[FINDING_EVIDENCE];
	unsigned nr_evidence;
};

struct group {
	const struct detector *detector;
	enum confidence confidence; /* highest confidence in the group */
	uint32_t place, spawn;
	uint64_t count, by_confidence[NR_CONFIDENCES];
	uint64_t oldest_ns;
	unsigned needs; /* union over the group */
	uint64_t large; /* findings with shown_ns of at least FINDING_LARGE */
	bool has_coro;
	uint32_t suppressed_by; /* 1 + rule number; 0: none */
	struct coro example;
	struct finding finding; /* the example */
	struct link chain[FINDING_CHAIN];
	unsigned nr_chain;
	struct affected_list affected; /* all coroutines of the group */
};

struct findings {
	struct group *groups;
	size_t nr, room;
	struct u64map numbers; /* hash of detector, place and kind to 1 + number */
	uint64_t beyond;       /* findings of groups beyond the limit */
	bool no_memory;        /* a finding was left out because memory ran out */
	struct affected_pool affected;
};

/* Add a line of evidence; lines beyond FINDING_EVIDENCE are ignored: the strongest come first. */
void finding_add_evidence(struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * As finding_add_evidence(), with its role and a place: the report prints "TEXT at PLACE".  @site
 * and @addr are both 0 if the place is unknown.
 */
void finding_add_evidence_at(struct finding *f, enum evidence_role role, uint32_t site,
			     uint64_t addr, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* What to do about this finding, one sentence; replaces the detector's advice. */
void finding_set_hint(struct finding *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Returns the group of the finding; *@is_example is set if the finding became its example.  NULL:
 * no memory, or too many groups.
 */
struct group *findings_add(struct findings *f, const struct finding *finding, bool *is_example);

/*
 * The coroutines that wait for @co: parent by parent, as far as each is in a join on the one
 * before.  Returns their number.
 */
unsigned finding_chain(const struct model *m, const struct coro *co,
		       struct link chain[FINDING_CHAIN]);

/*
 * Name one more coroutine of a finding that was added before.  Only for findings about several
 * coroutines: the coroutine of each finding is named without it.
 */
void findings_add_affected(struct findings *f, const struct finding *finding,
			   const struct coro *co);

/* Copy @f, before it is sorted. 0 or -ENOMEM. */
int findings_copy(struct findings *copy, const struct findings *f);

/*
 * Renumber places: @into is indexed by the old place.  Groups that now share a place are merged. 0
 * or -ENOMEM.
 */
int findings_move(struct findings *f, const uint32_t *into);

/* Groups without a kind become groups of @kind.  0 or -ENOMEM. */
int findings_name_kind(struct findings *f, uint32_t kind);

/*
 * Events of the trace are missing: lower findings that rely on them to a suspicion, for the reason
 * @why.
 */
void findings_doubt(struct findings *f, const char *why);

/* Sort by confidence, then in the order of the detectors, then by count. */
void findings_sort(struct findings *f);

void findings_release(struct findings *f);

#endif
