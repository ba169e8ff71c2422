/* SPDX-License-Identifier: MIT */
/* running_list.h - print the running collectors, for the user to choose one. */
#ifndef TOOL_RUNNING_LIST_H
#define TOOL_RUNNING_LIST_H

#include <stdio.h>

#include "collect/collector_client.h"

/* A table, one line per collector. */
void running_print(FILE *out, const struct all_running *all);

/* The command line of the traced program, from the collector's status. */
void running_print_command(FILE *out, const json_t *status);

/* Set @err: no collector is running, or none with @pid (0: any), with a hint if there is one. */
void running_nobody(const struct all_running *all, unsigned long long pid, size_t left,
		    struct err *err);

#endif
