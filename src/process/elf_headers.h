/* SPDX-License-Identifier: MIT */
/* elf_headers.h - program headers and build-id of an ELF file, from memory or from the file. */
#ifndef PROCESS_ELF_HEADERS_H
#define PROCESS_ELF_HEADERS_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ELF_HEADERS_MAX 128
#define ELF_BUILD_ID    64 /* bytes */
/* In hexadecimal, terminated. */
#define ELF_BUILD_ID_TEXT (2 * ELF_BUILD_ID + 1)

struct elf_headers {
	Elf64_Phdr phdrs[ELF_HEADERS_MAX];
	size_t nr;
};

/* Where the bytes come from.  Returns the number of bytes read, or a negative errno. */
struct elf_source {
	ssize_t (*read)(const void *arg, uint64_t at, void *buf, size_t size);
	const void *arg;
};

/* False unless an ELF file for @machine, 64 bits, begins at @start. */
bool elf_headers_read(struct elf_headers *h, const struct elf_source *source, uint64_t start,
		      unsigned machine);

/* Find the build-id in the notes of a file that is loaded with @bias. */
bool elf_loaded_build_id(const struct elf_headers *h, const struct elf_source *source,
			 uint64_t bias, char text[ELF_BUILD_ID_TEXT]);

/* The same for a file that is read by offsets. */
bool elf_file_build_id(const struct elf_headers *h, const struct elf_source *source,
		       char text[ELF_BUILD_ID_TEXT]);

/* Find the build-id in @size bytes of notes. */
bool elf_notes_build_id(const void *notes, size_t size, char text[ELF_BUILD_ID_TEXT]);

#endif
