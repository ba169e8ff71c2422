/* SPDX-License-Identifier: MIT */
/* core_notes.c - the notes of a core file: threads, registers, mapped files. */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>

#include "process/image_core.h"
#include "process/image_registers.h"
#include "process/process_maps.h"
#include "process/saved_image.h"

/* NT_X86_XSTATE, NT_ARM_SVE */
#if defined(__aarch64__)
#define CORE_VECTORS 0x405
#else
#define CORE_VECTORS 0x202
#endif

/* Copy a struct whose beginning is in the note; the rest stays zero. */
static void note_copy(const struct core_note *note, void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, note->data, note->size < size ? note->size : size);
}

/* ---- threads ------------------------------------------------------------- */

static int note_add_thread(struct process_image *image, const struct core_note *note)
{
	size_t nr = image->nr_threads;
	struct image_thread *t = image->threads;
	uint64_t raw[REGISTERS_RAW];
	struct elf_prstatus status;

	if (note->size < offsetof(struct elf_prstatus, pr_reg) + sizeof(raw))
		return 0;
	if (!(nr & (nr - 1))) { /* full at every power of two */
		t = realloc(t, (nr ? 2 * nr : 1) * sizeof(*t));
		if (!t)
			return -ENOMEM;
		image->threads = t;
	}
	t = &image->threads[image->nr_threads++];
	note_copy(note, &status, sizeof(status));
	memcpy(raw, &status.pr_reg, sizeof(raw));
	*t = (struct image_thread){ .tid = status.pr_pid, .syscall_nr = -1 };
	registers_set(t, raw);
	t->has_syscall = registers_syscall(raw, &t->syscall_nr, t->args);
	t->state = t->has_syscall ? 'S' : 'R';
	return 0;
}

/* What corotracer knew about the thread of the last NT_PRSTATUS. */
static void note_add_saved_thread(struct process_image *image, const struct core_note *note)
{
	struct saved_thread saved;
	struct image_thread *t;

	if (note->size < sizeof(saved) || !image->nr_threads)
		return;
	note_copy(note, &saved, sizeof(saved));
	t = &image->threads[image->nr_threads - 1];
	if (t->tid != saved.tid)
		return;
	memcpy(t->name, saved.name, sizeof(t->name) - 1);
	t->state = saved.state;
	t->has_syscall = saved.flags & SAVED_HAS_SYSCALL;
	t->syscall_nr = saved.syscall_nr;
	memcpy(t->args, saved.args, sizeof(t->args));
	t->sp = saved.sp;
	t->pc = saved.pc;
	t->switches = saved.switches;
	t->cpu_ns = saved.cpu_ns;
	if (!(saved.flags & SAVED_HAS_REGISTERS)) {
		t->has_registers = false;
		t->nr_registers = 0;
		memset(t->registers, 0, sizeof(t->registers));
	}
}

static void note_set_process(struct process_image *image, const struct core_note *note)
{
	struct elf_prpsinfo info;

	note_copy(note, &info, sizeof(info));
	image->pid = info.pr_pid;
	memcpy(image->name, info.pr_fname, sizeof(info.pr_fname));
	image->name[sizeof(info.pr_fname)] = '\0';
}

static void note_set_saved_process(struct process_image *image, struct image_core *core,
				   const struct core_note *note)
{
	struct saved_process saved;

	note_copy(note, &saved, sizeof(saved));
	image->pid = saved.pid;
	image->has_io_uring = saved.flags & SAVED_IO_URING;
	image->has_run = saved.flags & SAVED_RAN;
	core->saved_swapped = saved.bytes_swapped;
	core->saved_hidden = saved.bytes_hidden + saved.bytes_failed;
}

/* The vector registers of the thread of the last NT_PRSTATUS. */
static int note_add_vectors(struct process_image *image, const struct core_note *note)
{
	if (!image->nr_threads)
		return 0;
	image->threads[image->nr_threads - 1].has_vectors = true;
	return image_add_vectors(image, note->data, note->size) ? 0 : -ENOMEM;
}

static void note_set_addresses(struct image_core *core, const struct core_note *note)
{
	Elf64_auxv_t entry;
	size_t at;

	for (at = 0; note->size - at >= sizeof(entry); at += sizeof(entry)) {
		memcpy(&entry, note->data + at, sizeof(entry));
		if (entry.a_type == AT_ENTRY)
			core->entry = entry.a_un.a_val;
		else if (entry.a_type == AT_EXECFN)
			core->name_on_stack = entry.a_un.a_val;
		else if (entry.a_type == AT_SYSINFO_EHDR)
			core->vdso = entry.a_un.a_val;
	}
}

static int note_set_kernel_state(struct process_image *image, const struct core_note *note)
{
	char *text = malloc(note->size + 1);

	if (!text)
		return -ENOMEM;
	memcpy(text, note->data, note->size);
	text[note->size] = '\0';
	free(image->kernel_state);
	image->kernel_state = text;
	return 0;
}

/* ---- mapped files -------------------------------------------------------- */

/* Terminated strings, one after the other. */
struct note_paths {
	const char *at;
	size_t left;
};

