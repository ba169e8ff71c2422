/* SPDX-License-Identifier: MIT */
/*
 * fields.c - a program with a known number of accesses per field: see each loop.
 *
 * Volatile, so that no compiler omits or merges an access.
 */
#include <stdlib.h>
#include <string.h>

#include <cacheray.h>

struct inner {
	char kind;
	long weight;
};

struct plain {
	char tag;
	int a;
	struct {
		short x, y;
	} pos;
	union {
		long whole;
		int half;
	};
	unsigned low : 3, mid : 7, high : 22;
	struct inner in[3];
	char name[16];
	void (*call)(int);
};

typedef struct {
	int first;
	double second;
} nameless_t;

struct around {
	long before;
	struct inner many[4];
	long after;
};

struct tail {
	unsigned nr;
	int item[];
};

struct one { /* copied as a whole */
	long p, q;
	char r[16];
};

static volatile struct plain table[10];
volatile struct around around;
static volatile nameless_t pair;
volatile int numbers[100];
static struct one from, to;

#define TIMES(n) for (int i = 0; i < (n); i++)

static void globals(void)
{
	static volatile long calls;

	TIMES(100) table[i % 10].tag = (char)i;  /* tag: 100 w */
	TIMES(200)(void) table[i % 10].a;        /* a: 200 r */
	TIMES(30) table[3].pos.x = (short)i;     /* pos.x: 30 w */
	TIMES(40) table[4].pos.y = (short)i;     /* pos.y: 40 w */
	TIMES(50) table[5].whole = i;            /* whole: 50 w */
	TIMES(60) table[5].half = i;             /* half: 60 w */
	TIMES(90) table[9].in[i % 3].weight = i; /* in[].weight: struct inner, 90 w */
	TIMES(70) table[0].name[i % 16] = 'x';   /* name[]: 70 w */
	TIMES(11) around.before = i;             /* around.before: 11 w */
	TIMES(12) around.many[i % 4].kind = 'k'; /* struct inner, kind: 12 w */
	TIMES(13) around.after = i;              /* around.after: 13 w */
	TIMES(14) pair.second = i;               /* nameless_t, second: 14 w */
	TIMES(300) numbers[i % 100] = i;         /* the variable: 300 w */
	TIMES(15) calls = i;                     /* globals::calls: 15 w */
}

static void heap(void)
{
	volatile struct inner *list = cacheray_calloc(struct inner, 8);
	volatile nameless_t *one = malloc(sizeof(*one)), *again;
	volatile struct tail *open = malloc(sizeof(*open) + 100 * sizeof(int));
	volatile int *ints = malloc(64 * sizeof(*ints));

	cacheray_rtta_add((void *)one, sizeof(*one), 1, "nameless_t");
	cacheray_rtta_add((void *)open, sizeof(*open) + 100 * sizeof(int), 1, "struct.tail");
	cacheray_rtta_add((void *)ints, 4, 64, "i32*");
	TIMES(80) list[i % 8].kind = 'h'; /* struct inner, kind: 80 w more */
	TIMES(21) one->first = i;         /* nameless_t, first: 21 w */
	TIMES(22) open->nr = 1;           /* struct tail, nr: 22 w */
	TIMES(200) open->item[i % 100] = i;
	TIMES(64) ints[i] = i;
	cacheray_rtta_remove((void *)one);
	TIMES(1000) one->first = i; /* of no annotated block: the code has the type */
	again = one;
	cacheray_rtta_add((void *)again, sizeof(struct inner), 1, "struct inner");
	TIMES(5)((volatile struct inner *)again)->weight = i; /* struct inner, weight: 5 w */
	free((void *)list);
	free((void *)one);
	free((void *)open);
	free((void *)ints);
}

/* A copy of a structure: each field is written once per copy. */
static void copies(int n)
{
	for (int i = 0; i < n; i++) {
		memcpy(&to, &from, sizeof(to));
		__asm__ volatile("" ::: "memory");
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	from.p = argc; /* p: 1 w more */
	globals();
	heap();
	copies(25);
	return to.p == 1 ? 0 : 1;
}
