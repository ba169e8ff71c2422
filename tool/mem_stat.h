/* SPDX-License-Identifier: MIT */
/* mem_stat.h - statistics of a memory trace, printed. */
#ifndef TOOL_MEM_STAT_H
#define TOOL_MEM_STAT_H

#include "memory/stat.h"

#define MEM_STAT_TOP_MAX 1000

void mem_stat_text(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top);
void mem_stat_json(struct mem_stat *s, const struct mem_facts *facts, const char *path,
		   unsigned top);

/* Types by accesses, most first, into @out; returns how many were accessed or added. */
size_t mem_stat_types(const struct mem_stat *s, uint32_t *out, size_t nr);

#endif
