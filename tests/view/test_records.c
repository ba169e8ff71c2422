/* SPDX-License-Identifier: MIT */
/*
 * test_records.c - of too many coroutines the right ones are kept, and slices are read back
 * unchanged.
 */
#include <stdbool.h>

#include "check.h"
#include "view/records.h"
#include "view/slice_store.h"
#include "view/view.h"
#include "view/view_data.h"

#define MAX 50u

/* A model of which only the numbers of its coroutines matter here. */
static struct model *some_model(size_t nr)
{
	struct model *m = calloc(1, sizeof(*m));

	CHECK(m != NULL);
	m->coros = calloc(nr, sizeof(*m->coros));
	CHECK(m->coros != NULL);
	m->nr_coros = nr;
	return m;
}

static struct view_record *live(struct records *r, struct model *m, size_t number, uint64_t id)
{
	struct view_record *rec;
	bool is_new;

	m->coros[number].probe_id = id;
	rec = records_enter(r, m, &m->coros[number], &is_new);
	CHECK(rec != NULL && is_new);
	rec->state = TRACE_STATE_SUSPENDED;
	return rec;
}

static void die(struct view_record *rec, uint64_t longest)
{
	rec->state = TRACE_STATE_ENDED;
	rec->longest = longest;
	rec->gone = true;
}

/* Ten thousand are destroyed, ten stay; every 500th has a finding, every 300th waited long. */
static void fill(struct records *r, struct model *m)
{
	uint64_t i;

	for (i = 0; i < 10; i++)
		live(r, m, i, i);
	for (i = 10; i < 10000; i++) {
		struct view_record *rec = live(r, m, 10 + i % 3, i);

		if (i % 500 == 0)
			rec->findings = 1;
		die(rec, i % 300 == 7 ? 1000000 + i : i % 1000);
		/* The former owner of a number is known until another coroutine gets the number. */
		CHECK(records_of(r, m, &m->coros[10 + i % 3]) == rec);
	}
}

static void the_remarkable_stay(void)
{
	struct records r = { .max = MAX };
	struct model *m = some_model(64);
	uint64_t i;

	fill(&r, m);
	CHECK_EQ(r.next, 10000);
	CHECK(r.nr <= 2 * MAX + 10);
	for (i = 0; i < 10; i++) {
		CHECK(records_find(&r, i) && records_find(&r, i)->probe_id == i);
		CHECK(records_of(&r, m, &m->coros[i]) == records_find(&r, i));
	}
	for (i = 500; i < 10000; i += 500)
		CHECK(records_find(&r, i) && records_find(&r, i)->findings);
	CHECK(records_find(&r, 9907) != NULL); /* the longest of all */
	CHECK(records_find(&r, 11) == NULL && records_find(&r, 10000) == NULL);
	records_release(&r);
	free(m->coros);
	free(m);
}

static void those_shown_are_the_most_remarkable(void)
{
	struct records r = { .max = MAX };
	struct model *m = some_model(64);
	uint32_t *kept;
	int64_t nr, i, alive = 0, found = 0;

	fill(&r, m);
	nr = records_select(&r, 35, &kept);
	CHECK_EQ(nr, 35);
	for (i = 0; i < nr; i++) {
		CHECK(!i || kept[i] > kept[i - 1]);
		alive += r.all[kept[i]].state != TRACE_STATE_ENDED;
		found += r.all[kept[i]].findings != 0;
	}
	CHECK_EQ(alive, 10);
	CHECK_EQ(found, 19);
	free(kept);
	CHECK_EQ(records_select(&r, 5, &kept), 5);
	for (i = 0; i < 5; i++)
		CHECK(r.all[kept[i]].findings);
	free(kept);
	CHECK_EQ(records_select(&r, 1000000, &kept), r.nr);
	free(kept);
	records_release(&r);
	free(m->coros);
	free(m);
}

