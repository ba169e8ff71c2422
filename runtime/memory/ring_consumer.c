/* SPDX-License-Identifier: MIT */
/* ring_consumer.c - move records from the rings of a region to containers. */
#include "ring_consumer.h"

#include "sys.h"

#define CHECK_NS UINT64_C(200000000) /* between two checks whether a thread exists */
#define AHEAD    64u                 /* slots looked at beyond the highest one in use */

bool crw_consumer_open(struct crw_consumer *c)
{
	uint32_t i;

	/* Held chunks are no room for the thread: at most half a ring. */
	c->most_pending = c->hold ? c->region->nr_chunks / (2 * CRW_GATHER) : CRT_PRESS_MAX;
	if (c->most_pending > CRT_PRESS_MAX)
		c->most_pending = CRT_PRESS_MAX;
	if (!c->most_pending)
		c->most_pending = 1;
	c->sources = crt_memory(c->region->nr_slots * sizeof(*c->sources));
	c->pack = crt_memory(sizeof(*c->pack));
	for (i = 0; i < c->most_pending; i++) {
		c->pending[i].maker = c->maker_new(c->level);
		if (!c->pending[i].maker)
			return false;
	}
	for (i = 0; i < c->nr_packers; i++) {
		if (!crw_packer_open(&c->packers[i], c->region, c->maker_new, c->level))
			return false;
	}
	return c->sources && c->pack;
}

void crw_consumer_close(struct crw_consumer *c)
{
	uint32_t i;

	crt_memory_free(c->sources, c->region->nr_slots * sizeof(*c->sources));
	crt_memory_free(c->pack, sizeof(*c->pack));
	for (i = 0; i < c->most_pending; i++)
		c->maker_free(c->pending[i].maker);
	for (i = 0; i < c->nr_packers; i++)
		crw_packer_close(&c->packers[i], c->maker_free);
}

/* ---- blocks -------------------------------------------------------------- */

/* Facts, modules and stacks, which are not part of blocks.  The bytes are untrusted. */
static void consumer_aside(void *context, unsigned code, uint64_t w0, const uint8_t *payload,
			   uint32_t size)
{
	struct cray_writer *file = context;

	if (code == CRW_FACT)
		cray_writer_fact(file, (uint16_t)w0, payload, size);
	else if (code == CRW_STACK)
		cray_writer_stack(file, w0, payload, size);
	else
		cray_writer_module(file, payload, size);
}

/* True while the thread sleeps until its ring has room, and that shall be soon. */
static bool consumer_hurries(const struct crw_consumer *c, const struct crw_source *s)
{
	const struct crw_slot *slot = &c->region->slots[s->job.view.index];

	return c->hurry && __atomic_load_n(&slot->waiting, __ATOMIC_RELAXED) != 0;
}

/* Write the oldest block in progress. */
static void consumer_write(struct crw_consumer *c)
{
	struct crw_pending *p = &c->pending[c->first];

	crt_press_done(p->ticket, true);
	c->first = (c->first + 1) % c->most_pending;
	c->nr_pending--;
	c->store(c->context, p->source->file, p->maker);
	if (c->hold)
		crw_publish(c->region, p->source->job.view.index, &p->cursor);
}

static void consumer_write_all(struct crw_consumer *c)
{
	while (c->nr_pending)
		consumer_write(c);
}

static void consumer_write_done(struct crw_consumer *c)
{
	while (c->nr_pending && crt_press_done(c->pending[c->first].ticket, false))
		consumer_write(c);
}

/* The next free maker.  Blocks that are compressed are written. */
static struct crw_pending *consumer_next_pending(struct crw_consumer *c)
{
	consumer_write_done(c);
	if (c->nr_pending == c->most_pending)
		consumer_write(c);
	return &c->pending[(c->first + c->nr_pending) % c->most_pending];
}

/* The packed block is done. */
static void consumer_put(struct crw_consumer *c, struct crw_source *s)
{
	struct crw_pending *p;

	if (cray_pack_empty(c->pack)) {
		if (c->hold) { /* there may have been units that are in no block */
			consumer_write_all(c);
			crw_publish(c->region, s->job.view.index, &s->job.cursor);
		}
		return;
	}
	p = consumer_next_pending(c);
	cray_maker_finish(p->maker, c->pack, consumer_hurries(c, s));
	p->maker->head.thread_seq = s->seq++;
	p->source = s;
	p->cursor = s->job.cursor;
	/* A program gets one more thread only if it is fast. */
	p->ticket = crt_press_give(p->maker, !c->hold || crw_job_ready(&s->job) >= CRW_GATHER);
	c->nr_pending++;
}

/* ---- losses -------------------------------------------------------------- */

