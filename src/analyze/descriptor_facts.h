/* SPDX-License-Identifier: MIT */
/*
 * descriptor_facts.h - what the kernel said about descriptors that coroutines wait for.
 *
 * The trace has a fact for a coroutine that waited for a ready descriptor while the whole program
 * was asleep, and the times at which all waits of a process were looked at (struct
 * trace_descriptor).
 */
#ifndef ANALYZE_DESCRIPTOR_FACTS_H
#define ANALYZE_DESCRIPTOR_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/model.h"
#include "base/u64map.h"

/* Coroutines with a fact that are kept. */
#define DESCRIPTOR_FACTS_MAX (1u << 16)

struct descriptor_fact {
	uint64_t probe_id, fd, from_ts, to_ts, unread;
	uint8_t kind, ready, watch; /* indices in descriptor_facts.c */
};

struct descriptor_facts {
	struct u64map numbers; /* probe_id to 1 + index in at: the last fact of each */
	struct descriptor_fact *at;
	size_t nr, room;
	struct u64map looks; /* pid to the time at which all its waits were last looked at */
	bool *places;        /* by place: a coroutine there waits for a ready descriptor */
	size_t nr_places;
};

/* 0 or -ENOMEM. */
int descriptor_facts_add(struct descriptor_facts *d, const struct trace_descriptor *fact);

/* The fact about the wait that @co is in; NULL: none. */
const struct descriptor_fact *descriptor_facts_find(const struct descriptor_facts *d,
						    const struct coro *co);

/* After the last event: note the places of those that have a fact.  0 or -ENOMEM. */
int descriptor_facts_settle(struct descriptor_facts *d, const struct model *m);

/*
 * True if the descriptor of @co was looked at and was not ready, while another coroutine waits at
 * the same place for one that is: that one is stuck, and @co is idle.
 */
bool descriptor_facts_idle(const struct descriptor_facts *d, const struct coro *co);

/* "socket", "32 unread bytes": what the descriptor was ready with. */
#define DESCRIPTOR_FACT_TEXT 64
const char *descriptor_fact_ready(const struct descriptor_fact *f, char text[DESCRIPTOR_FACT_TEXT]);

/* How epoll watches it, as a sentence; NULL: not known. */
const char *descriptor_fact_watch(const struct descriptor_fact *f);

void descriptor_facts_release(struct descriptor_facts *d);

#endif
