/* SPDX-License-Identifier: MIT */
/* cmd_help.c - corotracer help: list the commands by instrument, or describe one of them. */
#include <stdio.h>
#include <string.h>

#include "cmd.h"

/* Commands of which the list has only the names: they need another program, or are well known. */
static const char machines[] = "many machines";
static const char about[] = "about the tool";

static bool instrument_is_short(const char *instrument)
{
	return !strcmp(instrument, machines) || !strcmp(instrument, about);
}

static bool first_of_instrument(size_t at)
{
	size_t i;

	for (i = 0; i < at; i++) {
		if (!strcmp(commands[i]->instrument, commands[at]->instrument))
			return false;
	}
	return true;
}

static void print_instrument(const char *instrument)
{
	size_t i;

	printf("%s\n", instrument);
	for (i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->instrument, instrument))
			printf("  %-9s %s\n", commands[i]->name, commands[i]->summary);
	}
}

static void print_names(const char *instrument)
{
	bool first = true;
	size_t i;

	fputs(instrument, stdout);
	for (i = 0; commands[i]; i++) {
		if (strcmp(commands[i]->instrument, instrument) != 0)
			continue;
		printf("%s %s", first ? ":" : ",", commands[i]->name);
		first = false;
	}
}

static void print_all(void)
{
	size_t i;

	puts("usage: corotracer COMMAND ...; to begin: run -o t.jsonl -- PROGRAM, report t.jsonl, "
	     "help COMMAND");
	for (i = 0; commands[i]; i++) {
		if (first_of_instrument(i) && !instrument_is_short(commands[i]->instrument))
			print_instrument(commands[i]->instrument);
	}
	print_names(machines);
	fputs("; ", stdout);
	print_names(about);
	putchar('\n');
}

static int run_help(int argc, char **argv)
{
	const struct command *cmd;

	if (argc < 2) {
		print_all();
		return EXIT_OK;
	}
	cmd = command_find(argv[1]);
	if (!cmd) {
		message_print("help", "unknown command '%s'", argv[1]);
		fputs("hint: 'corotracer help' lists them\n", stderr);
		return EXIT_USAGE;
	}
	if (argc > 2 && cmd->subs) {
		const struct command *sub = command_find_sub(cmd, argv[2]);

		if (!sub) {
			message_print("help", "unknown command '%s %s'", argv[1], argv[2]);
			fprintf(stderr, "hint: 'corotracer help %s' lists them\n", argv[1]);
			return EXIT_USAGE;
		}
		cmd = sub;
	}
	command_help_print(cmd);
	return EXIT_OK;
}

const struct command command_help = {
	.name = "help",
	.instrument = about,
	.args = "[COMMAND [COMMAND]]",
	.summary = "explain the tool, or one command",
	.run = run_help,
};
