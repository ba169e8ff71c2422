/* SPDX-License-Identifier: MIT */
/*
 * fuzz_coroutine_types.c - coroutines, futures and stacks of damaged ELF files: reading returns,
 * and what it returns fits.
 *
 * The input is an ELF file.  All its coroutine functions are read with their layout and suspend
 * points, its futures of Rust with tasks of random bytes, and stacks of random words are unwound
 * with its call frame information.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_coroutine_types COUNT FILE... changes bytes of sections and headers.
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
#include "symbols/coroutine_types.h"
#include "symbols/native_stack.h"
#include "symbols/rust_futures.h"

#define TYPES_MAX 64 /* of a file: a damaged symbol table may have any number */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t type_seed;

static uint64_t type_random(void)
{
	type_seed = type_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return type_seed >> 31;
}

/* ---- what is read -------------------------------------------------------------- */

static void type_check(const struct coro_type *type)
{
	size_t i;

	CHECK(type->function);
	if (type->has_index && type->has_layout)
		CHECK(type->index_size >= 1 && type->index_size <= 8 &&
		      type->index_offset + type->index_size <= type->size);
	for (i = 0; i < type->nr_points; i++) {
		CHECK(coro_type_point(type, type->points[i].index));
		CHECK(!type->points[i].file || type->points[i].line);
	}
	for (i = 0; i < type->nr_fields; i++)
		CHECK(type->fields[i].size && type->fields[i].size <= 64 &&
		      type->fields[i].nr_handles <= CORO_FIELD_HANDLES);
}

static void types_check_all(struct coro_types *types)
{
	size_t nr = coro_types_count(types), i;

	for (i = 0; i < nr && i < TYPES_MAX; i++) {
		const struct coro_type *type = coro_types_get(types, i);
		int64_t at = coro_types_at(types, type->resume);

		type_check(type);
		CHECK(at < (int64_t)nr);
		CHECK(coro_types_find(types, type->resume, type_random()) < (int64_t)nr);
		coro_type_has_index(type, type_random() % 64);
	}
	coro_types_problem(types);
}

/* Mostly small numbers: they are states and lengths. */
static bool type_read_random(void *arg, uint64_t addr, void *buf, size_t size)
{
	unsigned char *to = buf;

	(void)arg, (void)addr;
	while (size--)
		*to++ = (unsigned char)(type_random() % 4 ? type_random() % 8 : type_random());
	return type_random() % 16 != 0;
}

static void futures_check_all(struct coro_types *types)
{
	struct rust_futures *rf = rust_futures_new();
	struct Dwfl_Module *module = coro_types_module(types, 0);
	struct rust_stack stack;
	size_t i, k;

	CHECK(rf);
	if (module)
		CHECK(rust_futures_add(rf, module) == 0);
	for (i = 0; i < rust_futures_count(rf) && i < TYPES_MAX; i++) {
		for (k = 0; k < 8; k++) {
			if (rust_futures_read(rf, i, 0x10000, type_read_random, NULL, &stack))
				CHECK(stack.nr <= RUST_DEPTH_MAX);
		}
	}
	rust_futures_free(rf);
}

/* A stack of return addresses into the file, and of addresses of itself. */
static bool stack_read_random(void *arg, uint64_t addr, uint64_t *word)
{
	(void)arg;
	*word = type_random() % 2 ? 0x1000 + type_random() % 0x8000
				  : addr + type_random() % 64 * sizeof(*word);
	return type_random() % 64 != 0;
}

static void stacks_check(const struct symbol_module *module, const char *path)
{
	static struct native_frame frames[NATIVE_FRAMES_MAX];
#if defined(__aarch64__)
	struct native_unwinder *u = native_unwinder_new(EM_AARCH64);
#else
	struct native_unwinder *u = native_unwinder_new(EM_X86_64);
#endif
	uint64_t registers[17];
	bool is_complete;
	int i, k;

	CHECK(u);
	native_unwinder_add(u, module, path);
	for (i = 0; i < 16; i++) {
		struct native_start start = { .registers = registers,
					      .nr_registers = 17,
					      .sp = 0x7ffff000,
					      .pc = 0x1000 + type_random() % 0x8000,
					      .read = stack_read_random };

		for (k = 0; k < 17; k++)
			registers[k] = 0x7ffff000 + type_random() % 512;
		CHECK(native_stack_unwind(u, &start, frames, &is_complete) <= NATIVE_FRAMES_MAX);
	}
	native_unwinder_free(u);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	struct coro_types *types = coro_types_new();
	struct symbol_module module = { .pid = 1, .end = 0x400000, .has_bias = true };
	char path[64];

	type_seed = size;
	CHECK(types && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	module.path = path;
	CHECK(coro_types_add(types, &module, path) >= 0);
	types_check_all(types);
	futures_check_all(types);
	stacks_check(&module, path);
	coro_types_free(types);
	close(fd);
	return 0;
}

/* ---- damage -------------------------------------------------------------------- */

#ifndef FUZZ_LIBFUZZER
#include "fuzz/own_input.h"

static bool section_matters(const char *name)
{
	return !strncmp(name, ".debug", 6) || !strcmp(name, ".symtab") ||
	       !strcmp(name, ".strtab") || !strcmp(name, ".eh_frame") ||
	       !strcmp(name, ".eh_frame_hdr") || !strcmp(name, ".text");
}

static size_t type_damage_place(const uint8_t *good)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	const Elf64_Shdr *all = (const Elf64_Shdr *)(good + e->e_shoff), *s;
	const char *names = (const char *)good + all[e->e_shstrndx].sh_offset;

	if (type_random() % 10 == 0) /* the header of a section */
		return e->e_shoff + type_random() % (sizeof(Elf64_Shdr) * e->e_shnum) / 8 * 8;
	do {
		s = &all[type_random() % e->e_shnum];
	} while (!s->sh_size || s->sh_type == SHT_NOBITS || !section_matters(names + s->sh_name));
	return s->sh_offset + type_random() % s->sh_size;
}

static void type_damage(const uint8_t *good, uint8_t *changed, size_t size)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, 8, 0x40, 0x55 };
	uint64_t nr = 1 + type_random() % (type_random() % 3 ? 4 : 60);

	while (nr--) {
		size_t at = type_damage_place(good), len = 1 + type_random() % 8;
		uint64_t value = type_random() % 2
					 ? edges[type_random() % 8] * 0x0101010101010101ull
					 : type_random();

		if (at + len <= size)
			memcpy(changed + at, &value, len);
	}
}

static void type_damage_file(const char *path, unsigned long count, uint64_t number)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	uint8_t *good, *changed;
	unsigned long i;
	size_t size;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	size = (size_t)st.st_size;
	good = malloc(size);
	changed = malloc(size);
	CHECK(good && changed && read(fd, good, size) == (ssize_t)size);
	close(fd);
	for (i = 0; i < count; i++) {
		type_seed = i * 7919 + number;
		memcpy(changed, good, size);
		if (i)
			type_damage(good, changed, size);
		alarm(60); /* an endless loop is a failure */
		own_input(changed, i && type_random() % 20 == 0 ? type_random() % size : size);
	}
	free(good);
	free(changed);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100;
	int file;

	for (file = 2; file < argc; file++)
		type_damage_file(argv[file], count, (uint64_t)file);
	printf("%d files, each damaged in %lu ways\n", argc - 2, count);
	return 0;
}
#endif
