/* SPDX-License-Identifier: MIT */
/* mem_calls.c - simulate a trace for `mem calls` and `export callgrind`. */
#include "mem_calls.h"

#include <stdio.h>

#include "base/text.h"

static bool mem_calls_replay(struct mem_calls *c, struct err *err)
{
	/* The classes of misses are not shown. */
	c->machine.config.no_classes = true;
	c->machine.config.no_sharing = true;
	c->sim = sim_new(&c->machine.config, err);
	if (!c->sim ||
	    call_watch_begin(&c->watch, &c->machine.config, mem_reader_facts(c->reader), err) < 0)
		return false;
	c->replay.each = call_watch_each;
	c->replay.context = &c->watch;
	c->replay.sums = true;
	c->replay.alike = call_watch_alike;
	if (replay_run(&c->replay, c->sim, c->reader, err) < 0)
		return false;
	c->profile = call_watch_profile(&c->watch, err);
	return c->profile != NULL;
}

bool mem_calls_read(struct mem_calls *c, const struct command *cmd)
{
	struct err err = { 0 };

	c->reader = mem_open(cmd, c->trace);
	if (!c->reader)
		return false;
	if (mem_calls_replay(c, &err))
		return true;
	message_error(cmd->name, &err);
	return false;
}

void mem_calls_remark(const struct mem_calls *c, const struct command *cmd)
{
	const char *problem = call_watch_problem(&c->watch);
	char text[TEXT_SIZE];

	if (c->replay.lost || c->replay.lost_unknown)
		message_print(cmd->name, "%s%s accesses are missing in the trace",
			      c->replay.lost_unknown ? "more than " : "",
			      text_count(text, c->replay.lost));
	if (c->profile->merged_calls)
		message_print(cmd->name,
			      "%s calls are too deep or too varied: their accesses are counted "
			      "with their caller",
			      text_count(text, c->profile->merged_calls));
	if (problem)
		message_print(cmd->name, "%s", problem);
	if (c->profile->has_stacks)
		return;
	message_print(cmd->name, "the trace has no call stacks: only exclusive costs are known");
	fputs("hint: record it with 'corotracer mem run --stacks'\n", stderr);
}

int mem_calls_end(struct mem_calls *c, const struct command *cmd)
{
	int status = c->reader ? mem_finish(cmd, c->reader) : EXIT_FAILED;

	call_watch_end(&c->watch);
	replay_release(&c->replay);
	sim_free(c->sim);
	return status;
}
