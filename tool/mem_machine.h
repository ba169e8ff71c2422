/* SPDX-License-Identifier: MIT */
/*
 * mem_machine.h - the caches that `mem sim`, `mem layout` and `mem html` simulate, from their
 * options.
 */
#ifndef TOOL_MEM_MACHINE_H
#define TOOL_MEM_MACHINE_H

#include "cmd.h"
#include "memory/sim/sim.h"

struct mem_machine {
	struct sim_config config; /* until mem_machine_settle(): only the caches from --cache */
	const char *file;
	bool host;
	unsigned cores;
	char words[128]; /* description of its source */
};

/* Rows of an option table, for options with a field @machine of this type. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields */
#define MEM_MACHINE_CACHE(options, machine)                                                     \
	{                                                                                       \
		'l', "cache", "SPEC", "a level: [NAME=]SIZE,WAYS[,LINE][,WORD...]; repeatable", \
			OPT_CALL(options, machine.config, mem_machine_add_cache)                \
	}
#define MEM_MACHINE_CONFIG(options, machine, help)                           \
	{                                                                    \
		'c', "config", "FILE", help, OPT_TEXT(options, machine.file) \
	}
#define MEM_MACHINE_HOST(options, machine)                            \
	{                                                             \
		0, "host", NULL, "caches of this computer (default)", \
			OPT_FLAG(options, machine.host)               \
	}
#define MEM_MACHINE_CORES(options, machine)                                   \
	{                                                                     \
		0, "cores", "N", "number of cores (default: one per thread)", \
			OPT_NUMBER(options, machine.cores, 1, SIM_CORES_MAX)  \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

/* Parser of --cache: adds a level to a struct sim_config. */
bool mem_machine_add_cache(void *config, const struct opt_use *use);

/* Call after all options: completes m->config.  False after an error message. */
bool mem_machine_settle(struct mem_machine *m, const struct command *cmd);

#endif
