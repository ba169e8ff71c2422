/* SPDX-License-Identifier: MIT */
/*
 * test_flight.c - a flight recorder returns exactly the newest events, and counts the rest.
 *
 * Random events are recorded, and kept in a plain list as well.  The output must be the end
 * of that list, field by field, except for create events that outlived their segment.
 */
#include "collect/flight_recorder.h"

#include <stdbool.h>

#include <errno.h>
#include <sys/mman.h>

#include "check.h"
#include "collect/birth_table.h"

#define NAME_MAX_SIZE 408

struct kept {
	uint32_t lane;
	struct trace_event ev;
	char name[NAME_MAX_SIZE];
};

static struct kept *model;
static size_t nr_model;

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small numbers are likelier, but every size occurs. */
static uint64_t any_number(void)
{
	return next_random() >> (next_random() % 64);
}

/* ---- input ------------------------------------------------------------------------ */

static void make_event(struct kept *k)
{
	struct trace_event *ev = &k->ev;
	size_t i;

	trace_event_init(ev);
	k->lane = next_random() % 8 ? (uint32_t)(next_random() % 5) : TRACE_LANE_STATIONS;
	ev->kind = (uint8_t)(next_random() % 4 ? next_random() % 2 : 2 + next_random() % 4);
	ev->is_active = ev->kind == TRACE_RESUME;
	ev->probe_id = any_number();
	ev->tid = 1000 + k->lane % 16;
	ev->ts = any_number();
	ev->addr = next_random() % 2 ? any_number() : 0;
	ev->seq = any_number();
	ev->site = next_random() % 2 ? (uint32_t)(any_number() & 0xffff) : 0;
	ev->reason = (uint8_t)(next_random() % NR_TRACE_REASONS);
	ev->flags = (uint8_t)(next_random() % 32);
	ev->resource = next_random() % 2 ? any_number() : 0;
	if (k->lane == TRACE_LANE_STATIONS)
		ev->station = (uint32_t)any_number();
	if (trace_is_transition(ev))
		return;
	ev->pid = (uint32_t)any_number();
	ev->peer = any_number();
	ev->seen = (uint32_t)any_number();
	ev->written = any_number();
	ev->lost = any_number();
	ev->name_size = ev->kind == TRACE_BIRTH ? (uint32_t)(next_random() % NAME_MAX_SIZE) : 0;
	for (i = 0; i < ev->name_size; i++)
		k->name[i] = (char)next_random();
	ev->name = k->name;
}

static void tell_lanes(struct flight *f)
{
	uint32_t i;

	for (i = 0; i < 5; i++)
		trace_put_lane(&f->writer, &(struct trace_lane){ i, 77, 1000 + i });
}

static void put(struct flight *f, const struct kept *k)
{
	trace_put_event(&f->writer, k->lane, &k->ev);
}

/* ---- output ----------------------------------------------------------------------- */

struct check {
	size_t at; /* in the model, of the next event */
	size_t lanes, gaps, horizons, coroutines;
	size_t cpus, switches, recorded, descriptors;
	uint64_t next_ts; /* of the next context switch */
	uint32_t told[8]; /* lanes: the tid last reported, less 1000, plus 1 */
	uint64_t transitions, others;
};

static void same_event(const struct trace_event *a, const struct trace_event *b)
{
	CHECK_EQ(a->kind, b->kind);
	CHECK_EQ(a->is_active, b->is_active);
	CHECK_EQ(a->probe_id, b->probe_id);
	CHECK_EQ(a->tid, b->tid);
	CHECK_EQ(a->ts, b->ts);
	CHECK_EQ(a->addr, b->addr);
	CHECK_EQ(a->seq, b->seq);
	CHECK_EQ(a->site, b->site);
	CHECK_EQ(a->reason, b->reason);
	CHECK_EQ(a->flags, b->flags);
	CHECK_EQ(a->resource, b->resource);
	CHECK_EQ(a->station, b->station);
	CHECK_EQ(a->pid, b->pid);
	CHECK_EQ(a->peer, b->peer);
	CHECK_EQ(a->seen, b->seen);
	CHECK_EQ(a->written, b->written);
	CHECK_EQ(a->lost, b->lost);
	CHECK_EQ(a->name_size, b->name_size);
	CHECK(!a->name_size || !memcmp(a->name, b->name, a->name_size));
}