/* Count corrupt units as lost; the number of accesses in corrupt chunks and ranges is unknown. */
static void consumer_account(struct crw_source *s)
{
	const struct crw_job *job = &s->job;
	uint64_t chunks = job->cursor.broken + job->feed.ranges + job->unsettled;

	if (job->feed.broken > s->told_broken)
		cray_writer_lost(s->file, job->thread, CRAY_GAP_BROKEN,
				 job->feed.broken - s->told_broken);
	if (chunks)
		cray_writer_lost(s->file, job->thread, CRAY_GAP_BROKEN, 0);
	s->told_broken = job->feed.broken;
}

/* Count accesses that a thread lost or left out and that no gap unit covers. */
static void consumer_count_untold(const struct crw_consumer *c, const struct crw_source *s,
				  uint32_t index)
{
	static const uint32_t causes[] = { CRAY_GAP_FULL, CRAY_GAP_SAMPLED, CRAY_GAP_FILTERED };
	struct crw_slot_view last;
	uint32_t i;

	crw_slot_look(c->region, index, &last); /* it changes while the ring is drained */
	for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
		uint64_t count = crw_untold(&s->job.feed, &last, causes[i]);

		if (count)
			cray_writer_lost(s->file, s->job.thread, causes[i], count);
	}
}

void crw_consumer_count_lost(struct crw_consumer *c)
{
	uint32_t i;

	for (i = 0; i < c->high; i++) {
		if (c->sources[i].file)
			consumer_count_untold(c, &c->sources[i], i);
	}
}

/* ---- packers ------------------------------------------------------------- */

/* Give the ring of a source to an idle packer.  False: there is none. */
static bool consumer_give(struct crw_consumer *c, struct crw_source *s)
{
	uint32_t i;

	for (i = 0; i < c->nr_packers && c->packed[i]; i++)
		;
	if (i == c->nr_packers)
		return false;
	s->job.end = s->job.cursor.taken + CRW_GATHER;
	if (!crw_packer_give(&c->packers[i], &s->job, c->hurry))
		return false;
	s->packer = &c->packers[i];
	c->packed[i] = s;
	return true;
}

/* Write what a packer made.  False: it is not done. */
static bool consumer_collect(struct crw_consumer *c, uint32_t i, bool wait)
{
	struct crw_packer *k = &c->packers[i];
	struct crw_source *s = c->packed[i];
	const struct crw_packer_note *note;
	uint64_t at = 0;
	uint32_t n;

	if (!crw_packer_done(k, wait))
		return false;
	consumer_write_all(c); /* earlier blocks of this source may be among them */
	while ((note = crw_packer_next_note(k, &at)))
		consumer_aside(s->file, note->code, note->w0, (const uint8_t *)(note + 1),
			       note->size);
	for (n = 0; n < k->nr; n++) {
		k->makers[n]->head.thread_seq = s->seq++;
		c->store(c->context, s->file, k->makers[n]);
	}
	s->has_more = k->more;
	s->packer = NULL;
	c->packed[i] = NULL;
	consumer_account(s);
	return true;
}

/* True if a packer was done. */
static bool consumer_collect_all(struct crw_consumer *c)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < c->nr_packers; i++)
		any |= c->packed[i] && consumer_collect(c, i, false);
	return any;
}

/* ---- slots --------------------------------------------------------------- */

/* Follow a thread that claimed this slot. */
static bool consumer_begin(struct crw_consumer *c, struct crw_source *s,
			   const struct crw_slot_view *v)
{
	*s = (struct crw_source){ .file = c->file_of(c->context, v) };
	if (!s->file) {
		s->refused = true;
		return false;
	}
	s->serial = v->serial;
	s->id = v->thread;
	s->taken_ns = s->checked_ns = c->now_ns;
	s->thread = (struct cray_thread){ .number = s->file->nr_threads++,
					  .id = v->tid,
					  .start_ns = v->start_ns };
	crw_job_init(&s->job, c->region, v, s->thread.number);
	s->job.cursor.hold = c->hold;
	s->job.feed.aside = consumer_aside;
	s->job.feed.context = s->file;
	cray_writer_thread(s->file, &s->thread, v->name);
	c->nr_threads++;
	return true;
}

/* The thread has ended and its ring is empty: write its end and free the slot. */
static void consumer_end(struct crw_consumer *c, struct crw_source *s,
			 const struct crw_slot_view *v)
{
	const struct crw_job *job = &s->job;

	consumer_write_all(c);
	s->thread.end_ns = v->end_ns ? v->end_ns : c->now_ns;
	cray_writer_thread(s->file, &s->thread, v->name);
	consumer_count_untold(c, s, v->index);
	c->broken += job->feed.broken + job->cursor.broken + job->feed.ranges;
	c->nr_recovered += v->state != CRW_ENDED;
	s->file = NULL;
	crw_slot_free(c->region, v->index);
}

/*
 * Take what is in a ring now; true if there was something.  @all: also from the open chunk;
 * @running: its thread may be writing there.
 */
