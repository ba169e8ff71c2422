/* SPDX-License-Identifier: MIT */
/* cmd_mem.c - corotracer mem: dispatch to its subcommands, and functions they share. */
#include <stdio.h>
#include <string.h>

#include "base/nearest_word.h"
#include "base/text.h"
#include "mem.h"
#include "memory/format/record_filter.h"

static const struct command *const mem_commands[] = {
	&command_mem_cc,      &command_mem_cxx,    &command_mem_run,
	&command_mem_check,   &command_mem_dump,   &command_mem_stat,
	&command_mem_sim,     &command_mem_layout, &command_mem_calls,
	&command_mem_diff,    &command_mem_html,   &command_mem_convert,
	&command_mem_recover, &command_mem_ctl,    NULL,
};

struct mem_reader *mem_open(const struct command *cmd, const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);

	if (!r)
		message_error(cmd->name, &err);
	return r;
}

bool mem_say_faults(const struct command *cmd, const struct mem_faults *f)
{
	char text[TEXT_SIZE];
	uint64_t i;

	for (i = 0; i < f->nr && i < 4; i++)
		message_print(cmd->name, "offset %llu: %s", (unsigned long long)f->first[i].offset,
			      f->first[i].text);
	if (f->nr > 4)
		message_print(cmd->name, "and %s more faults", text_count(text, f->nr - 4));
	if (f->nr)
		fputs("hint: everything readable was read; 'corotracer mem check' lists the "
		      "faults\n",
		      stderr);
	return f->nr == 0;
}

int mem_finish(const struct command *cmd, struct mem_reader *r)
{
	struct err err = { 0 };
	int status = mem_say_faults(cmd, mem_reader_faults(r)) ? EXIT_OK : EXIT_FAILED;

	if (mem_reader_error(r, &err) < 0) {
		message_error(cmd->name, &err);
		status = EXIT_FAILED;
	}
	mem_reader_close(r);
	return status;
}

bool mem_parse_range(void *select, const struct opt_use *use)
{
	return mem_select_range(select, use->value) ||
	       opt_invalid(use, "FROM-TO, FROM+SIZE or one address");
}

static int run_mem(int argc, char **argv)
{
	const struct command *sub;
	struct nearest_word near;
	size_t i;

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		command_help_print(&command_mem);
		return argc < 2 ? EXIT_USAGE : EXIT_OK;
	}
	sub = command_find_sub(&command_mem, argv[1]);
	if (sub)
		return command_start(sub, argc - 1, argv + 1);
	message_print("mem", "unknown command '%s'", argv[1]);
	nearest_word_begin(&near, argv[1], strlen(argv[1]));
	for (i = 0; command_mem.subs[i]; i++)
		nearest_word_offer(&near, command_word(command_mem.subs[i]));
	if (near.best)
		fprintf(stderr, "hint: did you mean 'mem %s'?  See 'corotracer help mem'\n",
			near.best);
	else
		fputs("hint: see 'corotracer help mem'\n", stderr);
	return EXIT_USAGE;
}

const struct command command_mem = {
	.name = "mem",
	.instrument = "memory",
	.args = "COMMAND [OPTIONS] ...",
	.starts_program = true,
	.summary = "trace and analyze the memory accesses of a program",
	.details = "'corotracer help mem COMMAND' has the options.  To begin:\n"
		   "  corotracer mem cc -O2 -o app app.c\n"
		   "  corotracer mem run -o app.trace -- ./app\n"
		   "  corotracer mem stat app.trace\n",
	.subs = mem_commands,
	.run = run_mem,
};
