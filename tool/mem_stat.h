/* SPDX-License-Identifier: MIT */
/* mem_stat.h - print the statistics of a memory trace. */
#ifndef TOOL_MEM_STAT_H
#define TOOL_MEM_STAT_H

#include "memory/stat/access_stat.h"

#define MEM_STAT_TOP_MAX 1000

/* Print on stdout, at most @top rows of types, lines and strides. */
void mem_stat_print(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		    unsigned top, bool json);

#endif
