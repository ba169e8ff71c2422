/* SPDX-License-Identifier: MIT */
/* number.c - numbers as arguments of printf: each result stays valid for a few calls. */
#include "base/number.h"

#include <stdio.h>

#include "base/text.h"

const char *number_text(uint64_t n)
{
	static _Thread_local char ring[8][TEXT_SIZE];
	static _Thread_local unsigned next;

	return text_count(ring[next++ % 8], n);
}

const char *number_bytes(uint64_t n)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	static _Thread_local char ring[4][TEXT_SIZE];
	static _Thread_local unsigned next;
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

double number_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
