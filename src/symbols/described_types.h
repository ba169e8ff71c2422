/* SPDX-License-Identifier: MIT */
/*
 * described_types.h - a description of a type (type_rules.h), with the offsets that this program's
 * DWARF has for its members.
 */
#ifndef SYMBOLS_DESCRIBED_TYPES_H
#define SYMBOLS_DESCRIBED_TYPES_H

#include <elfutils/libdw.h>

#include "base/u64map.h"
#include "symbols/member_path.h"
#include "symbols/type_rules.h"

struct described_line {
	const struct rule_line *rule;
	struct member_path path;
	struct member_path next; /* queue; nr is 0: none */
};

/* One type that a rule matches. */
struct described_type {
	const struct type_rule *rule;
	char *name; /* "cppcoro::async_mutex_lock_operation" */
	uint32_t size;
	struct described_line *lines; /* those whose members exist */
	size_t nr_lines;
	const struct described_type *resource; /* of its object; NULL: not described */
};

struct described_types;

/* What an object of a described type says. */
struct described_value {
	const struct described_type *type;
	uint64_t addr;   /* of the object */
	uint64_t object; /* the resource; 0: unknown */
	uint64_t task;   /* the awaited coroutine or task; 0: none */
	int64_t fd;      /* -1: none */
	enum rule_direction direction;
	bool has_deadline;
	int64_t deadline_ns; /* of CLOCK_MONOTONIC */
	bool is_over;        /* a condition of the rule does not hold: it waits or holds no more */
};

/* What a resource says.  Unknown values are 0. */
struct described_resource {
	bool has_state, is_held;
	uint64_t holder; /* a coroutine handle, or the number of a thread */
	bool has_holder; /* the description names it */
	bool has_queue, is_queued;
};

/* @rules must outlive it.  NULL: no memory. */
struct described_types *described_types_new(const struct type_rules *rules);

/* The rule of that role for @type; NULL: none.  The result is valid until the release. */
const struct described_type *described_types_find(struct described_types *types,
						  enum rule_role role, Dwarf_Die *type);

/* As described_types_find(), with the path of the type, and members searched in @members. */
const struct described_type *described_types_at(struct described_types *types, enum rule_role role,
						const char *path, Dwarf_Die *members);

/* Read an object of that type at @addr.  False: its conditions cannot be read. */
bool described_value_read(const struct described_type *type, uint64_t addr, memory_reader read,
			  void *arg, struct described_value *out);

/* The waiters in the queues that were read; all zero: none. */
struct described_queues {
	struct u64map resources; /* address of a resource: its queues were read */
	struct u64map waiters;   /* address of a waiter to the address of its resource */
};

void described_queues_release(struct described_queues *queues);

/*
 * Read the resource that @waiter waits for.  Each queue is read once, and kept in @queues.  0 or
 * -ENOMEM.
 */
int described_resource_read(const struct described_value *waiter, struct described_queues *queues,
			    memory_reader read, void *arg, struct described_resource *out);

/* Accepts NULL. */
void described_types_free(struct described_types *types);

#endif
