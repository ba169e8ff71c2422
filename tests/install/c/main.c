/* SPDX-License-Identifier: MIT */
/* main.c - a minimal C program that uses the installed SDK. */
#include <corotracer/corotracer.h>
#include <corotracer/version.h>

#include <stdio.h>
#include <string.h>

int main(void)
{
	struct corotracer_coro co;

	/* The header and the library have the same version. */
	if (strcmp(corotracer_version(), COROTRACER_VERSION) != 0)
		return 1;
	corotracer_init();
	corotracer_begin(&co, "consumer");
	corotracer_suspend(&co, &co);
	corotracer_resume(&co);
	corotracer_end(&co);
	printf("%s %s\n", corotracer_version(), corotracer_enabled() ? "traced" : "untraced");
	return 0;
}
