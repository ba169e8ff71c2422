/* SPDX-License-Identifier: MIT */
/*
 * test_access_types.c - what the instructions of this program access, and the types that heap
 * blocks have by those accesses.
 *
 * It has functions with the names of a compiler's instrumentation, which note where they are called
 * from.
 */
#include <elf.h>
#include <stddef.h>

#include "memory/types/access_types.h"
#include "memory/types/block_types.h"
#include "memory/types/code_step.h"
#include "memory/types/own_types.h"

struct part {
	int key;
	long value;
};

struct whole {
	long id;
	struct part *part;
	struct part parts[3];
	double sum;
};

struct part part_value;
struct whole whole_value;

static struct types *types;
static struct access_types *accesses;
static uint64_t called_from; /* the address after the call */

void __tsan_read8(void *p);
void __tsan_write8(void *p);
void __tsan_read_range(void *p, size_t size);
void *__tsan_memcpy(void *to, const void *from, size_t size);
void __tsan_func_entry(void *pc);
void other_call(void *p);

#define NOTE_CALL() (called_from = (uintptr_t)__builtin_return_address(0))

__attribute__((noinline)) void __tsan_read8(void *p)
{
	(void)p;
	NOTE_CALL();
}

__attribute__((noinline)) void __tsan_write8(void *p)
{
	(void)p;
	NOTE_CALL();
}

__attribute__((noinline)) void __tsan_read_range(void *p, size_t size)
{
	(void)p;
	(void)size;
	NOTE_CALL();
}

__attribute__((noinline)) void *__tsan_memcpy(void *to, const void *from, size_t size)
{
	(void)from;
	(void)size;
	NOTE_CALL();
	return to;
}

__attribute__((noinline)) void __tsan_func_entry(void *pc)
{
	(void)pc;
	NOTE_CALL();
}

__attribute__((noinline)) void other_call(void *p)
{
	(void)p;
	NOTE_CALL();
}

/* ---- functions that access -------------------------------------------------------------- */

static __attribute__((noinline)) uint64_t write_value(struct part *p)
{
	__tsan_write8(&p->value);
	return called_from;
}

static __attribute__((noinline)) uint64_t read_sum(struct whole *w)
{
	__tsan_read8(&w->sum);
	return called_from;
}

/* Two calls in one function. */
static __attribute__((noinline)) void write_two(struct whole *w, uint64_t pcs[2])
{
	__tsan_write8(&w->id);
	pcs[0] = called_from;
	__tsan_write8(&w->part);
	pcs[1] = called_from;
}

static __attribute__((noinline)) uint64_t copy_part(struct whole *to, struct part *from)
{
	__tsan_memcpy(&to->parts[1], from, sizeof(*from));
	return called_from;
}

static __attribute__((noinline)) uint64_t read_parts(struct whole *w, size_t nr)
{
	__tsan_read_range(w->parts, nr * sizeof(*w->parts));
	return called_from;
}

static __attribute__((noinline)) uint64_t enter_function(struct whole *w)
{
	__tsan_func_entry(w);
	return called_from;
}

static __attribute__((noinline)) uint64_t call_another(struct whole *w)
{
	other_call(w);
	return called_from;
}

static __attribute__((noinline)) uint64_t write_bytes(char *p)
{
	__tsan_write8(p);
	return called_from;
}

/* ---- tests: accesses -------------------------------------------------------------------- */

static void check_access(uint64_t pc, bool is_write, const char *name, uint64_t offset)
{
	const struct access_type *found = access_types_find(accesses, pc, is_write);

	CHECK(found && found->is_record);
	CHECK_STR(types_get(types, found->type)->name, name);
	CHECK_EQ(found->offset, offset);
	CHECK(access_types_find(accesses, pc, is_write) == found); /* the same again */
}

static void an_access_is_in_a_field_of_its_type(void)
{
	uint64_t pcs[2];

	write_two(&whole_value, pcs);
	check_access(pcs[1], true, "struct whole", offsetof(struct whole, part));
	check_access(pcs[0], true, "struct whole", offsetof(struct whole, id));
	check_access(write_value(&part_value), true, "struct part", offsetof(struct part, value));
	check_access(read_sum(&whole_value), false, "struct whole", offsetof(struct whole, sum));
	check_access(pcs[0], true, "struct whole", offsetof(struct whole, id));
	CHECK(access_types_find(accesses, pcs[0], true)->is_exact);
}

/* The first argument of a copy is written, the second is read. */
static void a_copy_has_two_types(void)
{
	uint64_t pc = copy_part(&whole_value, &part_value);

	check_access(pc, true, "struct whole", offsetof(struct whole, parts[1]));
	check_access(pc, false, "struct part", 0);
	CHECK(!access_types_find(accesses, pc, true)->is_exact);
	pc = read_parts(&whole_value, 2);
	check_access(pc, false, "struct whole", offsetof(struct whole, parts));
	CHECK(!access_types_find(accesses, pc, false)->is_exact);
}

