/* SPDX-License-Identifier: MIT */
/* running_list.h - the collectors that are running, for whoever has to choose one. */
#ifndef TOOL_RUNNING_LIST_H
#define TOOL_RUNNING_LIST_H

#include <stdio.h>

#include "ctp/running.h"

/* A table, a line each. */
void running_print(FILE *out, const struct all_running *all);

/* The command line of what is traced, as a status tells it. */
void running_print_command(FILE *out, const json_t *status);

/* There is none, or none with @pid (0: any would do): in words, with a hint where there is one. */
void running_nobody(const struct all_running *all, unsigned long long pid, size_t left,
		    struct err *err);

#endif
