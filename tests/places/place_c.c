/* SPDX-License-Identifier: MIT */
/* place_c.c - "place_c STEP...": the steps of place_steps.h, then 50 coroutines of 20 events each.
 */
#include <corotracer/corotracer.h>

#include "place_steps.h"

int main(int argc, char **argv)
{
	struct corotracer_coro co;
	int i, k;

	place_enter(argc, argv);
	for (i = 0; i < 50; i++) {
		corotracer_begin(&co, "place");
		for (k = 0; k < 10; k++) {
			corotracer_resume(&co);
			corotracer_suspend(&co, &co);
		}
		corotracer_end(&co);
	}
	place_leave();
	return 0;
}
