/* SPDX-License-Identifier: MIT */
/* places_other.c - a second file with the header's site. */
#include "places.h"

static struct corotracer_coro coro;

void other_file(void)
{
	start(&coro, "header");
	wait_in_header(&coro, "other");
}
