/* SPDX-License-Identifier: MIT */
/* mem_check.c - validate a memory trace: structure, pairing of annotations, counts. */
#include "memory/stat/mem_check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"

static struct mem_check_thread *mem_check_thread_of(struct mem_check *c, uint32_t number)
{
	uint64_t *at = u64map_at(&c->by_number, number);

	if (!at)
		return NULL;
	if (!*at) {
		if (c->nr_threads == c->threads_size) {
			size_t more = c->threads_size ? c->threads_size * 2 : 16;
			void *bigger = realloc(c->threads, more * sizeof(*c->threads));

			if (!bigger)
				return NULL;
			c->threads = bigger;
			c->threads_size = more;
		}
		c->threads[c->nr_threads] = (struct mem_check_thread){ .number = number };
		*at = ++c->nr_threads;
	}
	return &c->threads[*at - 1];
}

static uint64_t mem_check_add_capped(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

static void count_missing(struct mem_check *c, uint32_t cause, uint64_t count)
{
	uint64_t *sum = cause < CRAY_GAP_SAMPLED ? &c->lost : &c->left_out;
	uint32_t i = cause < MEM_CAUSES ? cause : 0;

	*sum = mem_check_add_capped(*sum, count);
	c->by_cause[i] = mem_check_add_capped(c->by_cause[i], count);
}

static int check_add(struct mem_check *c, struct annotation_map *regions, struct mem_reader *r,
		     const struct mem_record *rec)
{
	uint64_t size = (uint64_t)rec->elem_size * rec->elem_count;
	struct annotation met;
	int nr;

	if (rec->address == 0) {
		c->null_adds++;
		return 0;
	}
	nr = regions_add(regions, rec->address, size, rec->elem_size, 0, &met);
	if (nr < 0)
		return nr;
	if (nr > 0)
		mem_fault_add(mem_reader_faults(r), MEM_FAULT_PAIRING, mem_reader_offset(r),
			      "an annotation of 0x%llx, %llu bytes, on top of %s0x%llx, %llu bytes",
			      (unsigned long long)rec->address, (unsigned long long)size,
			      nr > 1 ? "others, the first of " : "one of ",
			      (unsigned long long)met.start,
			      (unsigned long long)(met.end - met.start));
	return 0;
}

static void check_remove(struct mem_check *c, struct annotation_map *regions, struct mem_reader *r,
			 const struct mem_record *rec)
{
	if (rec->address == 0)
		c->null_removes++;
	else if (!regions_remove(regions, rec->address))
		mem_fault_add(mem_reader_faults(r), MEM_FAULT_PAIRING, mem_reader_offset(r),
			      "an annotation of 0x%llx is removed, and there is none",
			      (unsigned long long)rec->address);
}

static void check_access(struct mem_check *c, struct mem_check_thread *t,
			 const struct mem_record *rec)
{
	c->by_tag[rec->tag]++;
	c->sizes[rec->kind][rec->size]++;
	c->bytes[rec->kind] += rec->size;
	c->with_pc += rec->pc != 0;
	c->with_attr += rec->attr != 0;
	if (rec->kind == MEM_READ)
		t->reads++;
	else
		t->writes++;
}

static int check_event(struct mem_check *c, struct mem_check_thread *t,
		       struct annotation_map *regions, struct mem_reader *r,
		       const struct mem_record *rec)
{
	const uint64_t *frames;

	switch (rec->kind) {
	case MEM_ADD:
		c->by_tag[rec->tag]++;
		t->annotations++;
		return check_add(c, regions, r, rec);
	case MEM_REMOVE:
		c->by_tag[rec->tag]++;
		t->annotations++;
		check_remove(c, regions, r, rec);
		return 0;
	case MEM_MARK:
		c->marks++;
		return 0;
	case MEM_CORO:
		c->resumes += (rec->cause & CRAY_CORO_CAUSE) == CRAY_CORO_RESUMED;
		return 0;
	case MEM_ALLOC:
		c->allocations++;
		c->allocated = mem_check_add_capped(c->allocated, rec->value);
		c->with_stack += mem_reader_stack(r, rec->stack, &frames) != 0;
		return 0;
	case MEM_FREE:
		c->releases++;
		return 0;
	case MEM_ENTER:
		c->calls += !rec->cause;
		return 0;
	case MEM_EXIT:
		return 0;
	default:
		c->gaps++;
		c->lost_unknown |= rec->value == 0;
		if (rec->cause < CRAY_GAP_SAMPLED)
			t->lost = mem_check_add_capped(t->lost, rec->value);
		count_missing(c, rec->cause, rec->value);
		return 0;
	}
}

static int check_all(struct mem_check *c, struct annotation_map *regions, struct mem_reader *r)
{
	struct mem_check_thread *t = NULL;
	const struct mem_record *rec;
	struct progress progress;
	uint64_t n = 0;
	int ret = 0;

	progress_start(&progress, "checking", mem_reader_size(r));
	while (ret == 0 && (rec = mem_reader_next(r))) {
		if ((++n & 0xffff) == 0)
			progress_update(&progress, mem_reader_done(r));
		if (!t || t->number != rec->thread)
			t = mem_check_thread_of(c, rec->thread);
		if (!t) {
			ret = -ENOMEM;
			break;
		}
		if (rec->time_ns && !c->first_ns)
			c->first_ns = rec->time_ns;
		if (rec->time_ns > c->last_ns)
			c->last_ns = rec->time_ns;
		if (mem_is_access(rec))
			check_access(c, t, rec);
		else
			ret = check_event(c, t, regions, r, rec);
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	return ret;
}

int mem_check_run(struct mem_check *c, struct mem_reader *r, struct err *err)
{
	const struct mem_facts *facts = mem_reader_facts(r);
	struct annotation_map regions = { 0 };
	uint32_t i;
	int ret;

	memset(c, 0, sizeof(*c));
	ret = check_all(c, &regions, r);
	c->left = regions.nr;
	c->most = regions.most;
	regions_release(&regions);
	for (i = 0; i < MEM_CAUSES; i++) {
		if (facts->lost[i])
			count_missing(c, i, facts->lost[i]);
	}
	c->lost_unknown |= facts->lost_unknown;
	if (ret < 0)
		return err_set(err, ret, "no memory for what the trace annotates");
	return 0;
}

void mem_check_release(struct mem_check *c)
{
	free(c->threads);
	u64map_release(&c->by_number);
	memset(c, 0, sizeof(*c));
}

uint64_t mem_check_kind(const struct mem_check *c, unsigned kind)
{
	return c->by_tag[kind] + c->by_tag[kind | CRAY_ATOMIC] + c->by_tag[kind | CRAY_UNALIGNED] +
	       c->by_tag[kind | CRAY_ATOMIC | CRAY_UNALIGNED];
}