static void out_lane(void *ctx, const struct trace_lane *lane)
{
	struct check *c = ctx;

	c->lanes++;
	CHECK_EQ(lane->pid, 77);
	CHECK(lane->number < 5);
	/* Reported once for each thread. */
	CHECK(c->told[lane->number] != lane->tid - 999);
	c->told[lane->number] = (uint32_t)(lane->tid - 999);
}

static void out_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct check *c = ctx;

	c->transitions += trace_is_transition(ev);
	c->others += !trace_is_transition(ev);
	CHECK_EQ(lane, model[c->at].lane);
	CHECK(lane == TRACE_LANE_STATIONS || c->told[lane]);
	same_event(ev, &model[c->at++].ev);
}

static void out_gap(void *ctx, uint32_t lane, uint64_t from, uint64_t to, uint64_t transitions,
		    uint64_t others)
{
	struct check *c = ctx;

	c->gaps++;
	CHECK_EQ(lane, 3);
	CHECK_EQ(from, 10);
	CHECK_EQ(to, 20);
	CHECK_EQ(transitions, UINT64_MAX);
	CHECK_EQ(others, 5);
}

static void out_horizon(void *ctx, uint64_t ts)
{
	struct check *c = ctx;

	CHECK_EQ(ts, 4711);
	c->horizons++;
}

static void out_coroutine(void *ctx, const struct sidecar_coroutine *co)
{
	struct check *c = ctx;

	CHECK_EQ(co->probe_id, 99);
	CHECK_STR(co->name, "left behind");
	CHECK_STR(co->writer, "corotracer");
	c->coroutines++;
}

static void out_switch(struct check *c, const struct trace_switch *s)
{
	if (!strcmp(s->state, TRACE_SWITCH_RECORDED)) {
		CHECK_EQ(s->to_ts, 5);
		c->recorded++;
		return;
	}
	CHECK(!c->next_ts || s->to_ts == c->next_ts);
	CHECK_STR(s->state, TRACE_SWITCH_PREEMPTED);
	c->next_ts = s->to_ts + 1;
	c->switches++;
}

static void out_fact(void *ctx, const struct trace_item *item)
{
	struct check *c = ctx;

	if (item->type == TRACE_ITEM_CPU) {
		CHECK_STR(item->cpu.state, TRACE_CPU_BLOCKED);
		CHECK_STR(item->cpu.call, "read");
		CHECK_EQ(item->cpu.cpu_ns, 17);
		c->cpus++;
	} else if (item->type == TRACE_ITEM_DESCRIPTOR) {
		CHECK_STR(item->descriptor.kind, "socket");
		CHECK(!item->descriptor.watch);
		c->descriptors++;
	} else {
		CHECK_EQ(item->type, TRACE_ITEM_SWITCH);
		out_switch(c, &item->switched);
	}
}

static const struct flight_sink sink = { out_lane,    out_event,     out_gap,
					 out_horizon, out_coroutine, out_fact };

/* ---- tests -------------------------------------------------------------------------- */

static void open_recorder(struct flight *f, uint64_t size)
{
	struct err err = { 0 };

	CHECK_EQ(flight_open(f, size, &err), 0);
}

static void keeps_everything_as_long_as_there_is_room(void)
{
	struct err err = { 0 };
	struct check c = { 0 };
	struct flight f;
	size_t i;

	open_recorder(&f, 4 << 20);
	tell_lanes(&f);
	for (nr_model = 0; nr_model < 10000; nr_model++) {
		make_event(&model[nr_model]);
		put(&f, &model[nr_model]);
	}
	CHECK_EQ(flight_replay(&f, &sink, &c, &err), 0);
	CHECK_EQ(c.at, nr_model);
	CHECK_EQ(f.totals.forgotten + f.totals.forgotten_others, 0);
	CHECK_EQ(c.transitions, f.totals.transitions);
	CHECK_EQ(c.others, f.totals.others);
	for (i = 0; i < 5; i++)
		CHECK(c.told[i]);
	flight_close(&f);
}

