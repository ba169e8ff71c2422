/* SPDX-License-Identifier: MIT */
/* core_file.c - parse the headers of an ELF core file. */
#include "process/core_file.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/image_backend.h"
#include "process/map_guard.h"

/* ---- the file ------------------------------------------------------------ */

static int core_map(struct core_file *core, const char *path, struct err *err)
{
	struct stat st;
	void *data;

	core->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (core->fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	if (fstat(core->fd, &st) < 0)
		return err_errno(err, "cannot read '%s'", path);
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EINVAL, "cannot read core file '%s': it is not a file", path);
	if (st.st_size < (off_t)sizeof(Elf64_Ehdr))
		return err_set(err, -ENOEXEC, "cannot read core file '%s': it is too short", path);
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, core->fd, 0);
	if (data == MAP_FAILED)
		return err_errno(err, "cannot read '%s'", path);
	core->data = data;
	core->size = (uint64_t)st.st_size;
	map_guard_add(data, core->size, PROT_READ);
	return 0;
}

static int core_check_type(const struct core_file *core, const char *path, Elf64_Ehdr *e,
			   struct err *err)
{
	char what[300];
	int rc;

	memcpy(e, core->data, sizeof(*e));
	if (memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_type != ET_CORE) {
		err_set(err, -ENOEXEC, "cannot read '%s': it is not a core file", path);
		if (!memcmp(e->e_ident, "\x28\xb5\x2f\xfd", 4) ||
		    !memcmp(e->e_ident, "\x1f\x8b", 2))
			err_hint(err, "it is compressed: decompress it first; for systemd: "
				      "coredumpctl dump -o FILE");
		else
			err_hint(err, "a running process is given as -p PID, a program that is to "
				      "be started as -- CMD");
		return -ENOEXEC;
	}
	snprintf(what, sizeof(what), "core file '%.250s'", path);
	rc = image_check_machine(core->data, core->size, what, err);
	if (!rc && e->e_phentsize != sizeof(Elf64_Phdr))
		rc = err_set(err, -ENOEXEC, "cannot read %s: its headers are corrupt", what);
	return rc;
}

/* ---- program headers ----------------------------------------------------- */

/* The number of program headers; PN_XNUM: it is in the first section header. */
static uint64_t core_count_headers(const struct core_file *core, const Elf64_Ehdr *e)
{
	uint64_t nr = e->e_phnum;
	Elf64_Shdr section;

	if (nr == PN_XNUM && e->e_shoff && core->size >= sizeof(section) &&
	    e->e_shoff <= core->size - sizeof(section)) {
		memcpy(&section, core->data + e->e_shoff, sizeof(section));
		nr = section.sh_info;
	}
	return nr;
}

static void core_add_segment(struct core_file *core, const Elf64_Phdr *p)
{
	struct core_segment *s = &core->segments[core->nr_segments];

	if (!p->p_memsz || p->p_vaddr + p->p_memsz < p->p_vaddr)
		return;
	*s = (struct core_segment){
		.start = p->p_vaddr,
		.end = p->p_vaddr + p->p_memsz,
		.offset = p->p_offset,
		.dumped = p->p_filesz < p->p_memsz ? p->p_filesz : p->p_memsz,
		.flags = p->p_flags,
	};
	if (s->offset < core->size)
		s->available = s->dumped < core->size - s->offset ? s->dumped
								  : core->size - s->offset;
	if (s->available < s->dumped)
		core->is_truncated = true;
	core->nr_segments++;
}

static void core_add_notes(struct core_file *core, const Elf64_Phdr *p)
{
	uint64_t room = p->p_offset < core->size ? core->size - p->p_offset : 0;

	if (room < p->p_filesz)
		core->is_truncated = true;
	if (room)
		core->areas[core->nr_areas++] = (struct core_note_area){
			.offset = p->p_offset,
			.size = p->p_filesz < room ? p->p_filesz : room,
		};
}

