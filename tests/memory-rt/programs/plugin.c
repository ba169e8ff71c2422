/* SPDX-License-Identifier: MIT */
/* plugin.c - a library that is loaded: 500 writes of 8 bytes, and a copy. */
#include <string.h>

long table[500], other[500];

void plugin_work(void);
void plugin_work(void)
{
	size_t n = sizeof(table);
	int i;

	for (i = 0; i < 500; i++)
		table[i] = i;
	__asm__ volatile("" : "+r"(n));
	memcpy(other, table, n);
}
