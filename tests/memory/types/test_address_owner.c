/* SPDX-License-Identifier: MIT */
/*
 * test_address_owner.c - whose data is at an address: variables of this program, annotated blocks,
 * blocks of the heap, and the kinds of memory.
 */
#include "memory/types/address_owner.h"

#include <stddef.h>

#include "count_memory.h"
#include "memory/types/own_types.h"

struct cell {
	int key;
	char flag;
};

struct row {
	long id;
	struct cell cells[3];
	double sum;
};

struct grid {
	int nr;
	struct row rows[2];
	struct {
		struct cell one[1]; /* one element is no array */
		struct cell pair[2];
	} in;
	union {
		struct cell both[2];
		long number;
	} either;
};

struct packet {
	long size;
	struct cell parts[];
};

/* Members with a declaration each. */
struct spelled {
	const char *volatile text;
	int *restrict alone;
	_Atomic int counter;
	volatile long changing;
	int (*call)(int, char *);
	short table[2][3];
	const void *const nothing;
	unsigned bits : 3;
};

struct spelled the_spelled;
struct grid the_grid;
struct row the_rows[4];
struct packet *the_packet; /* keeps the type */
double the_numbers[5];
int the_number;
static struct types *types;
static struct mem_places *places;

#define BLOCK UINT64_C(0x7e0000001000) /* outside of this program */

static void places_new(void)
{
	mem_places_free(places);
	places = mem_places_new(types);
	CHECK(places != NULL);
}

static struct address_owner find(uint64_t address)
{
	struct address_owner out;

	CHECK_EQ(mem_places_find(places, address, 0x1000, &out), 0);
	return out;
}

static const char *text_at(uint64_t address)
{
	static char buf[256];
	struct address_owner place = find(address);

	return mem_places_text(places, &place, buf, sizeof(buf));
}

static const char *text_of(const void *variable)
{
	return text_at((uintptr_t)variable);
}

/* @count elements of @size bytes with the type @name. */
static void annotate(uint64_t address, const char *name, uint32_t size, uint32_t count)
{
	struct mem_record r = { .kind = MEM_ADD,
				.address = address,
				.name = name,
				.name_size = (uint32_t)strlen(name),
				.elem_size = size,
				.elem_count = count };

	CHECK_EQ(mem_places_record(places, &r), 0);
}

static void annotation_ends(uint64_t address)
{
	struct mem_record r = { .kind = MEM_REMOVE, .address = address };

	CHECK_EQ(mem_places_record(places, &r), 0);
}

static void allocate(uint64_t address, uint64_t size, uint64_t pc)
{
	struct mem_record r = { .kind = MEM_ALLOC, .address = address, .value = size, .pc = pc };

	CHECK_EQ(mem_places_record(places, &r), 0);
}

static void release(uint64_t address)
{
	struct mem_record r = { .kind = MEM_FREE, .address = address };

	CHECK_EQ(mem_places_record(places, &r), 0);
}

/* ---- variables --------------------------------------------------------------------------- */

static void variables_are_named_with_their_fields(void)
{
	struct address_owner place;

	places_new();
	CHECK_STR(text_of(&the_rows[2].sum), "the_rows[2].sum");
	CHECK_STR(text_of(&the_rows[0].id), "the_rows[0].id");
	CHECK_STR(text_of(&the_number), "the_number");
	CHECK_STR(text_of(&the_numbers[3]), "the_numbers[3]");
	CHECK_STR(text_of((char *)&the_numbers[5] - 1), "the_numbers[4]");
	place = find((uintptr_t)&the_rows[2].sum);
	CHECK_EQ(place.start, (uintptr_t)the_rows);
	CHECK_EQ(place.end, (uintptr_t)(the_rows + 4));
	CHECK_EQ(place.stride, sizeof(struct row));
	CHECK_EQ(place.index, 2);
	CHECK_EQ(place.offset, offsetof(struct row, sum));
	CHECK(!place.annotated);
	CHECK_STR(place.variable->name, "the_rows");
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_RECORD);
	CHECK_STR(mem_places_owner(places, place.owner)->name, "struct row");
	CHECK_EQ(mem_places_owner(places, place.owner)->size, sizeof(struct row));
	CHECK(mem_places_owner(places, place.owner)->nr_leaves > 0);
	place = find((uintptr_t)&the_numbers[3]);
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_VARIABLE);
	CHECK_EQ(mem_places_owner(places, place.owner)->size, sizeof(double));
	CHECK_EQ(place.index, 3);
	CHECK_EQ(find((uintptr_t)&the_numbers[0]).owner, place.owner);
	CHECK(find((uintptr_t)&the_number).owner != place.owner);
}