static int segment_compare(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Sort, and leave out segments that overlap an earlier one. */
static void core_sort_segments(struct core_file *core)
{
	struct core_segment *s = core->segments;
	size_t i, nr = 0;

	qsort(s, core->nr_segments, sizeof(*s), segment_compare);
	for (i = 0; i < core->nr_segments; i++) {
		if (!nr || s[i].start >= s[nr - 1].end)
			s[nr++] = s[i];
	}
	core->nr_segments = nr;
}

static int core_read_headers(struct core_file *core, const char *path, const Elf64_Ehdr *e,
			     struct err *err)
{
	uint64_t nr = core_count_headers(core, e), room = 0, i;

	if (e->e_phoff < core->size)
		room = (core->size - e->e_phoff) / sizeof(Elf64_Phdr);
	if (nr > room) {
		core->is_truncated = true;
		nr = room;
	}
	core->segments = calloc(nr + 1, sizeof(*core->segments));
	core->areas = calloc(nr + 1, sizeof(*core->areas));
	if (!core->segments || !core->areas)
		return err_set(err, -ENOMEM, "cannot read core file '%s': out of memory", path);
	for (i = 0; i < nr; i++) {
		Elf64_Phdr p;

		memcpy(&p, core->data + e->e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD)
			core_add_segment(core, &p);
		else if (p.p_type == PT_NOTE)
			core_add_notes(core, &p);
	}
	if (core->nr_segments) {
		core_sort_segments(core);
		return 0;
	}
	err_set(err, -ENOEXEC, "cannot read core file '%s': it has no memory", path);
	if (core->is_truncated)
		err_hint(err, "it is truncated: look at 'ulimit -c' and at the room on the disk");
	return -ENOEXEC;
}

int core_file_open(struct core_file *core, const char *path, struct err *err)
{
	Elf64_Ehdr e;
	int rc;

	*core = (struct core_file){ .fd = -1 };
	rc = core_map(core, path, err);
	if (!rc)
		rc = core_check_type(core, path, &e, err);
	if (!rc)
		rc = core_read_headers(core, path, &e, err);
	if (rc < 0)
		core_file_close(core);
	return rc;
}

void core_file_close(struct core_file *core)
{
	if (core->data) {
		void *map = (void *)(uintptr_t)core->data; // NOLINT(performance-no-int-to-ptr)

		map_guard_remove(map);
		munmap(map, core->size);
	}
	if (core->fd >= 0)
		close(core->fd);
	free(core->segments);
	free(core->areas);
	*core = (struct core_file){ .fd = -1 };
}

const struct core_segment *core_file_find(const struct core_file *core, uint64_t addr)
{
	size_t from = 0, to = core->nr_segments;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (core->segments[middle].start <= addr)
			from = middle + 1;
		else
			to = middle;
	}
	return from && addr < core->segments[from - 1].end ? &core->segments[from - 1] : NULL;
}

/* ---- notes --------------------------------------------------------------- */

static bool note_parse(const struct core_file *core, const struct core_note_area *area,
		       struct core_note *note)
{
	uint64_t at = note->behind, left = area->size - at, owner, data;
	Elf64_Nhdr h;

	if (left < sizeof(h))
		return false;
	memcpy(&h, core->data + area->offset + at, sizeof(h));
	left -= sizeof(h);
	owner = ((uint64_t)h.n_namesz + 3) & ~UINT64_C(3);
	data = ((uint64_t)h.n_descsz + 3) & ~UINT64_C(3);
	if (owner > left || h.n_descsz > left - owner)
		return false;
	note->owner = (const char *)core->data + area->offset + at + sizeof(h);
	note->owner_size = h.n_namesz;
	note->type = h.n_type;
	note->data = (const unsigned char *)note->owner + owner;
	note->size = h.n_descsz;
	/* The last note may lack its padding. */
	note->behind = at + sizeof(h) + (data > left - owner ? left : owner + data);
	return true;
}

bool core_note_next(const struct core_file *core, struct core_note *note)
{
	for (; note->area < core->nr_areas; note->area++, note->behind = 0) {
		if (note_parse(core, &core->areas[note->area], note))
			return true;
	}
	return false;
}

bool core_note_is(const struct core_note *note, const char *owner, uint32_t type)
{
	size_t size = strlen(owner);

	return note->type == type && (note->owner_size == size || note->owner_size == size + 1) &&
	       !memcmp(note->owner, owner, size);
}
