/* SPDX-License-Identifier: MIT */
/* section_slices.c - the sections "slices/N" and "index": which coroutine ran where, by block. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "view/section_slice_cpu.h"
#include "view/view_data.h"

enum {
	START,
	DUR,
	THREAD,
	CORO,
	N,
	FLAGS,
	SITE,
	REASON,
	RES_LO,
	RES_HI,
	WAKE,
	WAKER,
	WAKE_THREAD,
	NR_SLICE_COLUMNS,
};

static const struct {
	const char *name;
	enum view_column_type type;
} columns[NR_SLICE_COLUMNS] = {
	[START] = { "start", COLUMN_DV },
	[DUR] = { "dur", COLUMN_V },
	[THREAD] = { "thread", COLUMN_V },
	[CORO] = { "coro", COLUMN_V },
	[N] = { "n", COLUMN_V },
	[FLAGS] = { "flags", COLUMN_U8 },
	[SITE] = { "site", COLUMN_V },
	[REASON] = { "reason", COLUMN_U8 },
	[RES_LO] = { "res_lo", COLUMN_V },
	[RES_HI] = { "res_hi", COLUMN_V },
	[WAKE] = { "wake", COLUMN_V },
	[WAKER] = { "waker", COLUMN_V },
	[WAKE_THREAD] = { "wake_thread", COLUMN_V },
};

static void add_slice(struct bytes *to, const struct slice *s, uint64_t before)
{
	uint64_t wake = s->wake && s->wake < s->start ? s->start - s->wake : 0;

	bytes_add_varint(&to[START], s->start - before);
	bytes_add_varint(&to[DUR], s->end - s->start);
	bytes_add_varint(&to[THREAD], s->thread);
	bytes_add_varint(&to[CORO], s->coro);
	bytes_add_varint(&to[N], s->number);
	bytes_add(&to[FLAGS], &s->flags, 1);
	bytes_add_varint(&to[SITE], s->site);
	bytes_add(&to[REASON], &s->reason, 1);
	bytes_add_varint(&to[RES_LO], (uint32_t)s->resource);
	bytes_add_varint(&to[RES_HI], s->resource >> 32);
	bytes_add_varint(&to[WAKE], s->wake ? 1 + wake : 0);
	bytes_add_varint(&to[WAKER], s->waker);
	bytes_add_varint(&to[WAKE_THREAD], s->wake_thread);
}

static void section_note(struct view_block *line, const struct slice *s)
{
	if (s->start < line->from)
		line->from = s->start;
	if (s->start > line->last)
		line->last = s->start;
	if (s->end > line->to)
		line->to = s->end;
	line->nr++;
	spool_mark(line->coros, s->coro);
}

static bool is_kept(const uint8_t *keep, uint64_t i)
{
	return !keep || keep[i / 8] >> i % 8 & 1;
}

int section_slices(struct view *v, size_t block, const uint8_t *keep, struct bytes *out,
		   struct view_block *line, struct err *err)
{
	struct bytes to[NR_SLICE_COLUMNS] = { 0 };
	struct slice *slices = spool_read(&v->spool, block, err);
	size_t nr = v->spool.blocks[block].nr, i;
	uint64_t before = v->spool.blocks[block].from;
	struct cpu_columns cpu = { 0 };
	struct view_columns c;
	int rc;

	if (!slices)
		return err->code;
	*line = (struct view_block){ .from = UINT64_MAX, .of = (uint32_t)nr };
	for (i = 0; i < nr; i++) {
		struct slice *s = &slices[i];

		if (!is_kept(keep, (uint64_t)block * SPOOL_BLOCK + i))
			continue;
		if (s->flags & SLICE_OPEN && v->end_ts > s->start)
			s->end = v->end_ts;
		if (view_has_cpu(v) && cpu_columns_add(&cpu, v, s))
			s->flags |= SLICE_MEASURED;
		add_slice(to, s, before);
		section_note(line, s);
		before = s->start;
	}
	free(slices);
	columns_begin(&c);
	jw_field_i64(&c.header, "base", view_offset(v, v->spool.blocks[block].from));
	jw_field_u64(&c.header, "of", nr);
	for (i = 0; i < NR_SLICE_COLUMNS; i++) {
		columns_add_bytes(&c, columns[i].name, columns[i].type, &to[i], line->nr);
		bytes_release(&to[i]);
	}
	rc = view_has_cpu(v) ? cpu_columns_put(&cpu, &c, line->nr) : 0;
	if (columns_end(&c, line->nr, out) < 0)
		rc = -ENOMEM;
	return rc ? err_set(err, rc, "no memory for a block of slices") : 0;
}

int section_index(struct view *v, const struct view_block *lines, size_t nr, struct bytes *out)
{
	struct view_columns c;
	struct bytes bits = { 0 };
	size_t i, from, last, to, rows, of;
	int rc;

	columns_begin(&c);
	jw_field_u64(&c.header, "bits", SPOOL_BITS);
	from = columns_add(&c, "from", COLUMN_F64, nr);
	last = columns_add(&c, "last", COLUMN_F64, nr);
	to = columns_add(&c, "to", COLUMN_F64, nr);
	rows = columns_add(&c, "nr", COLUMN_U32, nr);
	of = columns_add(&c, "of", COLUMN_U32, nr);
	for (i = 0; i < nr; i++) {
		const struct view_block *b = &lines[i];

		columns_set(&c, from, i, b->nr ? view_time(v, b->from) : NAN);
		columns_set(&c, last, i, b->nr ? view_time(v, b->last) : NAN);
		columns_set(&c, to, i, b->nr ? view_time(v, b->to) : NAN);
		columns_set(&c, rows, i, b->nr);
		columns_set(&c, of, i, b->of);
		bytes_add(&bits, b->coros, sizeof(b->coros));
	}
	columns_add_bytes(&c, "coros", COLUMN_U8, &bits, bits.size);
	rc = columns_end(&c, nr, out);
	bytes_release(&bits);
	return rc;
}
