/* SPDX-License-Identifier: MIT */
/*
 * heap_types.c - heap blocks of many forms, and the truth about them on standard output.
 *
 *	type NAME SIZE              each type
 *	field NAME FIELD OFFSET SIZE
 *	inside NAME OFFSET STRIDE COUNT OTHER    objects of another type inside
 *	block ADDRESS BYTES HEADER NAME          each block; "-": bytes
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cacheray.h>

struct link {
	struct link *next, *prev;
};

struct node { /* embedded links, an array inside, a union */
	int key;
	short hits;
	struct link all;
	struct node *left, *right;
	double weight[4];
	union {
		long number;
		char *text;
	};
	struct link some;
};

struct cell { /* an array of these is one block */
	unsigned tag;
	struct {
		short x, y;
	} pos;
	uint64_t value;
};

struct base {
	int kind;
	struct base *parent;
};

struct derived {
	struct base base;
	long extra[3];
	struct cell *cells;
};

struct tail {
	unsigned nr;
	struct cell item[];
};

struct boxed { /* after a header of the program's own allocator */
	struct boxed *next;
	int count;
	char name[20];
};

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noipa))
#endif

static void tell_block(const void *p, size_t size, size_t header, const char *name)
{
	printf("block %p %zu %zu %s\n", p, size, header, name);
}

#ifdef ANNOTATED
#define ANNOTATE(p, name, size, count) cacheray_rtta_add(p, size, count, name)
#else
#define ANNOTATE(p, name, size, count) (void)(p)
#endif

static void *told(size_t size, unsigned count, const char *name)
{
	void *p = calloc(count, size);

	tell_block(p, size * count, 0, name);
	if (name[0] != '-')
		ANNOTATE(p, name, (unsigned)size, count);
	return p;
}

/* ---- the program -------------------------------------------------------------- */

static struct link everything = { &everything, &everything };
static struct node *root;

KEEP static void link_add(struct link *to, struct link *l)
{
	l->next = to->next;
	l->prev = to;
	to->next->prev = l;
	to->next = l;
}

KEEP static struct node *node_insert(int key)
{
	struct node **at = &root, *n;

	while (*at) {
		if ((*at)->key == key) {
			(*at)->hits++;
			return *at;
		}
		at = key < (*at)->key ? &(*at)->left : &(*at)->right;
	}
	n = told(sizeof(*n), 1, "struct node");
	n->key = key;
	n->number = key * 3;
	link_add(&everything, &n->all);
	*at = n;
	return n;
}

KEEP static double node_sum(const struct node *n, int depth)
{
	double sum = 0;
	int i;

	if (!n)
		return 0;
	for (i = 0; i < 4; i++)
		sum += n->weight[i];
	return sum + n->number + node_sum(n->left, depth + 1) + node_sum(n->right, depth + 1);
}

KEEP static long link_walk(void)
{
	const struct link *l;
	long sum = 0;

	for (l = everything.next; l != &everything; l = l->next) {
		struct node *n = (struct node *)((char *)l - offsetof(struct node, all));

		sum += n->key + n->hits;
		n->weight[n->key & 3] += 1;
	}
	return sum;
}

KEEP static uint64_t cells_fill(struct cell *cells, unsigned nr)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < nr; i++) {
		cells[i].tag = i;
		cells[i].pos.y = (short)(i * 3);
		cells[i].value = (uint64_t)i * i;
	}
	for (i = nr; i-- > 1;)
		sum += cells[i].value + (unsigned short)cells[i - 1].pos.y;
	return sum;
}

KEEP static long base_climb(const struct base *b)
{
	long sum = 0;

	for (; b; b = b->parent) {
		sum += b->kind;
		if (b->kind > 5)
			sum += ((const struct derived *)b)->extra[b->kind % 3] +
			       ((const struct derived *)b)->cells->tag;
	}
	return sum;
}

KEEP static uint64_t tail_use(struct tail *t)
{
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < t->nr; i++) {
		t->item[i].value += i;
		sum += t->item[i].value + t->item[i].tag;
	}
	return sum;
}

KEEP static void *boxed_alloc(size_t size)
{
	int64_t *p = malloc(size + 16);

	p[0] = (int64_t)size;
	return p + 2;
}

