/* SPDX-License-Identifier: MIT */
/*
 * mem.h - the commands of `corotracer mem`.
 *
 * To add one: tool/cmd_mem_<name>.c with a `const struct command command_mem_<name>` whose
 * name is "mem <name>", a line here and one in cmd_mem.c.
 */
#ifndef TOOL_MEM_H
#define TOOL_MEM_H

#include "base/number.h"
#include "cmd.h"
#include "memory/format/mem_reader.h"

extern const struct command command_mem_run;
extern const struct command command_mem_ctl;
extern const struct command command_mem_cc;
extern const struct command command_mem_cxx;
extern const struct command command_mem_check;
extern const struct command command_mem_dump;
extern const struct command command_mem_stat;
extern const struct command command_mem_sim;
extern const struct command command_mem_layout;
extern const struct command command_mem_calls;
extern const struct command command_mem_diff;
extern const struct command command_mem_html;
extern const struct command command_mem_convert;
extern const struct command command_mem_recover;

/* Open a trace, or print an error and return NULL. */
struct mem_reader *mem_open(const struct command *cmd, const char *path);

/* Print the faults of a trace on stderr; true: there are none. */
bool mem_say_faults(const struct command *cmd, const struct mem_faults *f);

/*
 * End of a command that read all of @r: prints faults and errors on stderr and closes @r.  Returns
 * EXIT_FAILED if there were any.
 */
int mem_finish(const struct command *cmd, struct mem_reader *r);

struct collect_result;

/* Print the summary of a run on stderr.  Returns the exit status of the command. */
int mem_run_conclude(const char *command, const struct collect_result *r, bool json, bool quiet);

/* Form of the output of commands with --csv and --json. */
enum mem_form { MEM_TEXT, MEM_CSV, MEM_JSON };

/* Parser of --range: sets the range of a struct mem_select. */
bool mem_parse_range(void *select, const struct opt_use *use);

#endif
