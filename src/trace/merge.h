/* SPDX-License-Identifier: MIT */
/*
 * merge.h - read several traces as one, on one clock.
 *
 *	struct merge *m = merge_open(paths, nr, force, &err);
 *	struct trace_reader *r = m ? merge_reader_open(m, &err) : NULL;
 *
 *	... trace_next(r, ...), trace_reader_close(r) ...
 *	merge_close(m);
 *
 * Each input is read twice.  The first reading checks that the inputs can be merged and finds the
 * numbers that they use; the second one returns the items of all inputs in order of time.  Memory
 * does not grow with the events.
 *
 * Numbers
 *   Collectors number coroutines and sites from 1: the numbers of every input but the first are
 *   raised by a multiple of a power of ten.  Numbers that are too large for that (random ones)
 *   are replaced, of each input by a range of its own.  Process and thread numbers are raised only
 *if an earlier input has one of them, too.
 *
 * Parts
 *   The merged trace has a part (item.h) for each input, so that programs can be judged one by
 *   one.  An input that is a merged trace keeps its parts, unless its numbers are replaced.
 */
#ifndef TRACE_MERGE_H
#define TRACE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/u64map.h"
#include "trace/item.h"
#include "trace/trace_reader.h"

/* What is added to the numbers of an input. */
struct merge_shift {
	uint64_t id;   /* of coroutines */
	uint64_t tid;  /* of threads */
	uint32_t pid;  /* of processes */
	uint32_t site; /* of sites */
	uint64_t time; /* ns: from its clock to that of the merged trace */
};

struct merge_input {
	const char *path;
	/* Of the first reading: */
	bool has_run, has_totals;
	struct sidecar_run run; /* the strings are copies */
	struct sidecar_totals totals;
	uint64_t transitions, others; /* events in the file */
	uint64_t max_id, max_tid;
	uint64_t nr_ids; /* numbers of coroutines in all items: at least as many as coroutines */
	uint32_t max_pid, max_site;
	struct u64map pids, tids; /* that occur, to 1 */
	uint64_t nr_parts;        /* of an input that was merged; otherwise 0 */
	uint64_t parts_below;     /* parts of the inputs before it */
	uint64_t nr_processes;
	uint32_t pid; /* of the last process */
	enum trace_verdict verdict;
	bool is_clean;                      /* no part of its files is damaged */
	char shortage[TRACE_SHORTAGE_SIZE]; /* what is missing; empty: nothing known to be */
	struct merge_shift shift;
};

struct merge {
	struct merge_input *inputs;
	size_t nr;
	bool other_clock; /* of an input: its times were converted by the wall clock, or kept */
	/*
	 * The numbers do not fit in 64 bits when they are raised: coroutines are numbered again,
	 * from shift.id on, as they are found.
	 */
	bool is_numbered;
	struct u64map *numbers; /* of each input: number of a coroutine to the new one */
};

/*
 * Reads the inputs for the first time.  @force: also merge traces of different clocks.  @paths must
 * stay valid.  Returns NULL and sets @err if they cannot be read or not be merged.
 */
struct merge *merge_open(const char *const *paths, size_t nr, bool force, struct err *err);

/* False: something is missing or damaged in the input, or it is not finished. */
bool merge_input_is_whole(const struct merge_input *input);

void merge_close(struct merge *m);

/*
 * The merged trace, closed with trace_reader_close() before merge_close().  Returns NULL and sets
 * @err on failure.
 */
struct trace_reader *merge_reader_open(struct merge *m, struct err *err);

/* ---- shared by the files of merge -------------------------------------------- */

/* Notes the numbers of @item in @input; 0 or -ENOMEM. */
int merge_note_numbers(struct merge_input *input, const struct trace_item *item);

/* Replaces the numbers and times of @item, an item of input @nr; 0 or -ENOMEM. */
int merge_renumber(struct merge *m, size_t nr, struct trace_item *item);

#endif