/* The owner is the type of the elements. */
static void arrays_inside_records_are_descended(void)
{
	struct address_owner place;

	places_new();
	CHECK_STR(text_of(&the_grid.nr), "the_grid.nr");
	CHECK_STR(text_of(&the_grid.rows[1].sum), "struct row[1].sum in the_grid");
	CHECK_STR(text_of(&the_grid.rows[1].cells[2].flag), "struct cell[2].flag in the_grid");
	CHECK_STR(text_of(&the_grid.in.pair[1].key), "struct cell[1].key in the_grid");
	CHECK_STR(text_of(&the_grid.in.one[0].key), "the_grid.in.one[].key");
	CHECK_STR(text_of(&the_grid.either.number), "the_grid.either.both[].key");
	CHECK_STR(text_of((char *)&the_grid.rows[0].cells[0].flag + 1),
		  "struct cell[0] (padding) in the_grid");
	CHECK_STR(text_of((char *)&the_grid.nr + 4), "the_grid (padding)");
	place = find((uintptr_t)&the_grid.rows[1].cells[2].flag);
	CHECK_EQ(place.start, (uintptr_t)the_grid.rows[1].cells);
	CHECK_EQ(place.end, (uintptr_t)(the_grid.rows[1].cells + 3));
	CHECK_EQ(place.stride, sizeof(struct cell));
	CHECK_EQ(place.index, 2);
	CHECK_EQ(place.offset, offsetof(struct cell, flag));
	CHECK_STR(text_of(&the_rows[3].cells[1].key), "struct cell[1].key in the_rows");
}

static void other_memory_has_kinds(void)
{
	struct address_owner place;
	int local = 0;

	places_new();
	place = find((uintptr_t)&local); /* where libraries are is not known: it may be theirs */
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_UNKNOWN);
	CHECK_EQ(place.stride, 0);
	CHECK_EQ(place.start, (uintptr_t)&local);
	CHECK_EQ(place.end, UINT64_MAX);
	place = find((uintptr_t)other_memory_has_kinds); /* code of this program */
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_MODULE);
	CHECK_EQ(find((uintptr_t)variables_are_named_with_their_fields).owner, place.owner);
	place = find(8);
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_UNKNOWN);
	CHECK_STR(text_at(8), "(unknown)");
}

/* ---- annotations ------------------------------------------------------------------------------
 */

static void annotated_blocks_have_their_type(void)
{
	struct address_owner place;

	places_new();
	CHECK(mem_places_is_plain(places));
	annotate(BLOCK, "struct row", sizeof(struct row), 3);
	CHECK(!mem_places_is_plain(places));
	CHECK_STR(text_at(BLOCK + sizeof(struct row)), "struct row[1].id");
	place = find(BLOCK + 3 * sizeof(struct row) - 1);
	CHECK(place.annotated);
	CHECK(!place.variable);
	CHECK_EQ(place.index, 2);
	CHECK_EQ(place.start, BLOCK);
	CHECK_EQ(place.end, BLOCK + 3 * sizeof(struct row));
	CHECK_STR(text_at(BLOCK + 2 * sizeof(struct row) + offsetof(struct row, cells[1].key)),
		  "struct cell[1].key");
	CHECK(!find(BLOCK + 3 * sizeof(struct row)).annotated);
	CHECK(!find(BLOCK - 1).annotated);
	/* One element: without an index. */
	annotate(BLOCK + 0x1000, "cell", sizeof(struct cell), 1);
	CHECK_STR(text_at(BLOCK + 0x1000), "struct cell.key");
	/* malloc(n * sizeof(x)) as one element. */
	annotate(BLOCK + 0x2000, "struct cell", 4 * sizeof(struct cell), 1);
	CHECK_STR(text_at(BLOCK + 0x2000 + 3 * sizeof(struct cell)), "struct cell[3].key");
	/* Not with a tail, which may have any length. */
	annotate(BLOCK + 0x3000, "struct packet", 3 * sizeof(struct packet), 1);
	CHECK_EQ(find(BLOCK + 0x3000 + sizeof(struct packet)).index, 0);
	/* Not a multiple. */
	annotate(BLOCK + 0x4000, "struct cell", sizeof(struct cell) + 4, 2);
	CHECK_EQ(find(BLOCK + 0x4000).stride, sizeof(struct cell) + 4);
	CHECK_STR(text_at(BLOCK + 0x4000 + sizeof(struct cell)), "struct cell[0]");
}

