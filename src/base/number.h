/* SPDX-License-Identifier: MIT */
/* number.h - numbers as arguments of printf: each result stays valid for a few calls. */
#ifndef BASE_NUMBER_H
#define BASE_NUMBER_H

#include <stdint.h>

const char *number_text(uint64_t n);  /* "1,234"; eight results are valid at a time */
const char *number_bytes(uint64_t n); /* "4 KiB", exact if possible; four at a time */
double number_percent(uint64_t part, uint64_t whole);

/* The ending of a noun: "" for one, otherwise "s". */
static inline const char *number_plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
