/* SPDX-License-Identifier: MIT */
/* elf_notes.c - find ELF notes in the memory of another process. */
#include "process/elf_notes.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/process_maps.h"
#include "base/io.h"

#if defined(__x86_64__)
#define HERE_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HERE_MACHINE EM_AARCH64
#else
#define HERE_MACHINE EM_NONE
#endif

#define PAGE_MASK UINT64_C(0xfff)

static bool elf_is_here(const Elf64_Ehdr *ehdr)
{
	return !memcmp(ehdr->e_ident, ELFMAG, SELFMAG) && ehdr->e_ident[EI_CLASS] == ELFCLASS64 &&
	       ehdr->e_machine == HERE_MACHINE;
}

/* Program header @i, if it is in the first @size bytes. */
static bool elf_phdr(const uint8_t *head, size_t size, const Elf64_Ehdr *ehdr, unsigned i,
		     Elf64_Phdr *out)
{
	uint64_t at;

	if (ehdr->e_phentsize != sizeof(*out) || ehdr->e_phoff > size)
		return false;
	at = ehdr->e_phoff + (uint64_t)i * sizeof(*out);
	if (at > size || size - at < sizeof(*out))
		return false;
	memcpy(out, head + at, sizeof(*out));
	return true;
}

/* The difference between addresses in memory and in the file; false without a first segment. */
static bool elf_bias(const uint8_t *head, size_t size, const Elf64_Ehdr *ehdr, uint64_t start,
		     uint64_t *bias)
{
	Elf64_Phdr phdr;
	unsigned i;

	for (i = 0; i < ehdr->e_phnum && elf_phdr(head, size, ehdr, i, &phdr); i++) {
		if (phdr.p_type == PT_LOAD && !(phdr.p_offset & ~PAGE_MASK)) {
			*bias = start - (phdr.p_vaddr & ~PAGE_MASK);
			return true;
		}
	}
	return false;
}

size_t elf_note_segments(const uint8_t *head, size_t size, uint64_t start,
			 struct note_segment out[ELF_NOTES_SEGMENTS])
{
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr;
	uint64_t bias;
	size_t nr = 0;
	unsigned i;

	if (size < sizeof(ehdr))
		return 0;
	memcpy(&ehdr, head, sizeof(ehdr));
	if (!elf_is_here(&ehdr) || !elf_bias(head, size, &ehdr, start, &bias))
		return 0;
	for (i = 0; i < ehdr.e_phnum && nr < ELF_NOTES_SEGMENTS; i++) {
		if (!elf_phdr(head, size, &ehdr, i, &phdr))
			break;
		if (phdr.p_type != PT_NOTE || !phdr.p_memsz)
			continue;
		out[nr++] = (struct note_segment){
			.address = bias + phdr.p_vaddr,
			.size = phdr.p_memsz < ELF_NOTES_BYTES ? phdr.p_memsz : ELF_NOTES_BYTES,
			.align = phdr.p_align == 8 ? 8 : 4,
		};
	}
	return nr;
}

static uint64_t align_up(uint64_t n, uint64_t align)
{
	return (n + align - 1) & ~(align - 1);
}

/* The note at *@at; false if there is none.  Moves *@at behind it. */
static bool note_read(const uint8_t *bytes, size_t size, uint64_t align, size_t *at,
		      char name[ELF_NOTES_DESC], struct elf_note *out)
{
	Elf64_Nhdr nhdr;
	uint64_t desc, next;

	if (size - *at < sizeof(nhdr))
		return false;
	memcpy(&nhdr, bytes + *at, sizeof(nhdr));
	desc = align_up(*at + sizeof(nhdr) + (uint64_t)nhdr.n_namesz, align);
	next = align_up(desc + nhdr.n_descsz, align);
	if (desc + nhdr.n_descsz > size)
		return false;
	memset(name, 0, ELF_NOTES_DESC);
	memcpy(name, bytes + *at + sizeof(nhdr),
	       nhdr.n_namesz < ELF_NOTES_DESC ? nhdr.n_namesz : ELF_NOTES_DESC - 1);
	out->name = name;
	out->type = nhdr.n_type;
	out->desc = bytes + desc;
	out->size = nhdr.n_descsz;
	out->address = desc;
	*at = next < size ? (size_t)next : size;
	return true;
}