/* Without create events the output is exactly the end of the input. */
static void forgets_the_oldest_first_and_counts_to_the_event(void)
{
	static const uint64_t sizes[] = { FLIGHT_LEAST, 100000, 1 << 20 };
	struct err err = { 0 };
	size_t s, i;

	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		uint64_t transitions = 0, others = 0;
		struct flight f;

		open_recorder(&f, sizes[s]);
		tell_lanes(&f);
		for (nr_model = 0; nr_model < 60000; nr_model++) {
			do
				make_event(&model[nr_model]);
			while (model[nr_model].ev.kind == TRACE_BIRTH);
			put(&f, &model[nr_model]);
			transitions += trace_is_transition(&model[nr_model].ev);
			others += !trace_is_transition(&model[nr_model].ev);
			/* At any time, not only at the end. */
			CHECK_EQ(f.totals.transitions + f.totals.forgotten, transitions);
			CHECK_EQ(f.totals.others + f.totals.forgotten_others, others);
			CHECK(flight_used(&f) <= sizes[s]);
			if (nr_model % 9973 == 0 || nr_model == 59999) {
				struct check c = { 0 };

				i = (size_t)(f.totals.transitions + f.totals.others);
				c.at = nr_model + 1 - i;
				CHECK_EQ(flight_replay(&f, &sink, &c, &err), 0);
				CHECK_EQ(c.at, nr_model + 1);
				CHECK_EQ(c.transitions, f.totals.transitions);
			}
		}
		CHECK(f.totals.forgotten > 0);
		/* At most one segment is given up, and what did not fit into its end. */
		CHECK(flight_used(&f) > f.size - f.size / 8);
		flight_close(&f);
	}
}

struct lives {
	uint64_t births, others;
	uint64_t last_ts;
	uint8_t born[2000];
};

static void life_lane(void *ctx, const struct trace_lane *lane)
{
	(void)ctx;
	(void)lane;
}

static void life_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct lives *l = ctx;
	char name[16];

	(void)lane;
	CHECK(ev->ts > l->last_ts);
	l->last_ts = ev->ts;
	/* No event comes before its coroutine's create event. */
	CHECK(ev->kind == TRACE_BIRTH || l->born[ev->probe_id]);
	if (ev->kind != TRACE_BIRTH)
		return;
	CHECK(!l->born[ev->probe_id]);
	l->born[ev->probe_id] = 1;
	CHECK_EQ(ev->name_size, snprintf(name, sizeof(name), "co %d", (int)ev->probe_id));
	CHECK(!memcmp(ev->name, name, ev->name_size));
	l->births++;
}

/* Coroutines are created and destroyed; each one in the recorder has its create event there. */
static void a_birth_is_kept_until_the_end_is_forgotten(void)
{
	const struct flight_sink to = { life_lane,   life_event,    out_gap,
					out_horizon, out_coroutine, out_fact };
	struct lives l = { 0 };
	struct err err = { 0 };
	struct trace_event ev;
	struct flight f;
	uint64_t id, k, ts = 1, others = 0;
	char name[16];

	open_recorder(&f, 1 << 20);
	tell_lanes(&f);
	for (id = 1; id < 2000; id++) {
		trace_event_init(&ev);
		ev.kind = TRACE_BIRTH;
		ev.probe_id = id;
		ev.ts = ts++;
		ev.name = name;
		ev.name_size = (uint32_t)snprintf(name, sizeof(name), "co %d", (int)id);
		ev.pid = 77;
		ev.tid = 1000;
		trace_put_event(&f.writer, 0, &ev);
		others++;
		for (k = 0; k < 200; k++) {
			trace_event_init(&ev);
			ev.kind = k % 2 ? TRACE_SUSPEND : TRACE_RESUME;
			ev.probe_id = k % 20 ? id : id / 2 * 2 | 1; /* odd: never destroyed */
			if (ev.probe_id > id)
				ev.probe_id = id;
			ev.ts = ts++;
			ev.tid = 1000;
			trace_put_event(&f.writer, 0, &ev);
		}
		if (id % 2) /* those are never destroyed */
			continue;
		trace_event_init(&ev);
		ev.kind = TRACE_END;
		ev.flags = TRACE_DESTROYED;
		ev.probe_id = id;
		ev.ts = ts++;
		ev.tid = 1000;
		trace_put_event(&f.writer, 0, &ev);
		others++;
	}
	CHECK_EQ(f.totals.others + f.totals.forgotten_others, others);
	CHECK_EQ(flight_replay(&f, &to, &l, &err), 0);
	CHECK(f.totals.forgotten > 0 && f.births.nr > 100);
	for (id = 1; id < 2000; id += 2)
		CHECK(l.born[id]);
	CHECK(!l.born[2]); /* of the destroyed ones only the last */
	CHECK(l.born[1998]);
	flight_close(&f);
}

