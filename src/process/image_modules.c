/* SPDX-License-Identifier: MIT */
/* image_modules.c - find the ELF files that a process has mapped, from their headers in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/elf_headers.h"
#include "process/image_backend.h"

#define MODULE_PAGE UINT64_C(4096) /* PT_LOADs are aligned to it at least */

/* The headers of an ELF file, and where it is loaded. */
struct module_headers {
	struct elf_headers elf;
	uint64_t bias;
	uint64_t end; /* of the last PT_LOAD, in the process */
};

static ssize_t module_read_memory(const void *arg, uint64_t at, void *buf, size_t size)
{
	return image_read(arg, at, buf, size);
}

/* If the first page is not in a core file, the file has it. */
static bool headers_read(const struct process_image *image, const struct image_range *range,
			 struct module_headers *h)
{
	const struct elf_source memory = { .read = module_read_memory, .arg = image };
	const struct image_operations *operations = image->backend->operations;

	if (elf_headers_read(&h->elf, &memory, range->start, image->machine))
		return true;
	return operations->read_headers && operations->read_headers(image, range, &h->elf);
}

/* Compute the bias from the PT_LOAD that is mapped at @range, whose offset is 0. */
static bool headers_place(const struct image_range *range, struct module_headers *h)
{
	bool found = false;
	size_t i;

	for (i = 0; i < h->elf.nr; i++) {
		const Elf64_Phdr *p = &h->elf.phdrs[i];

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

	for (i = 0; i < h->elf.nr; i++) {
		const Elf64_Phdr *p = &h->elf.phdrs[i];
		const struct image_range *range;

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		range = image_find_range(image, p->p_vaddr + h->bias);
		if (range && range->can_execute)
			return true;
	}
	return false;
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
	const struct elf_source memory = { .read = module_read_memory, .arg = image };
	char id[ELF_BUILD_ID_TEXT], path[4096 + 64];

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
	if (!elf_loaded_build_id(&h->elf, &memory, h->bias, id))
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
		struct module_headers h = { .end = 0 };
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
