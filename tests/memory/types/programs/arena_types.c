/* SPDX-License-Identifier: MIT */
/*
 * arena_types.c - objects of two types in one block, which therefore has no type of its own.  One
 * instruction reads several fields at once, of one object after the other.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

struct flags {
	unsigned char a, b, c, d;
};

struct item {
	long first;
	struct flags flags;
	unsigned last;
};

struct weight {
	double value;
	long *of;
};

#define OBJECTS 50

struct flags seen;
double heaviest;
long number;

__attribute__((noinline)) static void read_flags(const struct item *item)
{
	seen = item->flags;
}

__attribute__((noinline)) static void read_weight(const struct weight *w)
{
	if (w->value > heaviest)
		heaviest = w->value;
	number += w->of != NULL;
}

int main(void)
{
	char *arena = calloc(OBJECTS, sizeof(struct item) + sizeof(struct weight));
	int i;

	if (!arena)
		return 1;
	for (i = 0; i < OBJECTS; i++)
		read_flags((struct item *)(void *)arena + i);
	for (i = 0; i < OBJECTS; i++)
		read_weight((struct weight *)(void *)(arena + OBJECTS * sizeof(struct item)) + i);
	printf("%d %g %ld\n", seen.a, heaviest, number);
	free(arena);
	return 0;
}