KEEP static long boxed_use(struct boxed *b)
{
	long sum = 0;

	for (; b; b = b->next)
		sum += ++b->count + b->name[3];
	return sum;
}

KEEP static unsigned bytes_use(unsigned char *p, size_t nr)
{
	unsigned sum = 0;
	size_t i;

	for (i = 0; i < nr; i++)
		p[i] = (unsigned char)(i * 7);
	for (i = 0; i + 4 <= nr; i += 4)
		sum += *(unsigned *)(p + i);
	return sum;
}

static long run(void)
{
	struct cell *cells = told(sizeof(*cells), 50, "struct cell");
	struct tail *tail = calloc(1, sizeof(*tail) + 20 * sizeof(struct cell));
	struct derived *last = NULL, *d;
	struct boxed *boxes = NULL, *b;
	double **rows = told(sizeof(*rows), 8, "-double *");
	long sum = 0;
	int i, k;

	for (i = 0; i < 300; i++)
		sum += node_insert(i * 7919 % 211)->hits;
	for (i = 0; i < 4; i++)
		sum += link_walk() + (long)node_sum(root, 0);
	sum += (long)cells_fill(cells, 50);
	for (i = 0; i < 12; i++) {
		d = told(sizeof(*d), 1, "struct derived");
		d->base.kind = i;
		d->base.parent = &last->base;
		d->extra[i % 3] = i;
		d->cells = cells;
		last = d;
	}
	sum += base_climb(&last->base);
	tell_block(tail, sizeof(*tail) + 20 * sizeof(struct cell), 0, "struct tail");
	ANNOTATE(tail, "struct tail", (unsigned)(sizeof(*tail) + 20 * sizeof(struct cell)), 1);
	tail->nr = 20;
	sum += (long)tail_use(tail);
	for (i = 0; i < 20; i++) {
		b = boxed_alloc(sizeof(*b));
		tell_block((char *)b - 16, sizeof(*b) + 16, 16, "struct boxed");
		ANNOTATE(b, "struct boxed", sizeof(*b), 1);
		b->next = boxes;
		b->count = i;
		memcpy(b->name, "some name", 10);
		boxes = b;
	}
	sum += boxed_use(boxes);
	for (i = 0; i < 8; i++) {
		rows[i] = told(sizeof(double), 32, "-double");
		for (k = 0; k < 32; k++)
			rows[i][k] = k;
	}
	return sum + (long)rows[3][5] + bytes_use(told(1, 512, "-"), 512);
}

/* ---- the truth ---------------------------------------------------------------- */

#define TYPE(t) printf("type struct %s %zu\n", #t, sizeof(struct t))
#define FIELD(t, f)                                                           \
	printf("field struct %s %s %zu %zu\n", #t, #f, offsetof(struct t, f), \
	       sizeof(((struct t *)0)->f))

static void tell_truth(void)
{
	TYPE(link), FIELD(link, next), FIELD(link, prev);
	TYPE(node), FIELD(node, key), FIELD(node, hits), FIELD(node, all), FIELD(node, left);
	FIELD(node, right), FIELD(node, weight), FIELD(node, number), FIELD(node, some);
	printf("inside struct node %zu 0 1 struct link\n", offsetof(struct node, all));
	printf("inside struct node %zu 0 1 struct link\n", offsetof(struct node, some));
	TYPE(cell), FIELD(cell, tag), FIELD(cell, pos), FIELD(cell, value);
	TYPE(base), FIELD(base, kind), FIELD(base, parent);
	TYPE(derived), FIELD(derived, base), FIELD(derived, extra), FIELD(derived, cells);
	printf("inside struct derived 0 0 1 struct base\n");
	TYPE(tail), FIELD(tail, nr);
	printf("field struct tail item %zu %zu\n", offsetof(struct tail, item),
	       20 * sizeof(struct cell));
	printf("inside struct tail %zu %zu 20 struct cell\n", offsetof(struct tail, item),
	       sizeof(struct cell));
	TYPE(boxed), FIELD(boxed, next), FIELD(boxed, count), FIELD(boxed, name);
}

int main(void)
{
	long sum;

	tell_truth();
	sum = run();
	printf("sum %ld\n", sum);
	return 0;
}
