/* SPDX-License-Identifier: MIT */
/* reachability.c - search pointers to coroutines in memory, registers and the kernel. */
#include "inspect/reachability.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspect/kernel_roots.h"

/* ---- registers ---------------------------------------------------------------------- */

int inspection_read_threads(struct inspection *in, struct err *err)
{
	struct err ignored = { 0 };

	if (in->image->kind != IMAGE_RUNNING ||
	    image_read_registers(in->image, IMAGE_REGISTERS_BPF, &ignored) == 0)
		return 0;
	return image_read_threads(in->image, err);
}

static int stopped_keep(struct inspection *in)
{
	size_t nr = in->image->nr_threads;

	free(in->stopped);
	in->stopped = calloc(nr + 1, sizeof(*in->stopped));
	in->nr_stopped = in->stopped ? nr : 0;
	if (!in->stopped)
		return -ENOMEM;
	memcpy(in->stopped, in->image->threads, nr * sizeof(*in->stopped));
	return 0;
}

int inspection_stop_threads(struct inspection *in)
{
	struct err ignored = { 0 };

	if (!in->may_stop || in->image->kind != IMAGE_RUNNING ||
	    native_stacks_stop(&in->native, in->image, &ignored) < 0)
		return 0;
	return stopped_keep(in);
}

/* No thread has run since its registers were read. */
static bool stopped_holds(const struct inspection *in)
{
	size_t i;

	for (i = 0; i < in->nr_stopped; i++) {
		if (!in->stopped[i].has_registers || !in->stopped[i].is_settled)
			return false;
	}
	return in->stopped && image_threads_idle(in->stopped, in->nr_stopped, in->image->threads,
						 in->image->nr_threads);
}

int inspection_stop_again(struct inspection *in)
{
	struct err ignored = { 0 };
	uint64_t stopped_ns = in->image->stopped_ns;
	int rc;

	if (!in->stopped || stopped_holds(in) ||
	    image_read_registers(in->image, IMAGE_REGISTERS_STOP, &ignored) < 0)
		return 0;
	in->image->stopped_ns += stopped_ns;
	rc = stopped_keep(in);
	return rc ? rc : inspection_read_threads(in, &ignored);
}

/*
 * No function of the C library keeps a pointer of its caller in a vector register: the calling
 * convention of x86_64 preserves none of these.
 */
static bool vectors_are_dead(const struct inspection *in, const struct image_thread *t)
{
	static const char *const libraries[] = { "libc.so", "libc-2.", "libpthread", "ld-linux",
						 "ld-musl" };
	size_t i, k;

	for (i = 0; in->image->machine == EM_X86_64 && i < in->image->nr_modules; i++) {
		const struct image_module *m = &in->image->modules[i];
		const char *slash = strrchr(m->path, '/');

		if (t->pc < m->start || t->pc >= m->end)
			continue;
		for (k = 0; slash && k < sizeof(libraries) / sizeof(libraries[0]); k++) {
			if (!strncmp(slash + 1, libraries[k], strlen(libraries[k])))
				return true;
		}
	}
	return false;
}

static void doubt_count(struct inspection *in, const char *what, size_t nr)
{
	char text[128];

	snprintf(text, sizeof(text), "the %s of %zu thread%s %s", what, nr, nr == 1 ? "" : "s",
		 in->image->kind == IMAGE_CORE ? "are not in the file"
					       : "were not read (--stacks)");
	if (nr)
		inspection_doubt(in, text);
}

static void doubt_registers(struct inspection *in)
{
	size_t i, unknown = 0, vectors = 0;
	bool is_stopped = stopped_holds(in);

	for (i = 0; i < in->image->nr_threads && !is_stopped; i++) {
		unknown += !in->image->threads[i].has_registers;
		vectors += !in->image->threads[i].has_vectors &&
			   !vectors_are_dead(in, &in->image->threads[i]);
	}
	for (i = 0; is_stopped && i < in->nr_stopped; i++)
		vectors += !in->stopped[i].has_vectors;
	doubt_count(in, "registers", unknown);
	doubt_count(in, "vector registers", vectors);
}

