/* SPDX-License-Identifier: MIT */
/* foreign.c - the types of a raw trace that another writer made; it is compiled and not run. */
#include <stdio.h>

struct basic {
	int a;
	long b;
	char *c;
};

typedef struct pair {
	void *key;
	int count; /* four bytes of padding behind it */
} pair_t;

union number {
	long whole;
	double real;
};

struct deep {
	int id;
	struct basic in;
	char name[20];
	union number n;
	pair_t slots[3];
};

struct basic table[4];
struct deep *deep;

int main(void)
{
	printf("%zu %zu\n", sizeof(*deep), sizeof(table));
	return 0;
}
