/* SPDX-License-Identifier: MIT */
/*
 * cmd.h - the subcommands of the tool.
 *
 * To add a command: write tool/cmd_<name>.c with a `const struct command
 * command_<name>` at its end, declare it below, add it to commands[] in main.c and
 * the file to tool/CMakeLists.txt, and describe it in man/corotracer.1.  Help and
 * completion are printed from the table; tests/cli/help.sh fails if the manual
 * forgets a command or an option.
 *
 * A command parses its own options (opts.h), so no parser knows two commands.  It
 * returns the exit status: EXIT_OK done, EXIT_FAILED failed or gate hit, EXIT_USAGE
 * not understood.  stdout carries the result, stderr the talk.
 */
#ifndef TOOL_CMD_H
#define TOOL_CMD_H

#include <stdbool.h>

#include "base/err.h"

enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2 };

/* One option of a command; a table of them ends with a zero entry. */
struct opt {
	char letter;      /* 'o', or 0 when there is only the long form */
	const char *name; /* "output" */
	const char *arg;  /* "FILE", "[=FILE]" if it may be left out, or NULL for a flag */
	const char *help; /* one line, lower case, no full stop; NULL: another name, not listed */
};

struct command {
	const char *name;
	const char *instrument;            /* heading in `help` */
	const char *args;                  /* usage line, after the name */
	const char *summary;               /* one line, lower case, no full stop */
	const char *details;               /* a few lines below the options; may be NULL */
	const struct opt *opts;            /* may be NULL */
	const struct command *const *subs; /* commands of its own ("mem check"), or NULL */
	bool reads_debug_info;             /* of files that are not to be trusted: see guard.c */
	bool starts_program; /* the first word that is no option begins the program's */
	int (*run)(int argc, char **argv); /* argv[0] is the command's name */
};

extern const struct command *const commands[]; /* ends with NULL */

/* Run it: its exit status.  One that reads debug information runs in a process of its own. */
int command_start(const struct command *cmd, int argc, char **argv);

extern const struct command command_run;
extern const struct command command_collect;
extern const struct command command_snapshot;
extern const struct command command_recover;
extern const struct command command_top;
extern const struct command command_serve;
extern const struct command command_info;
extern const struct command command_report;
extern const struct command command_html;
extern const struct command command_generate;
extern const struct command command_attach;
extern const struct command command_decode;
extern const struct command command_query;
extern const struct command command_monitor;
extern const struct command command_export;
extern const struct command command_mem;
extern const struct command command_help;
extern const struct command command_version;

const struct command *command_find(const char *name);

/* That of @cmd named @name ("check" finds "mem check"); NULL: there is none. */
const struct command *command_find_sub(const struct command *cmd, const char *name);

/* The last word of its name. */
const char *command_word(const struct command *cmd);

/* The seeds' flag style (-n 256 -cmd "./app" -out trace.jsonl), translated. */
int completion_print(void);

int legacy_main(int argc, char **argv);
bool legacy_wanted(int argc, char **argv);

/*
 * Walk the options of @cmd.  Returns the index in cmd->opts of the next one, with
 * its argument in *@value, or OPT_END (then *@first is the index in argv of the
 * first operand), or OPT_BAD after saying on stderr what is wrong, or OPT_HELP
 * after printing the command's help.  Options end at the first operand or "--".
 */
enum { OPT_END = -1, OPT_BAD = -2, OPT_HELP = -3 };
struct opt_walk {
	int next;  /* set to 0 before the first call */
	int words; /* that are no options, right before next */
};
int opt_next(const struct command *cmd, struct opt_walk *walk, int argc, char **argv,
	     const char **value, int *first);

/* A whole number between @min and @max, or a message and false. */
bool opt_number(const char *command, const char *option, const char *text, unsigned long long min,
		unsigned long long max, unsigned long long *out);

/* The same for a size: 4096, 64K, 1G. */
bool opt_size(const char *command, const char *option, const char *text, unsigned long long min,
	      unsigned long long max, unsigned long long *out);

void command_help_print(const struct command *cmd);

/* "corotracer run: text" and "hint: ..." on stderr. */
void say_error(const char *command, const struct err *err);
void say(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
