/* SPDX-License-Identifier: MIT */
/*
 * tail_types.c - texts that end with an array of one element and have any length, which other code
 * reads through a struct of their first members; and a buffer of bytes.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cacheray.h>

struct object { /* the first members of all objects */
	struct object *next;
	unsigned char kind, marked;
};

struct text { /* blocks are shorter than this, or longer */
	struct object *next;
	unsigned char kind, marked;
	unsigned char extra, length;
	unsigned hash;
	struct text *chain;
	char content[1];
};

struct pair {
	struct object *next;
	unsigned char kind, marked;
	struct text *first, *second;
};

#ifdef ANNOTATED
#define ANNOTATE(p, name, size) cacheray_rtta_add(p, size, 1, name)
#else
#define ANNOTATE(p, name, size) (void)(p)
#endif

#ifdef __clang__
#define KEEP __attribute__((noinline))
#else
#define KEEP __attribute__((noinline, noipa))
#endif

static struct object *all;
static struct text *chains[16];

KEEP static void object_add(struct object *o, unsigned char kind)
{
	o->kind = kind;
	o->marked = 0;
	o->next = all;
	all = o;
}

KEEP static struct text *text_new(const char *from, unsigned length)
{
	size_t size = offsetof(struct text, content) + length + 1;
	struct text *t = malloc(size);
	unsigned i;

	ANNOTATE(t, "struct text", (unsigned)size);
	object_add((struct object *)t, 1);
	t->extra = 0;
	t->length = (unsigned char)length;
	t->hash = length;
	for (i = 0; i < length; i++) {
		t->content[i] = from[i];
		t->hash = t->hash * 33 + (unsigned char)t->content[i];
	}
	t->content[length] = 0;
	t->chain = chains[t->hash % 16];
	chains[t->hash % 16] = t;
	return t;
}

KEEP static struct pair *pair_new(struct text *first, struct text *second)
{
	struct pair *p = malloc(sizeof(*p));

	ANNOTATE(p, "struct pair", sizeof(*p));
	object_add((struct object *)p, 2);
	p->first = first;
	p->second = second;
	return p;
}

KEEP static unsigned mark_all(void)
{
	struct object *o;
	unsigned sum = 0;

	for (o = all; o; o = o->next) {
		o->marked++;
		if (o->kind == 1)
			sum += ((struct text *)o)->length;
		else
			sum += ((struct pair *)o)->first->hash;
	}
	return sum;
}

KEEP static unsigned text_find(unsigned hash, const char *content, unsigned length)
{
	struct text *t;

	for (t = chains[hash % 16]; t; t = t->chain) {
		if (t->hash == hash && t->length == length && !memcmp(t->content, content, length))
			return t->marked;
	}
	return 0;
}

KEEP static unsigned char *buffer_new(unsigned size)
{
	return malloc(size);
}

/* In an order that compilers do not turn into vectors. */
KEEP static unsigned buffer_use(unsigned char *p, unsigned nr)
{
	unsigned sum = 0, i;

	for (i = 0; i < nr; i++)
		p[i * 7 % nr] = (unsigned char)i;
	for (i = 0; i < nr; i++)
		sum += p[i * 11 % nr];
	return sum;
}

int main(void)
{
	static const char letters[] = "letters of texts that have any length, up to sixty or so";
	struct text *last = text_new("", 0);
	unsigned sum = 0, i;

	for (i = 0; i < 300; i++) {
		struct text *t = text_new(letters + i % 7, i % 48);

		sum += text_find(t->hash, letters + i % 7, i % 48);
		if (i % 5 == 0)
			sum += pair_new(t, last)->marked;
		last = t;
	}
	for (i = 0; i < 5; i++)
		sum += mark_all();
	printf("sum %u\n", sum + buffer_use(buffer_new(5000), 5000));
	return 0;
}
