/* SPDX-License-Identifier: MIT */
/*
 * rust_futures.h - Tokio's tasks and the futures in them, from the DWARF of a program.
 *
 * A task is a `Cell<T, S>` in memory: a header with the address of a table of functions, one of
 * which is tokio::runtime::task::raw::poll<T, S>, and the future T.  The future of an async
 * function is a struct with a state and a variant per .await; the variant has the line of the
 * .await and the awaited future, `__awaitee`.  All offsets come from DWARF: they differ between
 * versions.
 */
#ifndef SYMBOLS_RUST_FUTURES_H
#define SYMBOLS_RUST_FUTURES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbols/described_types.h"

struct Dwfl_Module;
struct rust_futures;

/* One async function or block.  Strings are valid until rust_futures_free(). */
struct rust_place {
	const char *function; /* plain name */
	const char *file;     /* NULL: unknown */
	uint32_t line;
	bool is_exact;      /* the line of the .await */
	bool is_initial;    /* not polled yet */
	bool has_more;      /* not all of its branches were read */
	const char *awaits; /* type of the awaited future, for the innermost place; or NULL */
	const struct rust_branch *branches; /* futures that it awaits together: select!, join! */
	size_t nr_branches;
};

/* One of several futures that a place awaits; equal ones are one branch with a count. */
struct rust_branch {
	const struct rust_place *const *places; /* outermost first */
	size_t nr;
	const char *kind, *type; /* of the innermost future, as in rust_wait; or NULL */
	uint64_t count;
};

/* What the innermost future waits for. */
struct rust_wait {
	const char *kind; /* "timer", "lock", ...: a constant; NULL: unknown */
	const char *type; /* of the future that says so */
	bool has_deadline;
	int64_t seconds; /* of CLOCK_MONOTONIC */
	uint32_t nanoseconds;
	uint64_t object;        /* address of the task that it joins; 0: none */
	int fd;                 /* -1: none */
	uint64_t io;            /* address of Tokio's ScheduledIo; 0: none */
	bool is_registered;     /* the task's waker is in that ScheduledIo */
	bool is_guess;          /* the future is a member of one that may not await it */
	bool is_read, is_write; /* what the descriptor must be ready for; both or none: unknown */
	bool has_limit;         /* a wrapper ends the wait after a time */
	struct described_value
		described; /* the outermost future with an object; type is NULL: none */
};

#define RUST_DEPTH_MAX 64

struct rust_stack {
	/* outermost first; equal places, and equal stacks: equal pointers */
	const struct rust_place *const *places;
	size_t nr;
	struct rust_wait wait;
	struct rust_wait *branch_waits; /* of the futures in branches, from malloc(); or NULL */
	size_t nr_branch_waits;
	struct described_value *guards; /* of locks that the task holds, from malloc(); or NULL */
	size_t nr_guards;
	bool is_finished; /* the future has returned */
};

/* How a task with a certain future is laid out. */
struct rust_task_type {
	uint64_t poll; /* address of its function in the process */
	uint32_t size; /* of the cell; 0: unknown */
	uint32_t alignment;
	uint32_t state_offset, vtable_offset; /* in the cell */
	uint32_t poll_offset;                 /* in the table of functions */
	uint32_t owner_offset; /* of the number of the list that holds the task; 0: unknown */
	bool is_untyped;       /* DWARF has no type: only the offset of the table is assumed */
	bool is_async_task;    /* of the crate async-task; otherwise of Tokio */
};

/* Copies memory of the process; false: not all of it can be read. */
typedef bool (*rust_reader)(void *arg, uint64_t addr, void *buf, size_t size);

/* NULL: no memory. */
struct rust_futures *rust_futures_new(void);

/* Descriptions of types, which must outlive @rf; without them no kinds are known.  0 or -ENOMEM. */
int rust_futures_describe(struct rust_futures *rf, const struct type_rules *rules);

/* Find the tasks of a module, which must outlive @rf.  0 or -ENOMEM. */
int rust_futures_add(struct rust_futures *rf, struct Dwfl_Module *module);

size_t rust_futures_count(const struct rust_futures *rf);
const struct rust_task_type *rust_futures_type(const struct rust_futures *rf, size_t number);

/* Read the state of the task at @addr, in the bits that Tokio uses. */
bool rust_futures_state(const struct rust_task_type *type, uint64_t addr, rust_reader read,
			void *arg, uint64_t *state);

/* The tasks without a type have the address of their table at that offset. */
void rust_futures_assume(struct rust_futures *rf, uint32_t vtable_offset);

/* The stack of the task of type @number whose cell is at @cell.  False: it makes no sense. */
bool rust_futures_read(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
		       void *arg, struct rust_stack *out);

/* The async function of the tasks of type @number, without a line.  NULL: no memory. */
const struct rust_place *rust_futures_root(struct rust_futures *rf, size_t number);

/* Frees what is in @stack. */
void rust_stack_release(struct rust_stack *stack);

/*
 * Call @visit for every async function or block of the task, outermost first, as they are in the
 * stack that rust_futures_read() gives: @variant is the struct at @addr that holds its variables.
 */
typedef void (*rust_level_visitor)(void *arg, Dwarf_Die *variant, uint64_t addr);
bool rust_futures_visit(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
			void *arg, rust_level_visitor visit, void *visit_arg);

/* A sentence on what could not be read; NULL: no problem. */
const char *rust_futures_problem(const struct rust_futures *rf);

/* Accepts NULL. */
void rust_futures_free(struct rust_futures *rf);

#endif