/* The next string, copied without " (deleted)".  *@path is NULL at the end of the note. */
static int paths_take(struct note_paths *p, struct image_strings *strings, const char **path)
{
	const char *end = p->left ? memchr(p->at, '\0', p->left) : NULL;
	size_t len, suffix = strlen(PROCESS_MAP_DELETED);
	char *copy;

	*path = NULL;
	if (!end)
		return 0;
	len = (size_t)(end - p->at);
	copy = image_strings_copy_n(strings, p->at, len);
	if (!copy)
		return -ENOMEM;
	if (len > suffix && !strcmp(copy + len - suffix, PROCESS_MAP_DELETED))
		copy[len - suffix] = '\0';
	*path = copy;
	p->left -= len + 1;
	p->at = end + 1;
	return 0;
}

static uint64_t note_word(const struct core_note *note, size_t index)
{
	uint64_t word;

	memcpy(&word, note->data + index * sizeof(word), sizeof(word));
	return word;
}

static int mapping_compare(const void *a, const void *b)
{
	const struct core_mapping *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* A count, the page size, {start, end, page of the file} for each, and the paths. */
static int note_add_mappings(struct image_core *core, const struct core_note *note)
{
	uint64_t nr = note->size >= 16 ? note_word(note, 0) : 0, i;
	uint64_t page = nr ? note_word(note, 1) : 0;
	struct note_paths paths;
	int rc = 0;

	if (!nr || nr > (note->size - 16) / 24 || core->mappings)
		return 0;
	core->mappings = calloc(nr, sizeof(*core->mappings));
	if (!core->mappings)
		return -ENOMEM;
	paths.at = (const char *)note->data + 16 + nr * 24;
	paths.left = note->size - 16 - nr * 24;
	for (i = 0; i < nr && !rc; i++) {
		struct core_mapping m = {
			.start = note_word(note, 2 + 3 * i),
			.end = note_word(note, 3 + 3 * i),
			.offset = note_word(note, 4 + 3 * i) * page,
		};

		rc = paths_take(&paths, &core->strings, &m.path);
		if (!rc && m.path && m.start < m.end)
			core->mappings[core->nr_mappings++] = m;
	}
	qsort(core->mappings, core->nr_mappings, sizeof(*core->mappings), mapping_compare);
	return rc;
}

static int note_add_ranges(struct process_image *image, struct image_core *core,
			   const struct core_note *note)
{
	uint64_t nr = note->size >= 8 ? note_word(note, 0) : 0, i;
	struct note_paths paths;
	int rc = 0;

	if (!nr || nr > (note->size - 8) / sizeof(struct saved_range) || image->ranges)
		return 0;
	image->ranges = calloc(nr, sizeof(*image->ranges));
	if (!image->ranges)
		return -ENOMEM;
	paths.at = (const char *)note->data + 8 + nr * sizeof(struct saved_range);
	paths.left = note->size - 8 - nr * sizeof(struct saved_range);
	for (i = 0; i < nr && !rc; i++) {
		struct image_range *range = &image->ranges[image->nr_ranges];
		struct saved_range saved;

		memcpy(&saved, note->data + 8 + i * sizeof(saved), sizeof(saved));
		*range = (struct image_range){
			.start = saved.start,
			.end = saved.end,
			.offset = saved.offset,
			.can_read = saved.flags & SAVED_READ,
			.can_write = saved.flags & SAVED_WRITE,
			.can_execute = saved.flags & SAVED_EXEC,
			.is_shared = saved.flags & SAVED_SHARED,
		};
		rc = paths_take(&paths, &core->strings, &range->path);
		if (!range->path || range->start >= range->end ||
		    (image->nr_ranges && range->start < range[-1].end))
			continue; /* corrupt */
		image->nr_ranges++;
	}
	core->has_ranges = image->nr_ranges != 0;
	return rc;
}

/* ---- all ----------------------------------------------------------------- */

static int note_take_saved(struct process_image *image, struct image_core *core,
			   const struct core_note *note)
{
	switch (note->type) {
	case SAVED_PROCESS:
		note_set_saved_process(image, core, note);
		return 0;
	case SAVED_THREAD:
		note_add_saved_thread(image, note);
		return 0;
	case SAVED_RANGES:
		return note_add_ranges(image, core, note);
	case SAVED_KERNEL_STATE:
		return note_set_kernel_state(image, note);
	default:
		return 0;
	}
}

int core_read_notes(struct process_image *image, struct image_core *core)
{
	struct core_note note = { 0 };
	int rc = 0;

	while (!rc && core_note_next(&core->file, &note)) {
		if (core_note_is(&note, SAVED_OWNER, note.type))
			rc = note_take_saved(image, core, &note);
		else if (core_note_is(&note, "CORE", NT_PRSTATUS))
			rc = note_add_thread(image, &note);
		else if (core_note_is(&note, "CORE", NT_PRFPREG) ||
			 core_note_is(&note, "LINUX", CORE_VECTORS))
			rc = note_add_vectors(image, &note);
		else if (core_note_is(&note, "CORE", NT_PRPSINFO))
			note_set_process(image, &note);
		else if (core_note_is(&note, "CORE", NT_AUXV))
			note_set_addresses(core, &note);
		else if (core_note_is(&note, "CORE", NT_FILE))
			rc = note_add_mappings(core, &note);
	}
	return rc;
}
