/* SPDX-License-Identifier: MIT */
/* top_without.c - stubs for a build without ncurses. */
#include "top/top.h"

#include <errno.h>
#include <stddef.h>

int top_run(struct top_source *source, const struct top_options *options, int *sig, struct err *err)
{
	(void)source;
	(void)options;
	*sig = 0;
	err_set(err, -ENOTSUP, "this corotracer was built without ncurses, and has no screen");
	err_hint(err, "'corotracer top --once' prints one picture; or install libncurses-dev, and "
		      "build again");
	return err->code;
}

const char *top_library(void)
{
	return NULL;
}
