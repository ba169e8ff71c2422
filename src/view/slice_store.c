/* SPDX-License-Identifier: MIT */
/* slice_store.c - all slices of a trace, in blocks, in order of arrival. */
#include "view/slice_store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/io.h"

#define BLOCK_BYTES (SPOOL_BLOCK * sizeof(struct slice))

int spool_init(struct spool *s)
{
	*s = (struct spool){ .fd = -1 };
	s->current = malloc(BLOCK_BYTES);
	return s->current ? 0 : -ENOMEM;
}

/* ---- the file ------------------------------------------------------------- */

static int spool_open_file(struct spool *s, struct err *err)
{
	s->fd = io_temporary(err);
	if (s->fd >= 0)
		return 0;
	err_hint(err, "TMPDIR names another folder; a trace needs 64 bytes for each slice of "
		      "running time there");
	return err->code;
}

static int spool_put(struct spool *s, const void *data, size_t size, uint64_t offset,
		     struct err *err)
{
	if (io_pwrite(s->fd, data, size, (off_t)offset) >= 0)
		return 0;
	err_errno(err, "cannot write to the temporary file");
	err_hint(err, "TMPDIR names another folder");
	return err->code;
}

static int spool_get(struct spool *s, void *data, size_t size, uint64_t offset, struct err *err)
{
	char *at = data;

	while (size) {
		ssize_t nr = pread(s->fd, at, size, (off_t)offset);

		if (nr < 0 && errno == EINTR)
			continue;
		if (nr < 0)
			return err_errno(err, "cannot read the temporary file");
		if (!nr)
			return err_set(err, -EIO, "the temporary file is too short");
		at += nr;
		offset += (uint64_t)nr;
		size -= (size_t)nr;
	}
	return 0;
}

/* ---- blocks --------------------------------------------------------------- */

static int spool_next_block(struct spool *s, struct err *err)
{
	if (s->nr_blocks) {
		if (s->fd < 0 && spool_open_file(s, err) < 0)
			return err->code;
		if (spool_put(s, s->current, BLOCK_BYTES, (s->nr_blocks - 1) * BLOCK_BYTES, err) <
		    0)
			return err->code;
	}
	if (s->nr_blocks == s->room) {
		size_t room = s->room ? s->room * 2 : 8;
		struct spool_block *blocks = realloc(s->blocks, room * sizeof(*blocks));

		if (!blocks)
			return err_set(err, -ENOMEM, "no memory for another block of slices");
		s->blocks = blocks;
		s->room = room;
	}
	memset(&s->blocks[s->nr_blocks], 0, sizeof(*s->blocks));
	s->blocks[s->nr_blocks++].from = UINT64_MAX;
	return 0;
}

static void spool_note(struct spool_block *b, const struct slice *slice)
{
	if (slice->start < b->from)
		b->from = slice->start;
	if (slice->start > b->last)
		b->last = slice->start;
	if (slice->end > b->to)
		b->to = slice->end;
}

int spool_add(struct spool *s, const struct slice *slice, uint64_t *number, struct err *err)
{
	struct spool_block *b;

	if (s->nr % SPOOL_BLOCK == 0 && spool_next_block(s, err) < 0)
		return err->code;
	b = &s->blocks[s->nr_blocks - 1];
	s->current[b->nr++] = *slice;
	spool_note(b, slice);
	spool_mark(b->coros, slice->coro);
	*number = s->nr++;
	return 0;
}

int spool_end(struct spool *s, uint64_t number, const struct slice *slice, struct err *err)
{
	size_t block = (size_t)(number / SPOOL_BLOCK);

	spool_note(&s->blocks[block], slice);
	if (block + 1 == s->nr_blocks) {
		s->current[number % SPOOL_BLOCK] = *slice;
		return 0;
	}
	return spool_put(s, slice, sizeof(*slice), number * sizeof(*slice), err);
}

static int spool_by_start(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	/* A total order: among slices of one coroutine, the one that ended first is first. */
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->coro < y->coro ? -1 : x->coro > y->coro;
}

static bool is_sorted(const struct slice *slices, size_t nr)
{
	size_t i;

	for (i = 1; i < nr; i++) {
		if (slices[i].start < slices[i - 1].start)
			return false;
	}
	return true;
}

struct slice *spool_read(struct spool *s, size_t block, struct err *err)
{
	size_t nr = s->blocks[block].nr;
	struct slice *slices = calloc(nr + 1, sizeof(*slices));

	if (!slices) {
		err_set(err, -ENOMEM, "no memory for a block of slices");
		return NULL;
	}
	if (block + 1 == s->nr_blocks) {
		memcpy(slices, s->current, nr * sizeof(*slices));
	} else if (spool_get(s, slices, nr * sizeof(*slices), block * BLOCK_BYTES, err) < 0) {
		free(slices);
		return NULL;
	}
	if (!is_sorted(slices, nr))
		qsort(slices, nr, sizeof(*slices), spool_by_start);
	return slices;
}

void spool_release(struct spool *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->current);
	free(s->blocks);
	*s = (struct spool){ .fd = -1 };
}
