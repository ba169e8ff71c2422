/* SPDX-License-Identifier: MIT */
/*
 * profile_files.h - a profile of waiting as text, JSON, and in the formats of other programs.
 *
 * The profile must be sorted.  Times are in nanoseconds, samples times the period.
 */
#ifndef INSPECT_PROFILE_FILES_H
#define INSPECT_PROFILE_FILES_H

#include <stdio.h>

#include "base/printer.h"
#include "base/proto.h"
#include "inspect/wait_profile.h"

/* What is known of the whole run. */
struct profile_run {
	const struct wait_profile *profile;
	pid_t pid;
	const char *name;     /* of the process */
	const char *ended_by; /* "duration", "signal", "exit" or "error" */
	const char *problem;  /* a sentence, or NULL */
	uint64_t elapsed_ns;  /* from the first look to the end */
	uint64_t stopped_ns;
	int64_t start_ns; /* of CLOCK_REALTIME */
	bool has_stacks;  /* threads were stopped to read their registers */
};

/* @most: stacks in the text; 0: all of them. */
void profile_print(const struct profile_run *run, struct printer *p, size_t most);

/*
 * "root;middle;leaf;[waiting] N" with N in microseconds, as flamegraph.pl reads it.  0 or -ENOMEM;
 * the stream keeps errors of writing.
 */
int profile_write_folded(const struct profile_run *run, FILE *out);

/* The object of https://www.speedscope.app/file-format-schema.json.  0 or a negative errno. */
int profile_write_speedscope(const struct profile_run *run, FILE *out);

/* The message perftools.profiles.Profile, not compressed; errors are in @out->error. */
void profile_write_pprof(const struct profile_run *run, struct proto *out);

#endif