static void annotations_come_and_go(void)
{
	places_new();
	annotate(BLOCK, "struct row", sizeof(struct row), 1);
	CHECK(find(BLOCK).annotated);
	annotation_ends(BLOCK);
	CHECK(!find(BLOCK).annotated);
	CHECK(mem_places_is_plain(places));
	annotate(BLOCK, "struct cell", sizeof(struct cell), 1);
	CHECK_STR(text_at(BLOCK), "struct cell.key");
	annotate((uintptr_t)&the_number, "struct cell", sizeof(struct cell), 1);
	CHECK_STR(text_of(&the_number), "struct cell.key"); /* before the variable */
	annotate(0, "struct cell", sizeof(struct cell), 1); /* not an address */
	CHECK(!find(0).annotated);
	annotate(BLOCK + 0x100, "struct cell", 0, 5); /* not a size */
	CHECK(!find(BLOCK + 0x100).annotated);
}

static void unknown_types_have_the_name_of_the_annotation(void)
{
	struct address_owner place;
	char name[16];
	unsigned i;

	places_new();
	annotate(BLOCK, "struct nowhere", 24, 2);
	CHECK_STR(text_at(BLOCK + 30), "struct nowhere[1]");
	place = find(BLOCK + 30);
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_NAMED);
	CHECK_EQ(mem_places_owner(places, place.owner)->size, 24);
	CHECK_EQ(place.offset, 6);
	annotate(BLOCK + 0x100, "double", 8, 4);
	place = find(BLOCK + 0x108);
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_NAMED);
	CHECK_EQ(mem_places_owner(places, place.owner)->size, 8);
	CHECK(mem_places_owner(places, place.owner)->type != 0);
	/* Many names: one owner each. */
	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "type%u", i);
		annotate(BLOCK + 0x1000 + 16 * i, name, 16, 1);
	}
	for (i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "type%u", i);
		CHECK_STR(text_at(BLOCK + 0x1000 + 16 * i), name);
	}
	CHECK_EQ(mem_places_count(places), 202);
	for (i = 0; i < 200; i++)
		CHECK(find(BLOCK + 0x1000 + 16 * i).annotated);
	CHECK_EQ(mem_places_count(places), 202);
}

/* ---- blocks of the heap ------------------------------------------------------------------------
 */

static const char *name_site(void *context, const struct heap_site *site)
{
	CHECK(context == &places);
	return site->pc < 0x3000 ? "first" : site->pc < 0x4000 ? "second" : "third";
}

static void blocks_belong_to_the_place_that_allocates_them(void)
{
	struct address_owner place;
	unsigned i;

	places_new();
	allocate(BLOCK, 64, 0x2000);
	place = find(BLOCK + 8);
	CHECK(mem_places_owner(places, place.owner)->kind != OWNER_SITE); /* they have no names */
	mem_places_name_sites(places, name_site, &places);
	places_new();
	mem_places_name_sites(places, name_site, &places);
	allocate(BLOCK, 64, 0x2000);
	allocate(BLOCK + 0x100, 32, 0x3000);
	allocate(BLOCK + 0x200, 32, 0x2008); /* the same place */
	for (i = 0; i < 100; i++)
		allocate(BLOCK + 0x1000 + 32 * i, 32, 0x5000 + i);
	place = find(BLOCK + 63);
	CHECK_EQ(mem_places_owner(places, place.owner)->kind, OWNER_SITE);
	CHECK_STR(text_at(BLOCK + 63), "first");
	CHECK_EQ(place.start, BLOCK);
	CHECK_EQ(place.end, BLOCK + 64);
	CHECK_EQ(place.stride, 0);
	CHECK_STR(text_at(BLOCK + 0x11f), "second");
	CHECK_EQ(find(BLOCK + 0x200).owner, place.owner);
	for (i = 0; i < 100; i++)
		CHECK_STR(text_at(BLOCK + 0x1000 + 32 * i), "third");
	CHECK(mem_places_owner(places, find(BLOCK + 64).owner)->kind != OWNER_SITE);
	release(BLOCK);
	CHECK(mem_places_owner(places, find(BLOCK + 8).owner)->kind != OWNER_SITE);
	CHECK_STR(text_at(BLOCK + 0x100), "second");
	CHECK_EQ(mem_places_blocks(places)->sites[1].blocks, 1);
}

