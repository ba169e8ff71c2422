/* SPDX-License-Identifier: MIT */
/* elf_file.c - notes and needed libraries of an ELF file. */
#include "process/elf_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/elf_notes.h"

/* More program headers, or entries of the dynamic section, are not read. */
#define ELF_FILE_SEGMENTS 64u
#define ELF_FILE_DYNAMIC  4096u

struct elf_segments {
	Elf64_Phdr at[ELF_FILE_SEGMENTS];
	size_t nr;
};

static bool elf_file_segments(int fd, struct elf_segments *s)
{
	Elf64_Ehdr ehdr;
	ssize_t got = pread(fd, &ehdr, sizeof(ehdr), 0);
	size_t nr;

	s->nr = 0;
	if (got != sizeof(ehdr) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 ||
	    ehdr.e_ident[EI_CLASS] != ELFCLASS64 || ehdr.e_phentsize != sizeof(s->at[0]) ||
	    ehdr.e_phoff > INT64_MAX)
		return false;
	nr = ehdr.e_phnum < ELF_FILE_SEGMENTS ? ehdr.e_phnum : ELF_FILE_SEGMENTS;
	got = pread(fd, s->at, nr * sizeof(s->at[0]), (off_t)ehdr.e_phoff);
	s->nr = got > 0 ? (size_t)got / sizeof(s->at[0]) : 0;
	return s->nr > 0;
}

/* The bytes of a segment, at most @limit; the caller frees them. */
static uint8_t *elf_file_read(int fd, const Elf64_Phdr *p, size_t limit, size_t *size)
{
	size_t want = p->p_filesz < limit ? (size_t)p->p_filesz : limit;
	uint8_t *bytes = p->p_offset <= INT64_MAX && want ? malloc(want) : NULL;
	ssize_t got = bytes ? pread(fd, bytes, want, (off_t)p->p_offset) : -1;

	*size = got > 0 ? (size_t)got : 0;
	return bytes;
}

/* ---- notes ---------------------------------------------------------------- */

struct elf_wanted {
	const char *name;
	uint32_t type;
	bool found;
};

static bool elf_file_visit(void *ctx, const struct elf_note *note)
{
	struct elf_wanted *w = ctx;

	w->found = w->found || (!strcmp(note->name, w->name) && note->type == w->type);
	return !w->found;
}

bool elf_file_has_note(int fd, const char *name, uint32_t type)
{
	struct elf_wanted wanted = { name, type, false };
	struct elf_segments s;
	size_t i, size;

	if (!elf_file_segments(fd, &s))
		return false;
	for (i = 0; i < s.nr && !wanted.found; i++) {
		uint8_t *bytes;

		if (s.at[i].p_type != PT_NOTE)
			continue;
		bytes = elf_file_read(fd, &s.at[i], ELF_NOTES_BYTES, &size);
		elf_notes_walk(bytes, size, 0, s.at[i].p_align == 8 ? 8 : 4, elf_file_visit,
			       &wanted);
		free(bytes);
	}
	return wanted.found;
}

/* ---- libraries ------------------------------------------------------------ */

/* The offset in the file of an address in memory; false if it is in no segment. */
static bool elf_file_offset(const struct elf_segments *s, uint64_t address, uint64_t *offset)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		const Elf64_Phdr *p = &s->at[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_filesz) {
			*offset = p->p_offset + (address - p->p_vaddr);
			return *offset <= INT64_MAX / 2;
		}
	}
	return false;
}

static bool elf_file_text_begins(int fd, uint64_t offset, const char *prefix)
{
	char text[64];
	size_t size = strlen(prefix);

	return size <= sizeof(text) && offset <= INT64_MAX &&
	       pread(fd, text, size, (off_t)offset) == (ssize_t)size && !memcmp(text, prefix, size);
}

static bool elf_file_names(int fd, const struct elf_segments *s, const Elf64_Dyn *at, size_t nr,
			   const char *prefix)
{
	uint64_t names = 0;
	size_t i;

	for (i = 0; i < nr; i++) {
		if (at[i].d_tag == DT_STRTAB && !elf_file_offset(s, at[i].d_un.d_ptr, &names))
			return false;
	}
	for (i = 0; names && i < nr; i++) {
		if (at[i].d_tag == DT_NEEDED && at[i].d_un.d_val <= UINT32_MAX &&
		    elf_file_text_begins(fd, names + at[i].d_un.d_val, prefix))
			return true;
	}
	return false;
}

bool elf_file_needs(int fd, const char *prefix)
{
	struct elf_segments s;
	bool found = false;
	size_t i, size;

	if (!elf_file_segments(fd, &s))
		return false;
	for (i = 0; i < s.nr && !found; i++) {
		uint8_t *bytes;

		if (s.at[i].p_type != PT_DYNAMIC)
			continue;
		bytes = elf_file_read(fd, &s.at[i], ELF_FILE_DYNAMIC * sizeof(Elf64_Dyn), &size);
		found = bytes && elf_file_names(fd, &s, (const Elf64_Dyn *)(void *)bytes,
						size / sizeof(Elf64_Dyn), prefix);
		free(bytes);
	}
	return found;
}
