/* SPDX-License-Identifier: MIT */
/* image_modules.c - find the ELF files that a process has mapped, from their headers in memory. */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/image_backend.h"

#define MODULE_PHDRS_MAX 128
#define MODULE_NOTES_MAX 65536
#define MODULE_BUILD_ID  64             /* bytes */
#define MODULE_PAGE      UINT64_C(4096) /* PT_LOADs are aligned to it at least */

/* The headers of an ELF file in the process's memory. */
struct module_headers {
	Elf64_Phdr phdrs[MODULE_PHDRS_MAX];
	size_t nr;
	uint64_t bias;
	uint64_t end; /* of the last PT_LOAD, in the process */
};

/* ---- notes --------------------------------------------------------------- */

bool image_build_id(const void *data, size_t size, char *text, size_t room)
{
	const unsigned char *at = data;
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
		    note.n_descsz && note.n_descsz <= MODULE_BUILD_ID &&
		    room > 2 * (size_t)note.n_descsz) {
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

/* ---- headers in memory --------------------------------------------------- */

static bool headers_read(const struct process_image *image, const struct image_range *range,
			 struct module_headers *h)
{
	Elf64_Ehdr e;
	size_t size;

	if (image_read(image, range->start, &e, sizeof(e)) != (ssize_t)sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_machine != image->machine || e.e_phentsize != sizeof(h->phdrs[0]) || !e.e_phnum ||
	    e.e_phnum > MODULE_PHDRS_MAX || e.e_phoff >= range->end - range->start)
		return false;
	h->nr = e.e_phnum;
	size = h->nr * sizeof(h->phdrs[0]);
	return image_read(image, range->start + e.e_phoff, h->phdrs, size) == (ssize_t)size;
}

/* Compute the bias from the PT_LOAD that is mapped at @range, whose offset is 0. */
static bool headers_place(const struct image_range *range, struct module_headers *h)
{
	bool found = false;
	size_t i;

	for (i = 0; i < h->nr; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (!found && p->p_offset < MODULE_PAGE) {
			h->bias = range->start - (p->p_vaddr - p->p_offset);
			found = true;
		}
		if (found && p->p_vaddr + h->bias + p->p_memsz > h->end &&
		    p->p_memsz < UINT64_C(1) << 46)
			h->end = p->p_vaddr + h->bias + p->p_memsz;
	}
	return found;
}

/* False for a file that was mapped only to be read, as a debugger does. */
static bool headers_run(const struct process_image *image, const struct module_headers *h)
{
	size_t i;

	for (i = 0; i < h->nr; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];
		const struct image_range *range;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		range = image_find_range(image, p->p_vaddr + h->bias);
		if (range && range->can_execute)
			return true;
	}
	return false;
}

static bool headers_build_id(const struct process_image *image, const struct module_headers *h,
			     char *text, size_t room)
{
	bool found = false;
	size_t i;

	for (i = 0; i < h->nr && !found; i++) {
		const Elf64_Phdr *p = &h->phdrs[i];
		ssize_t got;
		void *notes;

		if (p->p_type != PT_NOTE || !p->p_filesz || p->p_filesz > MODULE_NOTES_MAX)
			continue;
		notes = malloc(p->p_filesz);
		if (!notes)
			return false;
		got = image_read(image, p->p_vaddr + h->bias, notes, p->p_filesz);
		found = got > 0 && image_build_id(notes, (size_t)got, text, room);
		free(notes);
	}
	return found;
}

/* ---- modules ------------------------------------------------------------- */

/* The end of the last mapping of the module; the anonymous part of its data included. */
static uint64_t module_extent(const struct process_image *image, size_t first, uint64_t end)
{
	const struct image_range *ranges = image->ranges;
	uint64_t last = ranges[first].end;
	size_t i;

	for (i = first + 1; i < image->nr_ranges && ranges[i].start < end; i++) {
		if (!strcmp(ranges[i].path, ranges[first].path) ||
		    (ranges[i].start == last && !*ranges[i].path && ranges[i].can_write))
			last = ranges[i].end;
	}
	end = (end + MODULE_PAGE - 1) & ~(MODULE_PAGE - 1);
	return last > end && end > ranges[first].start ? end : last;
}

static int module_fill(struct process_image *image, size_t first, const struct module_headers *h,
		       struct image_module *module)
{
	const struct image_range *range = &image->ranges[first];
	struct image_strings *strings = &image->backend->module_strings;
	char id[2 * MODULE_BUILD_ID + 1], path[4096 + 64];

	*module = (struct image_module){
		.start = range->start,
		.end = module_extent(image, first, h->end),
		.bias = h->bias,
	};
	image->backend->operations->find_file(image, range, path, sizeof(path));
	module->path = image_strings_copy(strings, range->path);
	module->open_path = image_strings_copy(strings, path);
	if (!module->path || !module->open_path)
		return -ENOMEM;
	if (!headers_build_id(image, h, id, sizeof(id)))
		return 0;
	module->build_id = image_strings_copy(strings, id);
	return module->build_id ? 0 : -ENOMEM;
}

static int module_add(struct process_image *image, const struct image_module *module)
{
	size_t nr = image->nr_modules;
	struct image_module *list = image->modules;

	if (!(nr & (nr - 1))) { /* full at every power of two */
		list = realloc(list, (nr ? 2 * nr : 1) * sizeof(*list));
		if (!list)
			return -ENOMEM;
		image->modules = list;
	}
	list[image->nr_modules++] = *module;
	return 0;
}

int image_find_modules(struct process_image *image)
{
	uint64_t after = 0; /* the end of the last module: a small file maps its first page twice */
	size_t i;

	free(image->modules);
	image->modules = NULL;
	image->nr_modules = 0;
	image_strings_free(&image->backend->module_strings);
	for (i = 0; i < image->nr_ranges; i++) {
		const struct image_range *range = &image->ranges[i];
		struct module_headers h = { 0 };
		struct image_module module;
		int rc;

		if (image_range_anonymous(range) || range->is_shared || range->offset ||
		    !range->can_read || range->start < after || !headers_read(image, range, &h) ||
		    !headers_place(range, &h) || !headers_run(image, &h))
			continue;
		rc = module_fill(image, i, &h, &module);
		if (!rc)
			rc = module_add(image, &module);
		if (rc < 0)
			return rc;
		after = module.end;
	}
	return 0;
}