static void births_are_bounded_and_found_again(void)
{
	struct births b;
	struct trace_event ev;
	uint64_t id, kept = 0;

	births_init(&b, 100000);
	trace_event_init(&ev);
	ev.kind = TRACE_BIRTH;
	ev.name = "name";
	ev.name_size = 4;
	for (id = 0; id < 10000; id++) {
		ev.probe_id = id * id;
		ev.ts = 20000 - id;
		kept += births_keep(&b, 0, &ev);
	}
	CHECK(kept > 500 && kept < 10000);
	CHECK_EQ(b.nr, kept);
	CHECK(b.bytes <= b.limit);
	for (id = 0; id < 10000; id += 2)
		CHECK_EQ(births_drop(&b, id * id), id < kept);
	for (id = 1; id < 10000; id += 2)
		CHECK_EQ(births_drop(&b, id * id), id < kept);
	CHECK_EQ(b.nr, 0);
	CHECK_EQ(b.bytes, 0);
	births_release(&b);
}

static void gaps_horizons_sites_and_coroutines_are_kept(void)
{
	struct sidecar_coroutine co = { .probe_id = 99,
					.name = "left behind",
					.writer = "corotracer" };
	struct trace_site site = { 1, 12, 77, "a.c", "f" };
	struct err err = { 0 };
	struct check c = { 0 };
	struct flight f;

	open_recorder(&f, FLIGHT_LEAST);
	tell_lanes(&f);
	trace_put_horizon(&f.writer, 1); /* nothing waits for it */
	make_event(&model[0]);
	model[0].lane = TRACE_LANE_STATIONS;
	put(&f, &model[0]);
	trace_put_horizon(&f.writer, 4711);
	trace_put_gap(&f.writer, 3, 10, 20, UINT64_MAX, 5);
	trace_put_site(&f.writer, &site);
	trace_put_coroutine(&f.writer, &co);
	f.finishing = true;
	trace_put_coroutine(&f.writer, &co);
	CHECK_EQ(flight_replay(&f, &sink, &c, &err), 0);
	CHECK_EQ(c.at, 1);
	CHECK_EQ(c.gaps, 1);
	CHECK_EQ(c.horizons, 1);
	CHECK_EQ(c.coroutines, 1);
	CHECK_EQ(f.nr_sites, 1);
	CHECK_STR(f.sites[0].file, "a.c");
	flight_close(&f);
}

static void facts_of_the_kernel_are_kept_and_the_oldest_forgotten(void)
{
	struct trace_descriptor descriptor = { .pid = 7, .fd = 3, .kind = "socket" };
	struct trace_cpu cpu = {
		.pid = 7, .tid = 8, .cpu_ns = 17, .state = TRACE_CPU_BLOCKED, .call = "read"
	};
	struct trace_switch s = { .pid = 7, .to_ts = 5, .state = TRACE_SWITCH_RECORDED };
	struct check c = { 0 };
	struct err err = { 0 };
	struct flight f;
	uint64_t i, last = 100000;

	open_recorder(&f, FLIGHT_LEAST);
	trace_put_switch(&f.writer, &s);
	trace_put_descriptor(&f.writer, &descriptor);
	s.state = TRACE_SWITCH_PREEMPTED;
	for (i = 6; i <= last; i++) {
		s.to_ts = i;
		trace_put_switch(&f.writer, &s);
	}
	trace_put_cpu(&f.writer, &cpu);
	trace_put_descriptor(&f.writer, &descriptor);
	CHECK(flight_replay(&f, &sink, &c, &err) == 0);
	CHECK_EQ(c.recorded, 1);
	CHECK_EQ(c.cpus, 1);
	CHECK_EQ(c.descriptors, 1); /* the first one is forgotten */
	CHECK_EQ(c.next_ts, last + 1);
	CHECK(c.switches > 500 && c.switches < last - 6);
	CHECK_EQ(f.totals.facts, c.recorded + c.switches + c.cpus + c.descriptors);
	CHECK_EQ(f.totals.facts + f.totals.forgotten_facts, 1 + (last - 5) + 1 + 2);
	CHECK_EQ(f.totals.refused_facts, 0);
	flight_close(&f);
}

