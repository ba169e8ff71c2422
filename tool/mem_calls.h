/* SPDX-License-Identifier: MIT */
/* mem_calls.h - simulate a trace for `mem calls` and `export callgrind`. */
#ifndef TOOL_MEM_CALLS_H
#define TOOL_MEM_CALLS_H

#include "mem.h"
#include "mem_machine.h"
#include "memory/calls/call_watch.h"
#include "memory/sim/replay.h"

struct mem_calls {
	struct mem_machine machine;
	const char *trace;
	struct mem_reader *reader;
	struct sim *sim;
	struct replay replay;
	struct call_watch watch;
	const struct call_profile *profile; /* owned by the watch */
};

/* Simulate c->trace on c->machine.  False after an error message.  Then mem_calls_end(). */
bool mem_calls_read(struct mem_calls *c, const struct command *cmd);

/* Prints faults of the trace; EXIT_FAILED if there were any. */
int mem_calls_end(struct mem_calls *c, const struct command *cmd);

/* Write what the profile lacks on stderr. */
void mem_calls_remark(const struct mem_calls *c, const struct command *cmd);

/* True for `export callgrind`, and for `export folded` of a memory trace; argv[0] is the kind. */
bool export_is_of_calls(int argc, char **argv);

/* `export callgrind` and `export folded`; argv[0] is the kind. */
int export_calls(int argc, char **argv);

#endif
