/* SPDX-License-Identifier: MIT */
/* mem_sim.h - what a simulation came to, printed. */
#ifndef TOOL_MEM_SIM_H
#define TOOL_MEM_SIM_H

#include "base/json_writer.h"
#include "memory/blame.h"
#include "memory/facts.h"
#include "memory/sim/config.h"
#include "memory/sim/replay.h"

#define MEM_SIM_TOP_MAX 1000

struct mem_sim_result {
	const char *path;
	const char *machine; /* where it came from */
	struct sim *sim;
	struct blame *blame; /* NULL: nobody asked whose misses they are */
	const struct replay *replay;
	const struct mem_facts *facts;
	unsigned top;    /* lines of each table */
	bool exact_text; /* CSV: what looks like a formula stays as it is */
};

void mem_sim_text(const struct mem_sim_result *r);
void mem_sim_json(const struct mem_sim_result *r);
void mem_sim_csv(const struct mem_sim_result *r);

/* Whose misses they are; nothing if nobody asked. */
void mem_sim_blame_text(const struct mem_sim_result *r);
/* A table of its own. */
void mem_sim_blame_csv(const struct mem_sim_result *r);
void mem_sim_blame_json(struct json_writer *w, const struct mem_sim_result *r);

/* The machine as --config reads it. */
void mem_sim_machine(struct json_writer *w, const struct sim_config *c);

#endif
