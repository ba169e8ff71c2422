/* SPDX-License-Identifier: MIT */
/*
 * fuzz_symbols.c - lookups of addresses in damaged ELF files return and do not crash.
 *
 * The input is an ELF file; functions and lines of many addresses are looked up in it.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_symbols COUNT FILE... changes fields of headers and bytes of sections of
 *               good files, and truncates them.
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
#include "symbols/symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed;

static uint32_t some(uint32_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

#ifndef FUZZ_LIBFUZZER
#include "fuzz/own_input.h"

static uint8_t *good, *changed;
static size_t good_size;

static void load(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	good_size = (size_t)st.st_size;
	good = malloc(good_size);
	changed = malloc(good_size);
	CHECK(good && changed && read(fd, good, good_size) == (ssize_t)good_size);
	close(fd);
}

/* ---- damage -------------------------------------------------------------- */

static uint64_t some_value(void)
{
	const uint64_t nasty[] = { 0,          1,          2,         0x800,
				   0x7fffffff, 0xffffffff, good_size, good_size - 1,
				   UINT64_MAX, 1ull << 63, some(20),  some(65536) };

	return some(3) ? nasty[some(sizeof(nasty) / sizeof(nasty[0]))] : some((uint32_t)good_size);
}

static size_t pick_section_byte(void)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	const Elf64_Shdr *all = (const Elf64_Shdr *)(good + e->e_shoff), *s;
	const char *names = (const char *)good + all[e->e_shstrndx].sh_offset;

	do {
		s = &all[some(e->e_shnum)];
	} while (!s->sh_size || s->sh_type == SHT_NOBITS ||
		 (strncmp(names + s->sh_name, ".debug", 6) != 0 && some(8)));
	return s->sh_offset + some((uint32_t)s->sh_size);
}

static void damage_once(void)
{
	static const uint8_t fields[] = { 4,    5,    16,   18,   0x20, 0x28,
					  0x34, 0x36, 0x38, 0x3a, 0x3c, 0x3e };
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)good;
	uint64_t value = some_value();
	size_t at, len = 1u << some(4);

	switch (some(8)) {
	case 0:
		at = e->e_shoff + some((uint32_t)sizeof(Elf64_Shdr) * e->e_shnum) / 4 * 4;
		break;
	case 1:
		at = fields[some(sizeof(fields))];
		len = at < 16 ? 1 : 2;
		break;
	case 2:
		at = e->e_phoff + some((uint32_t)sizeof(Elf64_Phdr) * e->e_phnum) / 8 * 8;
		break;
	default:
		at = pick_section_byte();
		break;
	}
	if (at + len <= good_size)
		memcpy(changed + at, &value, len);
}

#endif

/* ---- queries ------------------------------------------------------------- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), i;
	struct symbols *s = symbols_new();
	struct symbol_module module = { .pid = 1, .start = 0x1000, .end = 0x400000 };
	char path[64];

	seed = size;
	CHECK(s && fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	module.path = path;
	module.has_bias = some(2);
	if (!module.has_bias) {
		module.start = 0x555555555000;
		module.end = module.start + 0x400000;
		module.offset = 0x1000 * some(3);
	}
	CHECK(symbols_add(s, &module) == 0);
	for (i = 0; i < 100; i++) {
		uint64_t addr = module.start + some(0x10000);
		struct symbol out;

		CHECK(symbols_find_resume(s, 1, addr, &out));
		CHECK(out.module && (!out.file || out.line));
	}
	symbols_problem(s);
	symbols_free(s);
	close(fd);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 100, i;
	int file;

	for (file = 2; file < argc; file++) {
		load(argv[file]);
		for (i = 0; i < count; i++) {
			unsigned nr;

			seed = i * 7919 + (uint64_t)file;
			memcpy(changed, good, good_size);
			for (nr = i ? 1 + some(some(3) ? 3 : 30) : 0; nr; nr--)
				damage_once();
			alarm(60); /* an endless loop is a failure */
			own_input(changed, i && !some(20) ? some((uint32_t)good_size) : good_size);
		}
		free(good);
		free(changed);
	}
	printf("%d files, each damaged in %lu ways\n", argc - 2, count);
	return 0;
}
#endif
