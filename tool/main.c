/* SPDX-License-Identifier: MIT */
/* main.c - the command table and the dispatch. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "base/nearest_word.h"
#include "cmd.h"
#include "json_file.h"

const struct command *const commands[] = {
	&command_run,      &command_collect, &command_snapshot, &command_recover, &command_top,
	&command_why,      &command_info,    &command_report,   &command_diff,    &command_html,
	&command_merge,    &command_serve,   &command_ship,     &command_load,    &command_export,
	&command_generate, &command_attach,  &command_decode,   &command_query,   &command_monitor,
	&command_fleet,    &command_mem,     &command_help,     &command_version, NULL,
};

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

const struct command *command_find_sub(const struct command *cmd, const char *name)
{
	size_t i;

	for (i = 0; cmd->subs && cmd->subs[i]; i++) {
		if (!strcmp(command_word(cmd->subs[i]), name))
			return cmd->subs[i];
	}
	return NULL;
}

/* Common spellings that are accepted for commands. */
static const char *usual_name(const char *word)
{
	if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "-help"))
		return "help";
	if (!strcmp(word, "--version") || !strcmp(word, "-V"))
		return "version";
	return word;
}

static bool stdout_was_closed; /* before the tool started: no output is wanted */

/*
 * Open descriptors 0 to 2 if they are closed: otherwise the region or the trace would get one of
 * them, and a message would be written into that file.
 */
static void fill_standard_files(void)
{
	int fd;

	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		stdout_was_closed |= fd == STDOUT_FILENO;
	if (fd >= 0)
		close(fd);
}

/* What memory did not suffice for is missing from the output: that is no success. */
static int finish_memory(int status)
{
	if (status != EXIT_OK || !memory_shortage_noted())
		return status;
	message_print(NULL, MEMORY_SHORTAGE_TEXT);
	return EXIT_FAILED;
}

/* Text that did not arrive turns success into failure, unless its reader did not want more. */
static int finish_output(int status)
{
	const char *reason;

	status = finish_memory(status);
	if (stdout_was_closed)
		return status;
	errno = 0;
	if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE || status != EXIT_OK)
		return status;
	/* An earlier write may have got the reason. */
	reason = errno ? strerror(errno) : "an earlier write failed";
	message_print(NULL, "cannot write to standard output: %s", reason);
	return EXIT_FAILED;
}

static void refuse_command(const char *word)
{
	struct nearest_word near;
	size_t i;

	message_print(NULL, "unknown command '%s'", word);
	nearest_word_begin(&near, word, strlen(word));
	for (i = 0; commands[i]; i++)
		nearest_word_offer(&near, commands[i]->name);
	if (strchr(word, '/') || access(word, F_OK) == 0)
		fprintf(stderr, "hint: to trace a program: corotracer run -- %s\n", word);
	else if (near.best)
		fprintf(stderr, "hint: did you mean '%s'?  See 'corotracer help'\n", near.best);
	else
		fputs("hint: see 'corotracer help'\n", stderr);
}

int main(int argc, char **argv)
{
	const struct command *cmd;

	fill_standard_files();

	if (argc < 2) {
		command_help.run(1, argv);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--completion"))
		return finish_output(completion_print_script(argv[2]));
	if (!strcmp(argv[1], "--complete"))
		return finish_output(completion_complete(argc - 2, argv + 2));
	cmd = command_find(usual_name(argv[1]));
	if (cmd)
		return finish_output(json_file_finish(command_start(cmd, argc - 1, argv + 1)));
	if (legacy_wanted(argc, argv))
		return finish_output(legacy_main(argc, argv));
	refuse_command(argv[1]);
	return EXIT_USAGE;
}
