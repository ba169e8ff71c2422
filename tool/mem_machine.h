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
 * Handle an option if it is one of the above, else return false.  *@good is false after an error
 * message.
 */
bool mem_machine_option(struct mem_machine *m, const struct command *cmd, int o, const char *value,
			bool *good);

/* Call after all options: completes m->config.  False after an error message. */
bool mem_machine_settle(struct mem_machine *m, const struct command *cmd);

#endif
