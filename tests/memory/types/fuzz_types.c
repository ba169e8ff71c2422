/* SPDX-License-Identifier: MIT */
/*
 * fuzz_types.c - types of any ELF file: no crash and no endless loop.
 *
 * The input is an ELF file.  All queries are made, and the answers must be
 * consistent.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_types COUNT FILE... changes bytes of valid files, mostly in their debug
 *               sections.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "memory/layout/members.h"
#include "memory/types/address_owner.h"
#include "memory/types/types.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed = 1;

static uint32_t some(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

#ifndef FUZZ_LIBFUZZER
#include "../../fuzz/own_input.h"

static uint8_t *load(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *data;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	*size = (size_t)st.st_size;
	data = malloc(*size);
	CHECK(data && read(fd, data, *size) == (ssize_t)*size);
	close(fd);
	return data;
}

/* ---- damage -------------------------------------------------------------- */

/* The bytes of a section whose name begins with ".debug", or of all of the file. */
static void pick_range(const uint8_t *data, size_t size, size_t *from, size_t *to)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)data;
	const Elf64_Shdr *s = (const Elf64_Shdr *)(data + e->e_shoff);
	const char *names = (const char *)data + s[e->e_shstrndx].sh_offset;
	unsigned tries;

	*from = 0;
	*to = size;
	for (tries = 0; tries < 64 && some(8); tries++) {
		const Elf64_Shdr *one = &s[some(e->e_shnum)];

		if (strncmp(names + one->sh_name, ".debug", 6) != 0 || !one->sh_size)
			continue;
		*from = one->sh_offset;
		*to = one->sh_offset + one->sh_size;
		return;
	}
}

static void damage(uint8_t *data, const uint8_t *good, size_t size)
{
	static const uint8_t nasty[] = { 0, 1, 0x7f, 0x80, 0xff };
	unsigned nr = 1 + some(some(4) ? 4 : 40);
	size_t from, to;

	memcpy(data, good, size);
	while (nr--) {
		pick_range(good, size, &from, &to);
		data[from + some((uint32_t)(to - from))] = some(3) ? (uint8_t)some(256)
								   : nasty[some(sizeof(nasty))];
	}
}

#endif

/* ---- queries ------------------------------------------------------------- */

static void ask_leaves(const struct types *t, uint32_t number)
{
	const struct type *type = types_get(t, number);
	uint64_t at = 0, end;
	unsigned steps = 0;

	while (at < type->size && steps++ < 5000) {
		uint32_t leaf = types_leaf_at(t, number, at, 1 + some(16), &end);

		CHECK(end > at);
		CHECK(leaf >= LEAF_BEYOND || leaf < type->nr_leaves);
		if (leaf < LEAF_BEYOND)
			CHECK(type->leaves[leaf].path && type->leaves[leaf].type_name);
		at = end;
	}
}

static void ask_pieces(const struct types *t, uint32_t number)
{
	const struct type *type = types_get(t, number);
	struct pieces p;
	struct shape *s;
	char *text;

	if (pieces_obstacle(type))
		return;
	CHECK(pieces_init(&p, t, number) == 0);
	s = shape_new(&p, "as it is");
	CHECK(s != NULL);
	shape_settle(s, 64, 64);
	text = shape_text(s, 64);
	CHECK(text != NULL);
	free(text);
	shape_free(s);
	pieces_release(&p);
}

static void ask_all(struct types *t, uint64_t from, uint64_t to)
{
	static const char *const names[] = { "struct plain",  "struct inner", "nameless_t",
					     "struct around", "shop::Item",   "Box<double>",
					     "int",           "struct tail" };
	struct mem_places *places = mem_places_new(t);
	char text[200];
	uint32_t i;

	CHECK(places != NULL);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		types_by_name(t, names[i]);
	for (i = 0; i < 400; i++) {
		struct address_owner place;
		uint64_t address = from + some((uint32_t)(to - from));

		CHECK(mem_places_find(places, address, i % 7, &place) == 0);
		CHECK(address >= place.start && address < place.end);
		mem_places_text(places, &place, text, sizeof(text));
	}
	for (i = 1; i < types_count(t); i++) {
		const struct type *type = types_get(t, i);

		CHECK(type->name != NULL);
		CHECK(type->nr_members <= TYPE_MEMBERS_MAX && type->nr_leaves <= TYPE_LEAVES_MAX);
		ask_leaves(t, i);
		ask_pieces(t, i);
	}
	types_problem(t);
	mem_places_free(places);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct cray_module module = { .start = 0x1000, .end = 0x400000 };
	struct mem_facts facts = { 0 };
	struct types *t = types_new();
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	char path[64];

	seed = size;
	CHECK(t && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	CHECK(mem_facts_add_module(&facts, &module, path) == 0);
	CHECK(types_add_modules(t, &facts) == 0);
	ask_all(t, 0x1000, 0x8000);
	types_free(t);
	mem_facts_release(&facts);
	close(fd);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, i;
	int file;

	for (file = 2; file < argc; file++) {
		size_t size;
		uint8_t *good = load(argv[file], &size), *data = malloc(size);

		CHECK(data != NULL);
		own_input(good, size); /* as it is */
		for (i = 0; i < count; i++) {
			seed = i * 1000 + (uint64_t)file;
			damage(data, good, size);
			alarm(60); /* an endless loop is a failure */
			own_input(data, size);
		}
		free(good);
		free(data);
	}
	printf("%lu files, each damaged in %lu ways\n", (unsigned long)(argc - 2), count);
	return 0;
}
#endif