static bool consumer_drain(struct crw_consumer *c, struct crw_source *s, bool all, bool running)
{
	struct crw_job *job = &s->job;
	uint64_t taken = job->cursor.taken;
	uint32_t offset = job->cursor.offset;
	bool full;

	job->gone = all;
	job->settle = running ? c->settle : NULL;
	/*
	 * Bounded: other rings wait, a running thread may fill chunks as fast as they are read, and
	 * a hostile program can announce any number of chunks.
	 */
	job->end = job->cursor.taken + (all ? c->region->nr_chunks + 1 : CRW_GATHER);
	if (running)
		job->end = job->cursor.taken + crw_job_ready(job) + 1;
	do {
		full = crw_job_pack(job, c->pack);
		consumer_put(c, s);
	} while (full);
	job->gone = false;
	job->settle = NULL;
	consumer_account(s);
	return job->cursor.taken != taken || job->cursor.offset != offset;
}

/* True if a ring holds enough for a block, or has held something for long. */
static bool consumer_is_worth_it(const struct crw_consumer *c, struct crw_source *s)
{
	uint64_t nr = crw_job_ready(&s->job);
	uint32_t batch = c->region->nr_chunks / 2;

	if (!nr)
		s->taken_ns = c->now_ns;
	return s->has_more || nr >= (batch < CRW_GATHER ? batch : CRW_GATHER) ||
	       c->now_ns - s->taken_ns > c->late_ns;
}

static bool consumer_is_gone(const struct crw_consumer *c, struct crw_source *s,
			     const struct crw_slot_view *v)
{
	if (c->now_ns - s->checked_ns < CHECK_NS)
		return false;
	s->checked_ns = c->now_ns;
	return c->is_gone(c->context, v);
}

/* Poll one slot.  True: something was taken. */
static bool consumer_serve(struct crw_consumer *c, uint32_t i, enum crw_take what)
{
	struct crw_source *s = &c->sources[i];
	struct crw_slot_view v;
	bool idle, gone, any;

	crw_slot_look(c->region, i, &v);
	idle = v.state != CRW_LIVE && v.state != CRW_ENDED;
	if (idle && !s->file)
		s->refused = false;
	if (s->refused || (idle && !s->file))
		return false;
	if (s->packer &&
	    !consumer_collect(c, (uint32_t)(s->packer - c->packers), what != CRW_TAKE_READY)) {
		c->nr_ready++;
		return false;
	}
	if (i >= c->high)
		c->high = i + 1;
	if (s->file && (idle || v.serial != s->serial || v.thread != s->id)) {
		/* Only the consumer frees slots: the program overwrote it. */
		v.serial = s->serial;
		v.thread = s->id;
		v.state = CRW_ENDED;
		s->job.feed.broken++;
	}
	if (!s->file && !consumer_begin(c, s, &v))
		return false;
	gone = what == CRW_TAKE_REST || v.state == CRW_ENDED || consumer_is_gone(c, s, &v);
	if (!gone && what == CRW_TAKE_READY && !consumer_is_worth_it(c, s))
		return false;
	s->taken_ns = c->now_ns;
	s->job.view = v;
	c->nr_ready++;
	if (!gone && what == CRW_TAKE_READY && c->nr_ready_before > 1 && consumer_give(c, s))
		return true;
	s->has_more = false;
	any = consumer_drain(c, s, gone || what == CRW_TAKE_OPEN, !gone && what == CRW_TAKE_OPEN);
	if (gone)
		consumer_end(c, s, &v);
	return any || gone;
}

bool crw_consumer_poll(struct crw_consumer *c, enum crw_take what)
{
	bool any = false;
	uint32_t i, end;

	c->now_ns = crt_now();
	c->nr_ready_before = c->nr_ready;
	c->nr_ready = 0;
	any = consumer_collect_all(c);
	/* Threads claim the lowest free slot. */
	end = what == CRW_TAKE_READY ? c->high + AHEAD : c->region->nr_slots;
	for (i = 0; i < c->region->nr_slots && i < end; i++)
		any |= consumer_serve(c, i, what);
	if (what != CRW_TAKE_READY || (!any && c->hold)) /* a thread may wait for held chunks */
		consumer_write_all(c);
	else
		consumer_write_done(c);
	return any;
}

bool crw_consumer_has(const struct crw_consumer *c, uint64_t serial)
{
	uint32_t i;

	for (i = 0; i < c->high; i++) {
		if (c->sources[i].file && c->sources[i].serial == serial)
			return true;
	}
	return false;
}

void crw_consumer_sleep(struct crw_consumer *c, uint32_t ms)
{
	struct crw_header *h = c->region->header;
	uint32_t bell = __atomic_load_n(&h->bell, __ATOMIC_RELAXED);

	__atomic_store_n(&h->asleep, 1, __ATOMIC_RELAXED);
	/*
	 * (mem-C) pairs with the fence of the threads, between the store of `sealed` and the load
	 * of `asleep`.
	 */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!crw_consumer_poll(c, CRW_TAKE_READY) && !(c->is_busy && c->is_busy(c->context)))
		crt_futex_wait(&h->bell, bell, ms);
	__atomic_store_n(&h->asleep, 0, __ATOMIC_RELAXED);
}
