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
	struct sim_config config; /* what was asked for by --cache, until the settling */
	const char *file;
	bool host;
	unsigned cores;
	char words[128]; /* where it comes from */
};

#define MEM_MACHINE_OPT_CACHE                                                              \
	{                                                                                  \
		'l', "cache", "SPEC", "a level: [NAME=]SIZE,WAYS[,LINE][,WORD...]; repeat" \
	}
#define MEM_MACHINE_OPT_CONFIG                                               \
	{                                                                    \
		'c', "config", "FILE", "the machine as JSON, as for mem sim" \
	}
#define MEM_MACHINE_OPT_HOST                                            \
	{                                                               \
		0, "host", NULL, "this computer's caches (the default)" \
	}
#define MEM_MACHINE_OPT_CORES                                                          \
	{                                                                              \
		0, "cores", "N", "threads take turns on N cores (one for each thread)" \
	}

/*
 * Take an option of a command, if it is one of the above (or false).  *@good: it went well, or
 * what is wrong was said.
 */
bool mem_machine_option(struct mem_machine *m, const struct command *cmd, int o, const char *value,
			bool *good);

/* After all options: m->config is complete. */
bool mem_machine_settle(struct mem_machine *m, const struct command *cmd);

#endif