static void other_calls_are_no_accesses(void)
{
	CHECK(!access_types_find(accesses, enter_function(&whole_value), false));
	CHECK(!access_types_find(accesses, call_another(&whole_value), true));
	CHECK(!access_types_find(accesses, 0, true));
	CHECK(!access_types_find(accesses, 16, true)); /* in no module */
}

/* Of an access between the fields of a struct the struct is not known. */
static void an_access_tells_a_field_if_there_is_one(void)
{
	struct access_type *found = access_types_find(accesses, write_value(&part_value), true);
	struct access_type between = {
		.type = found->type, .offset = sizeof(int), .is_record = true, .is_exact = true
	};

	CHECK(access_tells_field(types, found, 8) && access_tells_field(types, found, 8));
	CHECK(access_tells_field(types, found, 3));
	CHECK(!access_tells_field(types, &between, 4) && !access_tells_field(types, &between, 4));
	CHECK(!access_tells_field(types, &between, 3));
	between.is_record = false;
	CHECK(access_tells_field(types, &between, 2));
	between.is_exact = false;
	CHECK(!access_tells_field(types, &between, 2) && !access_tells_field(types, NULL, 8));
}

/* ---- tests: blocks ---------------------------------------------------------------------- */

#define BLOCKS UINT64_C(0x7e0000001000)

static struct block_types *blocks;

static void record_block(uint8_t kind, uint64_t address, uint64_t size, uint64_t pc)
{
	struct mem_record r = { .kind = kind, .address = address, .value = size, .pc = pc };

	CHECK_EQ(block_types_vote(blocks, &r), 0);
}

static void vote(uint64_t address, uint64_t pc, bool is_write, uint8_t size)
{
	struct mem_access access = {
		.address = address, .pc = pc, .size = size, .is_write = is_write
	};

	CHECK_EQ(block_types_vote_run(blocks, &access, 1, 1), 0);
}

static const struct block_group *group_of(uint64_t pc, uint64_t size)
{
	struct heap_site site = { .pc = pc };

	return block_types_find(blocks, &site, size);
}

static void check_group(uint64_t pc, uint64_t size, const char *name)
{
	const struct block_group *g = group_of(pc, size);

	CHECK(g && g->pc == pc && g->size == size);
	CHECK_STR(g->type ? types_get(types, g->type)->name : "", name);
}

/* Blocks from 100 calls: every third is a part, every third a whole, the others bytes. */
static void blocks_have_the_type_of_their_accesses(void)
{
	uint64_t value = write_value(&part_value), sum = read_sum(&whole_value), text;
	struct heap_site bytes = { .pc = 2 }, typed = { .pc = 3 }, unknown = { .pc = 1000 };
	char name[8];
	uint64_t i;

	text = write_bytes(name);
	blocks = block_types_new(types, accesses);
	CHECK(blocks);
	for (i = 0; i < 100; i++) {
		uint64_t at = BLOCKS + 4096 * i;

		record_block(MEM_ALLOC, at, i % 3 ? sizeof(struct whole) : sizeof(struct part), i);
		if (i % 3 == 0)
			vote(at + offsetof(struct part, value), value, true, 8);
		else if (i % 3 == 1)
			vote(at + offsetof(struct whole, sum), sum, false, 8);
		else
			vote(at + 3, text, true, 1);
		if (i % 2)
			record_block(MEM_FREE, at, 0, 0);
	}
	/* Two elements from the call of one. */
	record_block(MEM_ALLOC, BLOCKS - 4096, 2 * sizeof(struct part), 3);
	vote(BLOCKS - 4096 + sizeof(struct part) + offsetof(struct part, value), value, true, 8);
	block_types_decide(blocks);
	CHECK_EQ(block_types_groups(blocks), 101);
	for (i = 0; i < 100; i++)
		check_group(i, i % 3 ? sizeof(struct whole) : sizeof(struct part),
			    i % 3 == 0   ? "struct part"
			    : i % 3 == 1 ? "struct whole"
					 : "");
	check_group(3, 2 * sizeof(struct part), "struct part");
	CHECK(!group_of(1, 5) && !group_of(100, sizeof(struct part)));
	CHECK(!block_types_group(blocks, 0) && block_types_group(blocks, 101));
	CHECK(!block_types_group(blocks, 102));
	CHECK(block_types_is_bytes(blocks, &bytes));
	CHECK(!block_types_is_bytes(blocks, &typed) && !block_types_is_bytes(blocks, &unknown));
	block_types_free(blocks);
}

int main(void)
{
	if (!code_machine(EM_X86_64))
		SKIP("no disassembler");
	types = own_types_open();
	accesses = access_types_new(types);
	CHECK(accesses);
	RUN(an_access_is_in_a_field_of_its_type);
	RUN(a_copy_has_two_types);
	RUN(other_calls_are_no_accesses);
	RUN(an_access_tells_a_field_if_there_is_one);
	RUN(blocks_have_the_type_of_their_accesses);
	access_types_free(accesses);
	types_free(types);
	return 0;
}