/* Another process of the trace: its blocks are not counted. */
static void blocks_can_be_followed_without_being_counted(void)
{
	struct mem_record r = { .kind = MEM_ALLOC, .address = BLOCK, .value = 64, .pc = 0x2000 };

	places_new();
	mem_places_name_sites(places, name_site, &places);
	CHECK_EQ(mem_places_follow(places, &r), 0);
	CHECK_STR(text_at(BLOCK), "first");
	CHECK_EQ(mem_places_blocks(places)->sites[1].blocks, 0);
	r.kind = MEM_FREE;
	CHECK_EQ(mem_places_follow(places, &r), 0);
	CHECK(mem_places_owner(places, find(BLOCK + 8).owner)->kind != OWNER_SITE);
	r.kind = MEM_READ; /* other records change nothing */
	CHECK_EQ(mem_places_record(places, &r), 0);
}

static void other_bytes_of_an_access_are_found(void)
{
	struct address_owner place;

	places_new();
	place = find((uintptr_t)&the_rows[1].id);
	CHECK_EQ(mem_places_find_rest(places, (uintptr_t)&the_rows[3].id, 0x1000, &place), 0);
	CHECK_EQ(place.index, 3);
	CHECK_EQ(mem_places_find_rest(places, (uintptr_t)&the_number, 0x1000, &place), 0);
	CHECK_STR(mem_places_owner(places, place.owner)->name, "the_number");
	/* Code at another address, with the same place in the cache. */
	CHECK_EQ(mem_places_find(places, (uintptr_t)&the_numbers[2], 0x1000 ^ 0x1001000, &place),
		 0);
	CHECK_EQ(place.index, 2);
}

static void members_are_declared_as_in_c(void)
{
	static const char *const expected[] = {
		"const char * volatile text", "int * restrict alone",
		"_Atomic int counter",        "volatile " LONG_INT " changing",
		"int (*call)(int, char *)",   SHORT_INT " table[2][3]",
		"const void * const nothing", "unsigned int bits : 3",
	};
	const struct type *type = types_get(types, types_by_name(types, "struct spelled"));
	uint32_t i;

	CHECK_EQ(type->nr_members, 8);
	for (i = 0; i < 8; i++)
		CHECK_STR(type->members[i].text, expected[i]);
}

/* The object of libc in this process, if it is a library. */
static int read_c_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	static char path[4096];
	struct symbol_module *m = arg;

	if (!strstr(info->dlpi_name, "/libc.so"))
		return 0;
	own_module_read(info, size, m);
	snprintf(path, sizeof(path), "%s", info->dlpi_name);
	m->path = path;
	return 1;
}

static void the_c_library_is_recognized(void)
{
	struct symbol_module m = { 0 };

	CHECK(!types_is_c_library(types, (uintptr_t)the_c_library_is_recognized));
	CHECK(!types_is_c_library(types, 16)); /* in no module */
	if (!dl_iterate_phdr(read_c_library, &m))
		return;
	CHECK(types_push_module(types, &m));
	CHECK(types_is_c_library(types, m.start + (m.end - m.start) / 2));
	CHECK(types_is_c_library(types, m.start));
	CHECK(!types_is_c_library(types, (uintptr_t)the_c_library_is_recognized));
}

static void make_and_free(void)
{
	annotated_blocks_have_their_type();
	blocks_belong_to_the_place_that_allocates_them();
	mem_places_free(places);
	places = NULL;
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(make_and_free);
}

int main(void)
{
	types = own_types_open();
	RUN(variables_are_named_with_their_fields);
	RUN(arrays_inside_records_are_descended);
	RUN(other_memory_has_kinds);
	RUN(annotated_blocks_have_their_type);
	RUN(annotations_come_and_go);
	RUN(unknown_types_have_the_name_of_the_annotation);
	RUN(blocks_belong_to_the_place_that_allocates_them);
	RUN(blocks_can_be_followed_without_being_counted);
	RUN(other_bytes_of_an_access_are_found);
	RUN(members_are_declared_as_in_c);
	RUN(nothing_is_kept);
	RUN(the_c_library_is_recognized);
	mem_places_free(places);
	types_free(types);
	return the_packet != NULL;
}
