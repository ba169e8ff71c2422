/* SPDX-License-Identifier: MIT */
/*
 * list_access_types.c - for each access of a trace, the type and field that its instruction has.
 *
 *	list_access_types TRACE            ADDRESS SIZE r|w TYPE OFFSET FIELD, or "-"
 *	list_access_types --sum TRACE      accesses and typed accesses
 *	list_access_types --code PROGRAM START END    TYPE OFFSET FIELD of each instruction
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/format/mem_reader.h"
#include "memory/types/access_types.h"

static uint64_t nr_accesses, nr_typed;

static void print_access(struct types *t, const struct mem_record *r, const struct access_type *a)
{
	const struct type *type = types_get(t, a ? a->type : 0);
	uint64_t end;
	uint32_t leaf;

	printf("%#llx %u %c ", (unsigned long long)r->address, r->size,
	       r->kind == MEM_WRITE ? 'w' : 'r');
	if (!a) {
		printf("- %#llx\n", (unsigned long long)r->pc);
		return;
	}
	leaf = a->is_record ? types_leaf_at(t, a->type, a->offset, r->size, &end) : LEAF_BEYOND;
	printf("%s|%llu|%s %#llx\n", type->name, (unsigned long long)a->offset,
	       leaf < LEAF_BEYOND ? type->leaves[leaf].path : "", (unsigned long long)r->pc);
}

/* Instructions of a program that need not be of this machine. */
static int list_code(const char *path, uint64_t start, uint64_t end)
{
	struct mem_module module = { .m = { .start = 4096, .end = end }, .path = (char *)path };
	struct mem_facts facts = { .modules = &module, .nr_modules = 1 };
	struct types *t = types_new();
	struct access_types *a = access_types_new(t);
	uint64_t pc;

	types_add_modules(t, &facts);
	for (pc = start; pc < end; pc++) {
		const struct access_type *found = access_types_find(a, pc, true);
		uint64_t ignored;

		if (found && found->is_record) {
			const struct type *type = types_get(t, found->type);
			uint32_t leaf = types_leaf_at(t, found->type, found->offset, 0, &ignored);

			printf("%s|%llu|%s\n", type->name, (unsigned long long)found->offset,
			       leaf < LEAF_BEYOND ? type->leaves[leaf].path : "");
		}
	}
	access_types_free(a);
	types_free(t);
	return 0;
}

int main(int argc, char **argv)
{
	bool sum = argc == 3 && !strcmp(argv[1], "--sum");
	struct types *t;
	struct access_types *a;
	const struct mem_record *r;
	struct mem_reader *reader;
	struct err err;

	if (argc == 5 && !strcmp(argv[1], "--code"))
		return list_code(argv[2], strtoull(argv[3], NULL, 0), strtoull(argv[4], NULL, 0));
	if (argc != 2 + sum)
		return 2;
	t = types_new();
	a = access_types_new(t);
	reader = mem_reader_open(argv[argc - 1], &err);
	if (!reader) {
		fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	while ((r = mem_reader_next(reader))) {
		const struct access_type *found;

		if (!mem_is_access(r))
			continue;
		types_add_modules(t, mem_reader_facts(reader));
		found = access_types_find(a, r->pc, r->kind == MEM_WRITE);
		nr_accesses++;
		nr_typed += found != NULL;
		if (!sum)
			print_access(t, r, found);
	}
	if (sum)
		printf("%llu accesses, %llu with a type\n", (unsigned long long)nr_accesses,
		       (unsigned long long)nr_typed);
	access_types_free(a);
	types_free(t);
	mem_reader_close(reader);
	return 0;
}
