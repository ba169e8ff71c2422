/* SPDX-License-Identifier: MIT */
/* mem_text.c - format the numbers of memory traces. */
#include <stdio.h>

#include "base/text.h"
#include "mem.h"

const char *mem_number(uint64_t n)
{
	static char ring[8][TEXT_SIZE];
	static unsigned next;

	return text_count(ring[next++ % 8], n);
}

const char *mem_bytes(uint64_t n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	static char ring[4][TEXT_SIZE];
	static unsigned next;
	char *buf = ring[next++ % 4];
	double v = (double)n;
	unsigned u = 0;

	while (v >= 1024 && u < 5) {
		v /= 1024;
		u++;
	}
	snprintf(buf, TEXT_SIZE, v < 10 && v != (double)(unsigned)v ? "%.1f %s" : "%.0f %s", v,
		 units[u]);
	return buf;
}

double mem_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