static void a_fact_that_is_too_large_is_counted(void)
{
	static char fields[FLIGHT_LEAST];
	struct trace_frame frame = { .buffer = "b", .type = "t", .fields = fields };
	struct flight f;

	memset(fields, ' ', sizeof(fields) - 1);
	open_recorder(&f, FLIGHT_LEAST);
	trace_put_frame(&f.writer, &frame);
	frame.fields = "{}";
	trace_put_frame(&f.writer, &frame);
	CHECK_EQ(f.totals.refused_facts, 1);
	CHECK_EQ(f.totals.facts, 1);
	CHECK_EQ(f.totals.forgotten_facts, 0);
	flight_close(&f);
}

static void count_wakes(void *ctx, const struct trace_item *item)
{
	*(unsigned *)ctx += item->type == TRACE_ITEM_SWITCH &&
			    !strcmp(item->switched.state, TRACE_SWITCH_WAKES);
}

/* Without it, the end of a wait that follows would mean something else. */
static void that_wake_ups_are_recorded_is_not_forgotten(void)
{
	static const struct flight_sink wakes = { .fact = count_wakes };
	struct trace_switch s = { .pid = 7, .to_ts = 5, .state = TRACE_SWITCH_WAKES };
	struct err err = { 0 };
	unsigned nr = 0;
	struct flight f;

	open_recorder(&f, FLIGHT_LEAST);
	trace_put_switch(&f.writer, &s);
	s.state = TRACE_SWITCH_BLOCKED;
	for (s.to_ts = 6; !f.totals.forgotten_facts; s.to_ts++)
		trace_put_switch(&f.writer, &s);
	CHECK(flight_replay(&f, &wakes, &nr, &err) == 0);
	CHECK_EQ(nr, 1);
	flight_close(&f);
}

static bool has_no_memory;

void *__real_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	return has_no_memory ? MAP_FAILED : __real_mmap(at, size, prot, flags, fd, offset);
}

static void a_recorder_has_segments_of_a_fitting_size(void)
{
	struct err err = { 0 };
	struct flight f;

	open_recorder(&f, FLIGHT_LEAST);
	CHECK(f.writer.wants_order); /* so that the oldest events come first */
	CHECK(f.nr_segments >= 2);
	CHECK_EQ(f.size, f.nr_segments * f.segment_size);
	CHECK(f.size <= FLIGHT_LEAST);
	CHECK_EQ(flight_used(&f), 0);
	flight_close(&f);
	CHECK(!f.ring && !f.segments);
	open_recorder(&f, UINT64_C(8) << 30); /* of addresses */
	CHECK(f.size <= UINT64_C(8) << 30 && f.size > UINT64_C(7) << 30);
	CHECK(f.segment_size <= UINT32_MAX);
	flight_close(&f);
	has_no_memory = true;
	CHECK_EQ(flight_open(&f, UINT64_C(48) << 20, &err), -ENOMEM);
	has_no_memory = false;
	CHECK_STR(err.text, "no memory for a flight recorder of 48 MiB");
	CHECK_STR(err.hint, "ask for less with --flight-recorder");
	CHECK(!f.segments);
}

int main(void)
{
	model = calloc(60001, sizeof(*model));
	CHECK(model);
	RUN(keeps_everything_as_long_as_there_is_room);
	RUN(forgets_the_oldest_first_and_counts_to_the_event);
	RUN(a_birth_is_kept_until_the_end_is_forgotten);
	RUN(births_are_bounded_and_found_again);
	RUN(gaps_horizons_sites_and_coroutines_are_kept);
	RUN(facts_of_the_kernel_are_kept_and_the_oldest_forgotten);
	RUN(a_fact_that_is_too_large_is_counted);
	RUN(that_wake_ups_are_recorded_is_not_forgotten);
	RUN(a_recorder_has_segments_of_a_fitting_size);
	free(model);
	return 0;
}
