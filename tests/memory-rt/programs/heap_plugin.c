/* SPDX-License-Identifier: MIT */
/* heap_plugin.c - a library that allocates. */
#include <stdlib.h>

void *plugin_block(unsigned size);

void *plugin_block(unsigned size)
{
	char *p = malloc(size);

	p[size - 1] = 1;
	return p;
}
