/* SPDX-License-Identifier: MIT */
/* mem_stat.h - print the statistics of a memory trace. */
#ifndef TOOL_MEM_STAT_H
#define TOOL_MEM_STAT_H

#include "memory/stat/access_stat.h"

#define MEM_STAT_TOP_MAX 1000

void mem_stat_text(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top);
void mem_stat_json(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top);

/* Fill @out with types, most accesses first; returns the number of types accessed or added. */
size_t mem_stat_types(const struct mem_stat *s, uint32_t *out, size_t nr);

#endif
