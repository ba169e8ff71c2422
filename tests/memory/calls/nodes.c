/* SPDX-License-Identifier: MIT */
/* nodes.c - records of 8 + EXTRA bytes, in an array and in a list; another array, written. */
#include <stdlib.h>

#ifndef EXTRA
#define EXTRA 8
#endif
#ifndef READS
#define READS 20000
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

	for (i = 0; i < READS; i++)
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

struct link {
	struct link *next;
	char rest[EXTRA];
};

__attribute__((noinline)) static struct link *make_list(void)
{
	struct link *first = NULL, *l;
	int i;

	for (i = 0; i < 2000; i++) {
		l = malloc(sizeof(*l));
		if (!l)
			exit(1);
		l->next = first;
		first = l;
	}
	return first;
}

__attribute__((noinline)) static void walk_list(const struct link *l)
{
	for (; l; l = l->next)
		sum++;
}

int main(int argc, char **argv)
{
	(void)argv;
	nodes[argc].key = argc; /* else all of them are known to be 0 */
	read_nodes();
	write_others();
	walk_list(make_list());
	return 0;
}