/* Do the notes end where the bytes end, if this is their alignment? */
static bool notes_fit(const uint8_t *bytes, size_t size, uint64_t align)
{
	char name[ELF_NOTES_DESC];
	struct elf_note note;
	size_t at = 0;

	while (note_read(bytes, size, align, &at, name, &note))
		;
	return at == size;
}

bool elf_notes_walk(const uint8_t *bytes, size_t size, uint64_t address, uint64_t align,
		    elf_note_visitor *visit, void *ctx)
{
	char name[ELF_NOTES_DESC];
	struct elf_note note;
	size_t at = 0;

	/* mold puts all notes into one segment, with the largest of their alignments. */
	if (align != 4 && !notes_fit(bytes, size, align))
		align = 4;
	while (note_read(bytes, size, align, &at, name, &note)) {
		note.address += address;
		if (!visit(ctx, &note))
			return false;
	}
	return true;
}

/* The notes of one file, mapped at @start. */
static bool elf_visit_file(struct target *t, uint64_t start, elf_note_visitor *visit, void *ctx)
{
	struct note_segment segments[ELF_NOTES_SEGMENTS];
	uint8_t head[ELF_NOTES_HEAD];
	ssize_t got = target_read_some(t, start, head, sizeof(head));
	size_t nr = got > 0 ? elf_note_segments(head, (size_t)got, start, segments) : 0, i;
	bool more = true;

	for (i = 0; i < nr && more; i++) {
		uint8_t *bytes = malloc(segments[i].size);

		got = bytes ? target_read_some(t, segments[i].address, bytes, segments[i].size)
			    : -ENOMEM;
		if (got > 0)
			more = elf_notes_walk(bytes, (size_t)got, segments[i].address,
					      segments[i].align, visit, ctx);
		free(bytes);
	}
	return more;
}

/*
 * Check that the memory of the process may be read at all.  One mapping that cannot be read is not
 * a failure: it may be unmapped meanwhile, and the first one of a program with ThreadSanitizer is
 * never readable.
 */
static int elf_check_access(struct target *t, uint64_t address, struct err *err)
{
	struct err failure = { 0 };
	uint64_t byte;
	int rc = target_read(t, address, &byte, sizeof(byte), &failure);

	if (rc == 0 || rc == -EFAULT)
		return 0;
	*err = failure;
	return rc;
}

int elf_notes_each(struct target *t, elf_note_visitor *visit, void *ctx, struct err *err)
{
	struct process_maps maps;
	uint64_t byte;
	size_t i;
	int rc = process_maps_read(t->pid, &maps);

	if (rc < 0) {
		/* Reading memory needs the same rights, and explains why they are missing. */
		if (rc == -EACCES && target_read(t, 0, &byte, sizeof(byte), err) == -EPERM)
			return -EPERM;
		return err_set(err, rc, "cannot read the mappings of process %d: %s", (int)t->pid,
			       strerror(-rc));
	}
	if (maps.nr)
		rc = elf_check_access(t, maps.list[0].start, err);
	for (i = 0; rc == 0 && i < maps.nr; i++) {
		if (!maps.list[i].offset && maps.list[i].inode && maps.list[i].read &&
		    !elf_visit_file(t, maps.list[i].start, visit, ctx))
			break;
	}
	process_maps_free(&maps);
	return rc;
}

int elf_check_machine(pid_t pid, struct err *err)
{
	Elf64_Ehdr ehdr;
	char path[64];
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* reading its memory reports the error */
	memset(&ehdr, 0, sizeof(ehdr));
	got = io_pread(fd, &ehdr, sizeof(ehdr), 0);
	close(fd);
	if (got < EI_NIDENT || memcmp(ehdr.e_ident, ELFMAG, SELFMAG) != 0 || elf_is_here(&ehdr))
		return 0;
	if (ehdr.e_ident[EI_CLASS] == ELFCLASS32)
		return err_set(err, -ENOEXEC, "cannot trace process %d: it is a 32-bit program",
			       (int)pid);
	return err_set(err, -ENOEXEC,
		       "cannot trace process %d: it is a program for another machine (ELF %u)",
		       (int)pid, ehdr.e_machine);
}
