/* SPDX-License-Identifier: MIT */
/* nodes.c - an array of records, read with one stride or another: -DSTRIDE=N, -DEXTRA=N bytes more
 * per record. */
#include <stddef.h>

#ifndef EXTRA
#define EXTRA 8
#endif

struct node {
	long key;
	char rest[EXTRA];
};

struct other {
	long value[8];
};

static struct node nodes[4096];
static struct other others[64];
static volatile long sum;

__attribute__((noinline)) static void read_nodes(void)
{
	size_t i;

	for (i = 0; i < 20000; i++)
		sum += nodes[i % 4096].key;
}

#ifdef RENAMED
#define write_others write_elsewhere
#endif
__attribute__((noinline)) static void write_others(void)
{
	size_t i;

	for (i = 0; i < 2000; i++)
		others[i % 64].value[0]++;
}

int main(int argc, char **argv)
{
	(void)argv;
	nodes[argc].key = argc; /* else all of them are known to be 0 */
	read_nodes();
	write_others();
	return 0;
}
