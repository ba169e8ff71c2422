/* SPDX-License-Identifier: MIT */
/*
 * report_memory.h - `report --mem`: which awaits are followed by cache misses.
 *
 * Information beside the findings, from a simulation of the memory trace of the same run: never a
 * finding by itself, and no part of a gate.
 */
#ifndef TOOL_REPORT_MEMORY_H
#define TOOL_REPORT_MEMORY_H

#include <stdbool.h>
#include <stdio.h>

#include "base/json_writer.h"
#include "mem_machine.h"
#include "memory/blame/blame_coroutines.h"
#include "memory/format/mem_reader.h"
#include "trace/trace_filter.h"

#define REPORT_MEMORY_PIDS 64

struct report_memory {
	bool wanted;
	const char *file; /* NULL: the one that the trace names, or that of run_memory_name() */
	struct trace_filter filter; /* what is judged */
	/* Processes of the trace of coroutines; more than the array has: not compared. */
	uint64_t pids[REPORT_MEMORY_PIDS];
	size_t nr_pids;
	struct trace_memory fact; /* the first memory trace that the trace names; file NULL: none */
	char *fact_texts[2];      /* its file and its build-id */
	uint64_t nr_facts;
	/* After report_memory_read(). */
	char path[4096];
	struct u64map coroutines; /* thread to the coroutine that it runs, with filter.coroutine */
	struct mem_machine machine;
	struct sim *sim;
	struct blame *blame;
	uint64_t simulated, lost;
	struct report_memory_row *rows; /* the most expensive first */
	size_t nr_rows;
};

struct report_memory_row {
	const char *kind;
	const struct blame_await *await;
};

/* Notes the processes and the memory traces that a trace names.  0 or -ENOMEM. */
int report_memory_add(struct report_memory *m, const struct trace_item *item);

/* Simulate the memory trace of @trace.  0 or a negative errno. */
int report_memory_read(struct report_memory *m, const char *trace, struct err *err);

/* Text or Markdown, after the report. */
void report_memory_print(const struct report_memory *m, FILE *out, bool markdown);

/* "memory": { ... } */
void report_memory_json(const struct report_memory *m, struct json_writer *j);

void report_memory_release(struct report_memory *m);

#endif
