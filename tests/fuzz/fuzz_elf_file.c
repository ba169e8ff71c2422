/* SPDX-License-Identifier: MIT */
/*
 * fuzz_elf_file.c - the reader of notes and needed libraries against a hostile file.
 *
 * The input is the file.  A file that is left as it was made has the note and needs the library.
 */
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <corotracer/request.h>

#include "process/elf_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t nr_noted, nr_needing;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	nr_noted += elf_file_has_note(fd, CTP_NOTE_NAME, CTP_NOTE_REQUEST);
	nr_needing += elf_file_needs(fd, "libcorotracer.so");
	close(fd);
	return 0;
}

#ifndef FUZZ_LIBFUZZER

#include "own_input.h"

#define ADDRESS UINT64_C(0x10000)

static uint64_t state = UINT64_C(0x2545f4914f6cdd1d);

static size_t roll_below(size_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state % below);
}

struct small_file {
	Elf64_Ehdr ehdr;
	Elf64_Phdr load, note, dynamic;
	uint32_t head[3];
	char name[12];
	uint64_t desc;
	Elf64_Dyn entries[3];
	char names[32];
};

static struct small_file make_file(void)
{
	struct small_file f = {
		.ehdr = { .e_phoff = offsetof(struct small_file, load),
			  .e_phentsize = sizeof(Elf64_Phdr),
			  .e_phnum = 3 },
		.load = { .p_type = PT_LOAD, .p_vaddr = ADDRESS, .p_filesz = sizeof(f) },
		.note = { .p_type = PT_NOTE,
			  .p_offset = offsetof(struct small_file, head),
			  .p_filesz = 32,
			  .p_align = 4 },
		.dynamic = { .p_type = PT_DYNAMIC,
			     .p_offset = offsetof(struct small_file, entries),
			     .p_filesz = sizeof(f.entries) },
		.head = { 11, 8, CTP_NOTE_REQUEST },
		.name = CTP_NOTE_NAME,
		.entries = { { DT_NEEDED, { 1 } },
			     { DT_STRTAB, { ADDRESS + offsetof(struct small_file, names) } },
			     { DT_NULL, { 0 } } },
		.names = "\0libcorotracer.so.0",
	};

	memcpy(f.ehdr.e_ident, ELFMAG, SELFMAG);
	f.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	return f;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 5000, i;

	for (i = 0; i < rounds; i++) {
		struct small_file f = make_file();
		uint8_t *bytes = (uint8_t *)&f;
		size_t size = sizeof(f), changes = roll_below(6);

		while (changes--)
			bytes[roll_below(size)] = (uint8_t)(roll_below(3) ? roll_below(256) : 0xff);
		if (roll_below(4) == 0)
			size = roll_below(size) + 1;
		own_input(bytes, size);
	}
	printf("%lu inputs: %llu with the note, %llu that need the library\n", rounds,
	       (unsigned long long)nr_noted, (unsigned long long)nr_needing);
	return rounds >= 1000 && (nr_noted < rounds / 6 || nr_noted == rounds ||
				  nr_needing < rounds / 6 || nr_needing == rounds);
}

#endif
