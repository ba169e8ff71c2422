/* SPDX-License-Identifier: MIT */
/*
 * rust_async_task.h - tasks of the crate async-task, which smol and async-std run.
 *
 * A task is a header, the schedule function and the future.  The header has the address of a table
 * of functions; the table has `run`, whose parameters name the type of the future, and the address
 * of a struct with the offset of the future.
 */
#ifndef SYMBOLS_RUST_ASYNC_TASK_H
#define SYMBOLS_RUST_ASYNC_TASK_H

#include <elfutils/libdw.h>

#include "symbols/rust_futures.h"
#include "symbols/rust_layouts.h"

struct rust_async_task {
	struct rust_task_type type;
	Dwarf_Die future;
	const char *args;       /* "<F, T, S, M>" */
	uint32_t layout_offset; /* of the address of the offsets, in the table */
	uint32_t future_at;     /* of the offset of the future, there */
	uint32_t offset_size;   /* of that number */
};

/* The task that @function, a child of a unit, runs.  False: it is not such a function. */
bool rust_async_task_find(struct rust_layouts *l, Dwarf_Die *function, uint64_t bias,
			  struct rust_async_task *out);

/* The address of the future in the task at @addr.  False: it cannot be read. */
bool rust_async_task_future(const struct rust_async_task *task, uint64_t addr, rust_reader read,
			    void *arg, uint64_t *future);

/* The state of such a task in the bits that Tokio uses. */
uint64_t rust_async_task_state(uint64_t word);

#endif
