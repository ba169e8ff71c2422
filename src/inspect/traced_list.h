/* SPDX-License-Identifier: MIT */
/*
 * traced_list.h - what the SDK in a program has told about its coroutines, joined with the frames
 * and tasks that were found in its memory.
 *
 * C++: the promise of a traced coroutine (PromiseMixin) holds the address of the coroutine's entry
 * in the region; DWARF says where.  Rust: the address of a suspended future is in its entry, and in
 * the memory of its task, unless the future is in a box of its own.  C programs have entries only.
 */
#ifndef INSPECT_TRACED_LIST_H
#define INSPECT_TRACED_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/printer.h"
#include "base/u64map.h"

struct inspection;
struct inspect_group;

struct traced_site {
	const char *function, *file; /* NULL: unknown */
	uint32_t line;
};

/* Strings belong to the creator of the list. */
struct traced_coroutine {
	uint64_t id;
	uint64_t parent; /* id; 0: unknown */
	const char *name;
	const char *state;  /* "suspended"; NULL: unknown */
	const char *reason; /* of a suspension; NULL: unknown */
	bool has_resource, is_adopted;
	bool has_waker;
	uint64_t resource;
	uint64_t waker; /* id of the coroutine that woke it last; 0: none was running */
	struct traced_site created, suspended;
	uint64_t age_ns;   /* since its creation, or since it was adopted */
	uint64_t state_ns; /* since its last transition */
	uint64_t suspensions;
	uint64_t entry; /* address of its entry in the process; 0: unknown */
	uint64_t addr;  /* of the suspended future (Rust), or of code */
	bool is_joined; /* a frame or a task was found */
};

struct traced_list {
	struct traced_coroutine *at;
	size_t nr;
	uint64_t collector; /* pid; 0: it has ended */
	const char *region;
	size_t nr_joined;
	struct u64map by_frame; /* number of a frame to 1 + number in the list */
	struct u64map by_task;  /* number of a task to 1 + the first in the list */
	size_t *next_of_task;   /* per coroutine: 1 + the next one of the same task; 0: none */
};

struct coro_type;

/* Where frames of @type have the address of their entry (PromiseMixin); 0: nowhere. */
uint32_t traced_member_offset(const struct coro_type *type);

/* Find the frame or task of each coroutine.  0 or -ENOMEM. */
int traced_join(struct traced_list *list, struct inspection *in);

/* Frees what traced_join() has made, and the array. */
void traced_list_release(struct traced_list *list);

/*
 * The traced coroutines of the stacks of group @g; in->traced may be NULL.  In JSON also those that
 * the SDK could trace and no collector knows: created before it attached, and not moved since.
 */
void print_traced_group(struct inspection *in, struct printer *p, const struct inspect_group *g);

/* The collector, and the coroutines without a frame or task. */
void print_traced_rest(struct inspection *in, struct printer *p);

#endif
