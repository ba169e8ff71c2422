/* SPDX-License-Identifier: MIT */
/* lib.c - a library with its own frame buffer. */
#include <string.h>

#include "ppt-Fixed.h"

void lib_work(unsigned n);

void lib_work(unsigned n)
{
	struct ppt_Fixed_tick t;

	memset(&t, 0, sizeof(t));
	t.n = n;
	t.not_n = ~t.n;
	ppt_Fixed_tick_save(&t);
}
