/* SPDX-License-Identifier: MIT */
/*
 * affected.h - the coroutines that a group of findings is about, each once.
 *
 * All groups share one pool.  Its memory is bounded: a group keeps up to AFFECTED_GROUP coroutines
 * while the pool has room, and AFFECTED_LEAST in any case.  What does not fit is counted.
 */
#ifndef ANALYZE_AFFECTED_H
#define ANALYZE_AFFECTED_H

#include "analyze/model.h"

#define AFFECTED_GROUP 10000
#define AFFECTED_ALL   100000
#define AFFECTED_LEAST 16

/* The state of a coroutine when its most certain finding was made. */
struct affected {
	uint64_t probe_id, parent, since_ts, tid, resource, lost;
	uint64_t size_ns; /* of the finding */
	uint64_t seen_ts; /* the time of the state */
	uint32_t pid, name;
	uint32_t next;      /* 1 + index of the next coroutine of the group; 0: none */
	uint8_t confidence; /* of the finding */
	uint8_t state, reason;
	bool has_resource;
};

struct affected_pool {
	struct affected *all;
	size_t nr, room;
	const struct affected **sorted; /* room for all of them, see affected_sorted() */
	struct u64map numbers;          /* first coroutine of the list and probe_id to 1 + index */
	bool no_memory;                 /* a coroutine was omitted because memory ran out */
};

/* The coroutines of one group; all zero is empty. */
struct affected_list {
	uint32_t first, last; /* 1 + index in the pool; 0: none */
	uint32_t nr;
	uint64_t omitted; /* findings whose coroutine is not in the list */
};

struct finding;

/* @co as it is at finding->seen_ts. */
struct affected affected_of(const struct coro *co, const struct finding *finding);

/* Add @co, or update its entry if @finding is more certain or larger. */
void affected_add(struct affected_pool *pool, struct affected_list *list, const struct coro *co,
		  const struct finding *finding);

/* Add the coroutines of @from to @to; @from is invalid afterwards. */
void affected_join(struct affected_pool *pool, struct affected_list *to,
		   const struct affected_list *from);

/* The first coroutine of @list, and the one after @at; NULL: no more. */
const struct affected *affected_first(const struct affected_pool *pool,
				      const struct affected_list *list);
const struct affected *affected_next(const struct affected_pool *pool, const struct affected *at);

/*
 * The coroutines of @list, most certain first, then by the size of the finding.  The array
 * of list->nr pointers is valid until the next call; NULL: the list is empty.
 */
const struct affected **affected_sorted(const struct affected_pool *pool,
					const struct affected_list *list);

/* Copy a pool; the lists stay valid for the copy.  0 or -ENOMEM. */
int affected_copy(struct affected_pool *copy, const struct affected_pool *pool);

void affected_release(struct affected_pool *pool);

#endif