static void who_lives_is_never_dropped(void)
{
	struct records r = { .max = MAX };
	struct model *m = some_model(5000);
	size_t i;

	for (i = 0; i < 5000; i++)
		live(&r, m, i, i);
	CHECK_EQ(r.nr, 5000);
	for (i = 0; i < 5000; i++)
		CHECK(records_of(&r, m, &m->coros[i])->probe_id == i);
	records_release(&r);
	free(m->coros);
	free(m);
}

/* Findings name copies of coroutines, some of which are destroyed. */
static void a_copy_has_the_record_of_its_time(void)
{
	struct records r = { .max = MAX };
	struct model *m = some_model(64);
	struct coro copies[4];
	struct view_record *rec;
	uint64_t i;

	for (i = 0; i < 3; i++) { /* with the same id, one after the other */
		m->coros[5].since_ts = 100 * i + 50;
		rec = live(&r, m, 5, 20077);
		rec->first = 100 * i;
		rec->findings = 1; /* it stays */
		copies[i] = m->coros[5];
		CHECK(records_of(&r, m, &copies[i]) == rec);
		die(rec, 0);
	}
	copies[3] = copies[2];
	copies[3].station = 1;
	fill(&r, m);
	for (i = 0; i < 3; i++)
		CHECK(records_of(&r, m, &copies[i]) == records_find(&r, i));
	/* Another station has no coroutine with this id, and the record of 78 was dropped. */
	CHECK(records_of(&r, m, &copies[3]) == NULL);
	copies[3] = (struct coro){ .probe_id = 78 };
	CHECK(records_of(&r, m, &copies[3]) == NULL);
	CHECK(u64map_count(&r.by_id) <= r.nr);
	records_release(&r);
	free(m->coros);
	free(m);
}

/* ---- slices ------------------------------------------------------------------ */

#define SLICES (3 * SPOOL_BLOCK + 100)

static struct slice some_slice(uint64_t i)
{
	/* Every second slice comes before its turn. */
	return (struct slice){ .start = 1000 + 10 * (i ^ 1),
			       .end = 1000 + 10 * (i ^ 1),
			       .coro = (uint32_t)(i % 10007),
			       .flags = SLICE_OPEN };
}

static void check_block(struct spool *s, size_t block)
{
	struct err err = { 0 };
	struct slice *slices = spool_read(s, block, &err);
	const struct spool_block *b = &s->blocks[block];
	uint64_t latest = 0;
	uint32_t i;

	CHECK(slices != NULL);
	for (i = 0; i < b->nr; i++) {
		CHECK(!i || slices[i].start > slices[i - 1].start);
		CHECK_EQ(slices[i].flags, 0);
		CHECK_EQ(slices[i].end, slices[i].start + 7);
		CHECK(b->coros[slices[i].coro % SPOOL_BITS / 8] >> slices[i].coro % 8 & 1);
		latest = slices[i].end > latest ? slices[i].end : latest;
	}
	CHECK_EQ(b->from, slices[0].start);
	CHECK_EQ(b->last, slices[b->nr - 1].start);
	CHECK_EQ(b->to, latest);
	free(slices);
}

/* They end long after they began: usually when their block is in the file. */
static void slices_come_back_in_order(void)
{
	struct spool s;
	struct err err = { 0 };
	uint64_t i, number, nr = 0;
	size_t block;

	CHECK_EQ(spool_init(&s), 0);
	for (i = 0; i < SLICES; i++) {
		struct slice slice = some_slice(i);

		CHECK_EQ(spool_add(&s, &slice, &number, &err), 0);
		CHECK_EQ(number, i);
	}
	for (i = 0; i < SLICES; i++) {
		struct slice slice = some_slice(i);

		slice.end += 7;
		slice.flags = 0;
		CHECK_EQ(spool_end(&s, i, &slice, &err), 0);
	}
	CHECK_EQ(s.nr_blocks, 4);
	for (block = 0; block < s.nr_blocks; block++) {
		check_block(&s, block);
		nr += s.blocks[block].nr;
	}
	CHECK_EQ(nr, SLICES);
	spool_release(&s);
}

