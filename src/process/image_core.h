/* SPDX-License-Identifier: MIT */
/* image_core.h - what image_core.c and core_notes.c know about a core file. */
#ifndef PROCESS_IMAGE_CORE_H
#define PROCESS_IMAGE_CORE_H

#include "process/core_file.h"
#include "process/image_backend.h"

/* An entry of NT_FILE. */
struct core_mapping {
	uint64_t start, end, offset;
	const char *path;
};

/* The file of a module, opened when memory is read that is not in the core. */
struct core_module_file {
	bool is_tried;
	int fd; /* -1: there is none with the same build-id */
	struct elf_headers *headers;
};

struct image_core {
	struct image_backend backend; /* first */
	struct core_file file;
	struct image_strings strings;
	const char *exe;               /* of the caller; NULL: none */
	struct core_mapping *mappings; /* by ascending start */
	size_t nr_mappings;
	struct core_module_file *files;      /* by module */
	uint64_t entry, name_on_stack, vdso; /* addresses, from NT_AUXV; 0: unknown */
	bool has_ranges;                     /* image->ranges were saved by corotracer */
	/* Bytes that were not read when the process was saved. */
	uint64_t saved_swapped, saved_hidden;
};

/* Set what the notes contain: threads, names, mappings.  Returns 0 or -ENOMEM. */
int core_read_notes(struct process_image *image, struct image_core *core);

#endif
