/* SPDX-License-Identifier: MIT */
/* site.h - a place in a program's source, told once and then known by its number. */
#ifndef TRACE_SITE_H
#define TRACE_SITE_H

#include <stdint.h>

struct trace_site {
	uint32_t id; /* from 1; of the whole trace, not of one process */
	uint32_t line;
	uint32_t pid;
	const char *file;     /* as the compiler was given it; "" if not told */
	const char *function; /* likewise */
};

#endif
