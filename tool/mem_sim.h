/* SPDX-License-Identifier: MIT */
/* mem_sim.h - print the result of a simulation. */
#ifndef TOOL_MEM_SIM_H
#define TOOL_MEM_SIM_H

#include "base/printer.h"
#include "memory/blame/blame.h"
#include "memory/calls/call_profile.h"
#include "memory/format/mem_facts.h"
#include "memory/sim/config.h"
#include "memory/sim/replay.h"

#define MEM_SIM_TOP_MAX 1000

struct mem_sim_result {
	const char *path;
	const char *machine; /* source of the machine's configuration */
	struct sim *sim;
	struct blame *blame; /* NULL: misses are not attributed */
	const struct replay *replay;
	const struct mem_facts *facts;
	unsigned top;                     /* lines per table */
	bool exact_text;                  /* CSV: do not guard texts that look like formulas */
	const char *page_title;           /* JSON: with what only the page shows; NULL: without */
	const struct call_profile *calls; /* for the page; NULL: none */
	bool has_sources;                 /* the page shows source code */
};

/* 0 or a negative errno. */
int mem_sim_print(const struct mem_sim_result *r, FILE *out, bool json);

/* Print on stdout. */
void mem_sim_csv(const struct mem_sim_result *r);
/* A separate table, of misses by type, field and source line. */
void mem_sim_blame_csv(const struct mem_sim_result *r);

/* Write the machine in the format of --config. */
void mem_sim_json_machine(struct json_writer *w, const struct sim_config *c);

/* ---- parts of mem_sim_print() -------------------------------------------------- */

/* Text only. */
void mem_sim_print_machine(struct printer *p, const struct sim_config *c, const char *source);

/* As print_known(), "others" for threads without an id. */
void mem_sim_print_thread_id(struct printer *p, const char *key, const char *fmt,
			     const struct mem_facts *facts, uint32_t number);

/* Misses by type, field and source line; nothing if r->blame is NULL. */
void mem_sim_print_blame(struct printer *p, const struct mem_sim_result *r);

/* The counts of one row of mem_sim_print_blame(). */
void mem_sim_print_counts(struct printer *p, const struct mem_sim_result *r,
			  const struct blame_counts *n);

/* The head of a table of such rows, in text only. */
void mem_sim_print_head(struct printer *p, const struct mem_sim_result *r, const char *what);

/* Misses by allocation site of the heap (nothing in text if the trace has none), by function. */
void mem_sim_print_allocations(struct printer *p, const struct mem_sim_result *r);
void mem_sim_print_functions(struct printer *p, const struct mem_sim_result *r);

/* Misses by kind of coroutine and await site; nothing in text if the trace has no coroutines. */
void mem_sim_print_coroutines(struct printer *p, const struct mem_sim_result *r);

void mem_sim_print_sharing(struct printer *p, const struct mem_sim_result *r);

/* ---- parts for the page (mem_sim_page.c), in JSON only ------------------------------ */

/* Title of the page, command of the program, cost of all misses. */
void mem_sim_page_head(struct printer *p, const struct mem_sim_result *r);

/* Functions, flame graph and source code, if r->calls is set. */
void mem_sim_page_code(struct printer *p, const struct mem_sim_result *r);

/* The layout of a type; null: none. */
void mem_sim_page_layout(struct printer *p, const struct mem_sim_result *r,
			 const struct blame_owner *o);

/* Type and position of a field. */
void mem_sim_page_field(struct printer *p, const struct mem_sim_result *r,
			const struct blame_owner *o, uint32_t field);

/* What a source line accesses. */
void mem_sim_page_data(struct printer *p, const struct mem_sim_result *r,
		       const struct blame_site *s);

/* True if @field is shown even without accesses: it is a leaf of the type. */
bool mem_sim_page_has_field(const struct mem_sim_result *r, const struct blame_owner *o,
			    uint32_t field);

/* The rows of mem_sim_blame_csv() about allocation sites and functions, and about coroutines. */
void mem_sim_csv_allocations(const struct mem_sim_result *r);
void mem_sim_csv_coroutines(const struct mem_sim_result *r);
/* One row of that table; @more: what follows the counts. */
void mem_sim_csv_row(const struct mem_sim_result *r, const char *by, const char *name,
		     const char *part, const struct blame_counts *n, const char *more);

/* Round a count of blame, which is in units of 1/256. */
uint64_t mem_sim_whole(uint64_t in_256);

#endif
