/* SPDX-License-Identifier: MIT */
/*
 * coroutine_slices.c - what each thread did in a memory trace, from one change of coroutine to the
 * next.
 */
#include "memory/stat/coroutine_slices.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread, with the slice that it is in. */
struct memory_thread_slice {
	struct memory_slice slice;
	bool is_known; /* the slice is of a coroutine that a trace of coroutines has */
};

struct memory_slice_reading {
	struct mem_reader *reader;
	const struct mem_facts *facts;
	struct memory_thread_slice *threads;
	size_t nr, room;
	struct u64map numbers; /* thread to 1 + index */
	memory_slice_fn fn;
	void *ctx;
	struct memory_totals *totals;
};

static struct memory_thread_slice *memory_slice_thread(struct memory_slice_reading *s,
						       uint32_t thread)
{
	uint64_t *number = u64map_at(&s->numbers, thread);

	if (!number)
		return NULL;
	if (*number)
		return &s->threads[*number - 1];
	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct memory_thread_slice *more = reallocarray(s->threads, room, sizeof(*more));

		if (!more)
			return NULL;
		s->threads = more;
		s->room = room;
	}
	*number = ++s->nr;
	memset(&s->threads[s->nr - 1], 0, sizeof(*s->threads));
	return &s->threads[s->nr - 1];
}

static void memory_slice_end(struct memory_slice_reading *s, struct memory_thread_slice *t,
			     uint64_t ts)
{
	if (!t->is_known || (!t->slice.accesses && !t->slice.allocations))
		return;
	if (ts > t->slice.to_ns)
		t->slice.to_ns = ts;
	s->fn(s->ctx, &t->slice);
}

static void memory_slice_begin(struct memory_slice_reading *s, struct memory_thread_slice *t,
			       const struct mem_record *r)
{
	memory_slice_end(s, t, r->time_ns);
	t->is_known = r->value && !(r->cause & CRAY_CORO_OWN_ID);
	t->slice = (struct memory_slice){ .coroutine = r->value,
					  .thread_id = mem_facts_id(s->facts, r->thread),
					  .from_ns = r->time_ns,
					  .to_ns = r->time_ns,
					  .offset = mem_reader_offset(s->reader) };
}

static void memory_slice_note_time(struct memory_totals *t, uint64_t ts)
{
	if (ts && (!t->from_ns || ts < t->from_ns))
		t->from_ns = ts;
	if (ts > t->to_ns)
		t->to_ns = ts;
}

static void memory_slice_add_accesses(struct memory_slice_reading *s, struct memory_thread_slice *t,
				      const struct mem_run *run)
{
	uint64_t writes = 0;
	uint32_t i;

	for (i = 0; i < run->nr; i++)
		writes += run->access[i].is_write;
	t->slice.accesses += run->nr;
	t->slice.writes += writes;
	s->totals->accesses += run->nr;
	s->totals->writes += writes;
	if (run->time_ns > t->slice.to_ns)
		t->slice.to_ns = run->time_ns;
	memory_slice_note_time(s->totals, run->time_ns);
}

static void memory_slice_add_record(struct memory_slice_reading *s, struct memory_thread_slice *t,
				    const struct mem_record *r)
{
	uint64_t bytes = (uint64_t)r->elem_size * r->elem_count;

	memory_slice_note_time(s->totals, r->time_ns);
	if (r->kind == MEM_CORO && !mem_is_repeated(r))
		memory_slice_begin(s, t, r);
	if (r->kind == MEM_GAP && r->cause < CRAY_GAP_SAMPLED)
		s->totals->lost += r->value;
	if (r->kind != MEM_ADD)
		return;
	t->slice.allocations++;
	t->slice.allocated += bytes;
	s->totals->allocations++;
	s->totals->allocated += bytes;
}

/* An access that is a record of its own: of a reader without runs. */
static void memory_slice_add_single(struct memory_slice_reading *s, struct memory_thread_slice *t,
				    const struct mem_record *r)
{
	struct mem_access access = { .is_write = r->kind == MEM_WRITE };
	struct mem_run run = { .access = &access, .nr = 1, .time_ns = r->time_ns };

	memory_slice_add_accesses(s, t, &run);
}

static int memory_slice_read_all(struct memory_slice_reading *s)
{
	struct mem_run run;
	size_t i;

	while (mem_reader_run(s->reader, &run)) {
		struct memory_thread_slice *t = memory_slice_thread(
			s, run.record ? run.record->thread : run.thread);

		if (!t)
			return -ENOMEM;
		if (!run.record)
			memory_slice_add_accesses(s, t, &run);
		else if (mem_is_access(run.record))
			memory_slice_add_single(s, t, run.record);
		else
			memory_slice_add_record(s, t, run.record);
	}
	for (i = 0; i < s->nr; i++)
		memory_slice_end(s, &s->threads[i], 0);
	return 0;
}

/* The executable comes first, and is the file that the facts name. */
static void memory_slice_take_build_id(const struct mem_facts *f, char build_id[65])
{
	const struct mem_module *m = f->nr_modules ? &f->modules[0] : NULL;
	size_t i;

	for (i = 0; i < f->nr_modules && f->exe; i++) {
		if (f->modules[i].path && !strcmp(f->modules[i].path, f->exe)) {
			m = &f->modules[i];
			break;
		}
	}
	if (!m || !mem_module_build_id(m, build_id))
		build_id[0] = '\0';
}

void memory_totals_glance(const struct mem_reader *r, struct memory_totals *totals)
{
	const struct mem_blocks *b = mem_reader_blocks(r);

	memset(totals, 0, sizeof(*totals));
	totals->accesses = b->nr_accesses;
	memory_slice_take_build_id(mem_reader_facts(r), totals->build_id);
}

int memory_slices_read(struct mem_reader *r, memory_slice_fn fn, void *ctx,
		       struct memory_totals *totals, struct err *err)
{
	struct memory_slice_reading s = {
		.reader = r, .facts = mem_reader_facts(r), .fn = fn, .ctx = ctx, .totals = totals
	};
	unsigned i;
	int rc;

	memset(totals, 0, sizeof(*totals));
	rc = memory_slice_read_all(&s);
	if (rc < 0)
		err_set(err, rc, "no memory for the threads of a memory trace");
	else
		rc = mem_reader_error(r, err);
	for (i = 0; i < MEM_CAUSES && i < CRAY_GAP_SAMPLED; i++)
		totals->lost += s.facts->lost[i];
	memory_slice_take_build_id(s.facts, totals->build_id);
	free(s.threads);
	u64map_release(&s.numbers);
	return rc;
}
