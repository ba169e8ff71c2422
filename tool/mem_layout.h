/* SPDX-License-Identifier: MIT */
/* mem_layout.h - print the result of a layout study. */
#ifndef TOOL_MEM_LAYOUT_H
#define TOOL_MEM_LAYOUT_H

#include "memory/layout/advise.h"

struct mem_layout_result {
	const char *path;
	const char *machine; /* source of the machine's configuration */
	const struct study *study;
};

void mem_layout_text(const struct mem_layout_result *r);
void mem_layout_json(const struct mem_layout_result *r);

#endif
