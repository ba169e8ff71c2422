/* SPDX-License-Identifier: MIT */
/* mem_diff.h - print the comparison of two memory traces. */
#ifndef TOOL_MEM_DIFF_H
#define TOOL_MEM_DIFF_H

#include <stdio.h>

#include "memory/diff/miss_compare.h"
#include "memory/format/mem_reader.h"
#include "memory/sim/replay.h"

enum mem_diff_form { MEM_DIFF_TEXT, MEM_DIFF_MARKDOWN, MEM_DIFF_JSON };

/* One of the two traces. */
struct mem_diff_side {
	const char *trace;
	struct miss_rows rows;
	struct replay replay;
};

struct mem_diff_result {
	const char *machine;
	const struct sim_config *config;
	struct mem_diff_side sides[2]; /* base, head */
	struct miss_comparison comparison;
	unsigned top; /* rows per verdict */
};

/* 0 or a negative errno. */
int mem_diff_print(const struct mem_diff_result *r, enum mem_diff_form form, FILE *out);

#endif
