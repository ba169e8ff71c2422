/* SPDX-License-Identifier: MIT */
/* why_sample.h - `corotracer why --sample`: look many times, and print where tasks spend time. */
#ifndef TOOL_WHY_SAMPLE_H
#define TOOL_WHY_SAMPLE_H

#include "inspect/profile_files.h"

enum why_format {
	WHY_FORMAT_NONE, /* a table, or JSON */
	WHY_FORMAT_FOLDED,
	WHY_FORMAT_PPROF,
	WHY_FORMAT_SPEEDSCOPE,
};

struct why_sample_options {
	uint64_t period_ns;   /* 0: do not sample */
	uint64_t duration_ns; /* 0: until a signal or the end of the process */
	enum why_format format;
	const char *output; /* file for the format; NULL: standard output */
	/* Those of a single look. */
	const char *html;
	bool json, all, stacks;
	const char *types; /* descriptions of the user */
};

/*
 * Sample the process and print the profile.  Returns the exit status; @has_exited: the process has
 * ended meanwhile.
 */
int why_sample(pid_t pid, const struct why_sample_options *o, bool *has_exited);

/* Fail before the looks: exit status, after a message unless it is EXIT_OK. */
int why_sample_check(const struct why_sample_options *o);

/* Print, or write the file.  0 or a negative errno. */
int why_sample_output(const struct profile_run *run, const struct why_sample_options *o,
		      struct err *err);

/* For OPT_CALL(): "10/s" or "10", as a period in nanoseconds. */
struct opt_use;
bool why_sample_parse_rate(void *field, const struct opt_use *use);

#endif
