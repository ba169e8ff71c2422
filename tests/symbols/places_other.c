/* SPDX-License-Identifier: MIT */
/* places_other.c - a second file with the place of the header. */
#include "places.h"

static struct corotracer_coro coro;

void other_file(void)
{
	start(&coro, "header");
	wait_in_header(&coro, "other");
}