static void no_place_for_the_file_is_said(void)
{
	struct spool s;
	struct err err = { 0 };
	uint64_t i, number;
	int rc = 0;

	setenv("TMPDIR", "/proc/nowhere", 1);
	CHECK_EQ(spool_init(&s), 0);
	for (i = 0; i < SPOOL_BLOCK; i++) {
		struct slice slice = some_slice(i);

		CHECK_EQ(spool_add(&s, &slice, &number, &err), 0); /* one block needs no file */
	}
	rc = spool_add(&s, &(struct slice){ .start = 1 }, &number, &err);
	CHECK(rc < 0 && rc == err.code);
	CHECK(strstr(err.text, "/proc/nowhere") && strstr(err.hint, "TMPDIR"));
	spool_release(&s);
	unsetenv("TMPDIR");
}

static void put_step(struct view *v, unsigned kind, uint64_t ts, uint64_t peer)
{
	struct trace_item item;

	trace_item_init(&item, TRACE_ITEM_EVENT);
	trace_event_init(&item.event);
	item.event.kind = (uint8_t)kind;
	item.event.is_active = kind == TRACE_RESUME;
	item.event.probe_id = 1;
	item.event.ts = ts;
	item.event.tid = kind == TRACE_WAKE ? 8 : 7;
	item.event.pid = 50;
	item.event.seq = kind <= TRACE_RESUME ? 2 : 0;
	item.event.peer = peer;
	item.event.station = TRACE_NO_STATION;
	CHECK_EQ(view_add(v, &item, &(struct err){ 0 }), 0);
}

/* A wake belongs to the next slice, and not to those after it. */
static void a_wake_belongs_to_one_slice(void)
{
	static const struct trace_stats stats = { .format = TRACE_FORMAT_CT };
	const struct view_options options = { .trace = "steps.ct" };
	struct view *v = view_new(&options);
	struct slice *slices;
	struct err err = { 0 };

	CHECK(v != NULL);
	v->analysis->model.is_ours = true; /* in the order of time */
	put_step(v, TRACE_BIRTH, 100, 0);
	put_step(v, TRACE_RESUME, 110, 0);
	put_step(v, TRACE_SUSPEND, 120, 0);
	put_step(v, TRACE_WAKE, 130, 0);
	put_step(v, TRACE_RESUME, 140, 0);
	put_step(v, TRACE_SUSPEND, 150, 0);
	put_step(v, TRACE_RESUME, 160, 0); /* by itself */
	put_step(v, TRACE_SUSPEND, 170, 0);
	CHECK_EQ(view_finish(v, &stats, &err), 0);
	CHECK_EQ(v->spool.nr_blocks, 1);
	slices = spool_read(&v->spool, 0, &err);
	CHECK(slices != NULL);
	CHECK_EQ(slices[0].start, 110);
	CHECK_EQ(slices[0].wake, 0);
	CHECK_EQ(slices[1].start, 140);
	CHECK_EQ(slices[1].wake, 130);
	CHECK(slices[1].wake_thread != 0);
	CHECK_EQ(slices[1].waker, 0);
	CHECK_EQ(slices[2].start, 160);
	CHECK_EQ(slices[2].wake, 0);
	CHECK_EQ(slices[2].wake_thread, 0);
	free(slices);
	view_free(v);
}

int main(void)
{
	RUN(a_wake_belongs_to_one_slice);
	RUN(the_remarkable_stay);
	RUN(those_shown_are_the_most_remarkable);
	RUN(who_lives_is_never_dropped);
	RUN(a_copy_has_the_record_of_its_time);
	RUN(slices_come_back_in_order);
	RUN(no_place_for_the_file_is_said);
	return 0;
}
