/* SPDX-License-Identifier: MIT */
/*
 * elf_notes.h - ELF notes in the memory of another process.
 *
 * Notes in an allocated segment (PT_NOTE) are mapped with the program and its libraries, and
 * survive `strip`.  Everything is read from memory, so deleted files and other mount namespaces
 * make no difference.  The process is untrusted: headers and notes are copied, and every count is
 * limited.
 */
#ifndef PROCESS_ELF_NOTES_H
#define PROCESS_ELF_NOTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "process/target_memory.h"

/* Bytes at the start of a file with the ELF header and the program headers. */
#define ELF_NOTES_HEAD     4096u
#define ELF_NOTES_SEGMENTS 16u
#define ELF_NOTES_BYTES    (1u << 20) /* of one segment */
#define ELF_NOTES_DESC     64u

struct note_segment {
	uint64_t address, size, align;
};

/*
 * The note segments of an ELF file whose first @size bytes are @head, mapped at @start.  Returns
 * their number, at most ELF_NOTES_SEGMENTS; 0 for a file that is not ELF of this machine.
 */
size_t elf_note_segments(const uint8_t *head, size_t size, uint64_t start,
			 struct note_segment out[ELF_NOTES_SEGMENTS]);

struct elf_note {
	const char *name; /* terminated */
	uint32_t type;
	uint64_t address; /* of desc, in the process */
	const uint8_t *desc;
	size_t size;
};

/* Called for each note; false ends the walk. */
typedef bool elf_note_visitor(void *ctx, const struct elf_note *note);

/* The notes in @size bytes at @bytes, which are at @address in the process. */
bool elf_notes_walk(const uint8_t *bytes, size_t size, uint64_t address, uint64_t align,
		    elf_note_visitor *visit, void *ctx);

/* The notes of all files that the process has mapped. */
int elf_notes_each(struct target *t, elf_note_visitor *visit, void *ctx, struct err *err);

/* An error if the program of the process is not for this machine, 32-bit programs included. */
int elf_check_machine(pid_t pid, struct err *err);

#endif
