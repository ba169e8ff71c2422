/* SPDX-License-Identifier: MIT */
/*
 * named_target.c - coroutines with the names given as arguments.
 *
 *	named_target NAME... [left NAME...]
 *
 * Coroutines before "left" are destroyed; those after it are suspended at exit.
 */
#include <corotracer/corotracer.h>

#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	static struct corotracer_coro *cos; /* static: still in use at the end */
	int i, is_left = 0;

	cos = calloc((size_t)argc + 1, sizeof(*cos));
	if (!cos)
		return 97;
	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "left")) {
			is_left = 1;
			continue;
		}
		corotracer_begin(&cos[i], argv[i]);
		corotracer_resume(&cos[i]);
		corotracer_suspend(&cos[i], main);
		if (!is_left)
			corotracer_end(&cos[i]);
	}
	return 0; /* the coroutines are not destroyed */
}
