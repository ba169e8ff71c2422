/* SPDX-License-Identifier: MIT */
/* mem_sim.h - print the result of a simulation. */
#ifndef TOOL_MEM_SIM_H
#define TOOL_MEM_SIM_H

#include "base/json_writer.h"
#include "memory/blame/blame.h"
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
	unsigned top;    /* lines per table */
	bool exact_text; /* CSV: do not guard texts that look like formulas */
};

void mem_sim_text(const struct mem_sim_result *r);
void mem_sim_json(const struct mem_sim_result *r);
void mem_sim_csv(const struct mem_sim_result *r);

/* Print misses by type, field and source line; nothing if r->blame is NULL. */
void mem_sim_blame_text(const struct mem_sim_result *r);
/* A separate table. */
void mem_sim_blame_csv(const struct mem_sim_result *r);
void mem_sim_blame_json(struct json_writer *w, const struct mem_sim_result *r);

/* Write the machine in the format of --config. */
void mem_sim_machine(struct json_writer *w, const struct sim_config *c);

#endif