/* ---- doubts --------------------------------------------------------------------------- */

void inspection_doubt(struct inspection *in, const char *why)
{
	if (!in->doubt[0])
		snprintf(in->doubt, sizeof(in->doubt), "%s", why);
}

static void doubt_memory(struct inspection *in)
{
	if (in->table.is_full)
		inspection_doubt(in, "there are too many frames");
	if (in->image->has_io_uring)
		inspection_doubt(in, "the program uses io_uring or aio: pointers may be in the "
				     "kernel");
	if (in->image->bytes_swapped)
		inspection_doubt(in, "some memory is swapped out and was not read");
	if (in->image->bytes_failed || in->image->is_truncated)
		inspection_doubt(in, "some memory could not be read");
	if (in->image->bytes_hidden)
		inspection_doubt(in, in->image->kind == IMAGE_CORE
					     ? "some memory of the process is not in the file"
					     : "some memory cannot be read: it is shared and not "
					       "mapped now, protected, or of a device");
	if (in->image->kind == IMAGE_RUNNING && !in->image->has_pagemap)
		inspection_doubt(in, "the pages of the program cannot be listed");
}

void inspection_doubt_all(struct inspection *in)
{
	const char *why;

	doubt_registers(in);
	doubt_memory(in);
	if (in->kernel.has_failed)
		inspection_doubt(in, "some epoll sets could not be read");
	if (in->image->kind == IMAGE_RUNNING && !in->kernel.is_open)
		inspection_doubt(in, "the descriptors of the program cannot be looked at");
	if (in->image->kind == IMAGE_CORE && !in->kernel.is_saved)
		inspection_doubt(in, "a core file does not have what epoll sets hold");
	if (in->kernel.doubt[0])
		inspection_doubt(in, in->kernel.doubt);
	why = in->kernel.is_open ? kernel_roots_doubt(&in->kernel.process) : NULL;
	if (why)
		inspection_doubt(in, why);
}

/* ---- marks ---------------------------------------------------------------------------- */

int inspection_mark(struct inspection *in, enum mark_depth depth, struct err *err)
{
	struct kernel_roots kernel = { 0 };
	size_t nr_watches = in->kernel.nr_watches, nr, i, k;
	uint64_t *roots;
	int rc = image_refresh_ranges(in->image, err);

	if (rc < 0)
		return rc;
	if (in->kernel.is_open && depth == MARK_BYTES)
		kernel_roots_read(&kernel, &in->kernel.process);
	for (i = 0; i < in->kernel.nr_words && i < KERNEL_ROOTS_MAX; i++)
		kernel.words[kernel.nr++] = in->kernel.words[i];
	nr = nr_watches + kernel.nr;
	roots = calloc(nr + in->nr_stopped * IMAGE_REGISTERS + 1, sizeof(*roots));
	if (!roots)
		return -ENOMEM;
	for (i = 0; i < nr_watches; i++)
		roots[i] = in->kernel.watches[i].data;
	memcpy(roots + nr_watches, kernel.words, kernel.nr * sizeof(*roots));
	for (i = 0; i < in->nr_stopped; i++) {
		for (k = 0; k < in->stopped[i].nr_registers && k < IMAGE_REGISTERS; k++)
			roots[nr++] = in->stopped[i].registers[k];
	}
	rc = frame_marks_set(in->image, &in->table, depth, roots, nr);
	free(roots);
	return rc;
}

int inspection_mark_again(struct inspection *in, struct err *err)
{
	uint8_t *before = calloc(in->table.nr + 1, 1);
	size_t i;
	int rc;

	if (!before)
		return -ENOMEM;
	for (i = 0; i < in->table.nr; i++)
		before[i] = (uint8_t)(in->table.frames[i].is_reached |
				      in->table.frames[i].is_doubtful << 1);
	rc = inspection_mark(in, MARK_BYTES, err);
	for (i = 0; !rc && i < in->table.nr; i++) {
		struct coro_frame *f = &in->table.frames[i];

		f->is_reached = f->is_reached || (before[i] & 1);
		f->is_doubtful = f->is_doubtful || (before[i] & 2);
	}
	free(before);
	return rc;
}
