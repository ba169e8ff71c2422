/* SPDX-License-Identifier: MIT */
/* elf_headers.c - read program headers and build-ids, checked. */
#include "process/elf_headers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELF_NOTES_MAX 65536

bool elf_notes_build_id(const void *notes, size_t size, char text[ELF_BUILD_ID_TEXT])
{
	const unsigned char *at = notes;
	Elf64_Nhdr note;

	while (size >= sizeof(note)) {
		size_t name, desc, i;

		memcpy(&note, at, sizeof(note));
		name = ((size_t)note.n_namesz + 3) & ~(size_t)3;
		desc = ((size_t)note.n_descsz + 3) & ~(size_t)3;
		at += sizeof(note);
		size -= sizeof(note);
		if (name > size || note.n_descsz > size - name)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(at, "GNU", 4) &&
		    note.n_descsz && note.n_descsz <= ELF_BUILD_ID) {
			for (i = 0; i < note.n_descsz; i++)
				snprintf(text + 2 * i, 3, "%02x", at[name + i]);
			return true;
		}
		if (desc > size - name)
			return false;
		at += name + desc;
		size -= name + desc;
	}
	return false;
}

bool elf_headers_read(struct elf_headers *h, const struct elf_source *source, uint64_t start,
		      unsigned machine)
{
	Elf64_Ehdr e;
	size_t size;

	h->nr = 0;
	if (source->read(source->arg, start, &e, sizeof(e)) != (ssize_t)sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_machine != machine || e.e_phentsize != sizeof(h->phdrs[0]) ||
	    e.e_phnum > ELF_HEADERS_MAX)
		return false;
	size = e.e_phnum * sizeof(h->phdrs[0]);
	if (!size || source->read(source->arg, start + e.e_phoff, h->phdrs, size) != (ssize_t)size)
		return false;
	h->nr = e.e_phnum;
	return true;
}

static bool notes_read(const struct elf_source *source, uint64_t at, uint64_t size, char *text)
{
	bool found = false;
	ssize_t got;
	void *notes;

	if (!size || size > ELF_NOTES_MAX)
		return false;
	notes = malloc(size);
	if (!notes)
		return false;
	got = source->read(source->arg, at, notes, size);
	if (got > 0)
		found = elf_notes_build_id(notes, (size_t)got, text);
	free(notes);
	return found;
}

bool elf_loaded_build_id(const struct elf_headers *h, const struct elf_source *source,
			 uint64_t bias, char text[ELF_BUILD_ID_TEXT])
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		if (h->phdrs[i].p_type == PT_NOTE &&
		    notes_read(source, h->phdrs[i].p_vaddr + bias, h->phdrs[i].p_filesz, text))
			return true;
	}
	return false;
}

bool elf_file_build_id(const struct elf_headers *h, const struct elf_source *source,
		       char text[ELF_BUILD_ID_TEXT])
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		if (h->phdrs[i].p_type == PT_NOTE &&
		    notes_read(source, h->phdrs[i].p_offset, h->phdrs[i].p_filesz, text))
			return true;
	}
	return false;
}
