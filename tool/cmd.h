/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the subcommands of the tool.
 *
 * To add a command: write tool/cmd_<name>.c with a `const struct command command_<name>` at its
 * end, declare it below, add it to commands[] in main.c and the file to tool/CMakeLists.txt, and
 * describe it in man/corotracer.1.  Help and completion are printed from the table;
 * tests/cli/help.sh fails if the manual lacks a command or an option.
 *
 * Each command has a table of its options (opts.h).  It returns the exit status: EXIT_OK done,
 * EXIT_FAILED failed or gate hit, EXIT_USAGE invalid command line.  The result goes to stdout,
 * messages go to stderr.
 */
#ifndef TOOL_CMD_H
#define TOOL_CMD_H

#include <stdbool.h>

#include "message.h"
#include "opts.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

struct command {
	const char *name;
	const char *instrument;            /* heading in `help` */
	const char *args;                  /* usage line, after the command's name */
	const char *summary;               /* one line, lower case, no full stop */
	const char *details;               /* a few lines after the options; may be NULL */
	const struct opt *opts;            /* may be NULL */
	const struct command *const *subs; /* subcommands ("mem check"), or NULL */
	bool reads_debug_info;             /* of untrusted files: see guard.c */
	bool starts_program; /* the first operand is the program: its options are not parsed */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command *const commands[]; /* NULL-terminated */

/*
 * Run @cmd and return its exit status.  A command that reads debug information runs in its own
 * process.
 */
int command_start(const struct command *cmd, int argc, char **argv);

extern const struct command command_run;
extern const struct command command_collect;
extern const struct command command_snapshot;
extern const struct command command_recover;
extern const struct command command_top;
extern const struct command command_serve;
extern const struct command command_ship;
extern const struct command command_info;
extern const struct command command_report;
extern const struct command command_diff;
extern const struct command command_html;
extern const struct command command_merge;
extern const struct command command_load;
extern const struct command command_generate;
extern const struct command command_attach;
extern const struct command command_decode;
extern const struct command command_query;
extern const struct command command_monitor;
extern const struct command command_export;
extern const struct command command_mem;
extern const struct command command_help;
extern const struct command command_version;
extern const struct command command_why;
extern const struct command command_fleet;

const struct command *command_find(const char *name);

/* The subcommand @name of @cmd ("check" finds "mem check"); NULL: none. */
const struct command *command_find_sub(const struct command *cmd, const char *name);

/* The last word of the command's name. */
const char *command_word(const struct command *cmd);

/* Print the completion script of bash, zsh or fish; NULL: bash. */
int completion_print_script(const char *shell);

/* Print what can follow @words, the last of which is being typed: see completion.c. */
int completion_complete(int nr, char **words);

/* The flag style of the existing coroTracer (-n 256 -cmd "./app" -out trace.jsonl), translated. */
int legacy_main(int argc, char **argv);
bool legacy_wanted(int argc, char **argv);

void command_help_print(const struct command *cmd);

#endif
