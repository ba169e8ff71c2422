/* SPDX-License-Identifier: MIT */
/* mem_unseen.h - name the libraries whose accesses are missing in a memory trace. */
#ifndef TOOL_MEM_UNSEEN_H
#define TOOL_MEM_UNSEEN_H

#include "base/printer.h"
#include "memory/format/mem_facts.h"

/* A line for each, which begins with @prefix; in JSON the list "not_instrumented". */
void mem_unseen_print(struct printer *p, const char *prefix, const struct mem_facts *facts);

/* The same for the trace in @path; nothing if it cannot be read. */
void mem_unseen_print_of(struct printer *p, const char *prefix, const char *path);

#endif
