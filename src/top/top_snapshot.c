/* SPDX-License-Identifier: MIT */
/*
 * top_snapshot.c - the state of a running program at one moment, with rates since the previous
 * picture.
 */
#include "top/top_snapshot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/u64map.h"
#include "collect/region_list.h"
#include "collect/collector_client.h"

/* A running collector answers within one poll; a stopped one must not block this process. */
#define ASK_MS 100

/* Chunks to read per lane: to find what runs where, and for the last events of one coroutine. */
#define CHUNKS     1
#define CHUNKS_OF  8
#define EVENTS_OF  64
#define EVENTS_ALL 512 /* of each thread, to find the holders of locks, and who is passed over */

/* ---- the source ------------------------------------------------------------- */

static int refuse_dead(const char *path, struct err *err)
{
	err_set(err, -ESRCH, "the collector of region '%s' has ended", path);
	err_hint(err, "'corotracer recover %s' shows what it left", path);
	return err->code;
}

int top_source_open(struct top_source *s, const char *region, struct err *err)
{
	char *file = region_copy_path(region);

	memset(s, 0, sizeof(*s));
	s->fd = -1;
	/* Resolve the path: programs are found by comparing with /proc/PID/maps. */
	s->region = file ? realpath(file, NULL) : NULL;
	free(file);
	if (!s->region) {
		err_errno(err, "cannot open the region '%s'", region);
		err_hint(err, "'corotracer snapshot -l' lists the collectors that are running");
		return err->code;
	}
	/* Do not block on a fifo. */
	s->fd = open(s->region, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0)
		err_errno(err, "cannot open the region '%s'", s->region);
	else if (!region_is_live(s->fd))
		refuse_dead(s->region, err);
	if (err->code)
		top_source_close(s);
	return err->code;
}

void top_source_close(struct top_source *s)
{
	if (s->fd >= 0)
		close(s->fd);
	free(s->region);
	free(s->lives.at);
	free(s->stations.at);
	json_decref(s->status);
	memset(s, 0, sizeof(*s));
	s->fd = -1;
}

/* ---- rates ------------------------------------------------------------------ */

static double per_second(uint64_t count, uint64_t ns)
{
	return ns ? (double)count * (double)NS_PER_SEC / (double)ns : 0;
}

/* Slot for unit @number; NULL: no memory, and the rate is the one since its creation. */
static struct top_past *past_of(struct top_pasts *p, uint32_t number)
{
	uint32_t nr = p->nr ? p->nr : 1024;
	struct top_past *more;

	if (number < p->nr)
		return &p->at[number];
	while (nr <= number)
		nr *= 2;
	more = reallocarray(p->at, nr, sizeof(*more));
	if (!more)
		return NULL;
	memset(more + p->nr, 0, (nr - p->nr) * sizeof(*more));
	p->at = more;
	p->nr = nr;
	return &more[number];
}

/* Sets the rate and the looks of a row, whose state is set. */
static void compare_with_past(struct top_source *s, const struct top_picture *p,
			      struct top_row *row)
{
	const struct recover_coroutine *c = row->c;
	bool in_station = c->co.station != TRACE_NO_STATION;
	struct top_past *past = past_of(in_station ? &s->stations : &s->lives, c->unit);
	uint64_t birth = c->co.birth_ts && c->co.birth_ts < p->moment ? c->co.birth_ts : 0;

	if (past && past->id == c->co.probe_id)
		row->looks = past->looks;
	row->looks.running += row->state == TRACE_STATE_RUNNING;
	row->looks.ready += row->state == TRACE_STATE_READY;
	row->looks.waiting += row->state == TRACE_STATE_SUSPENDED;
	if (past && s->at_ns && past->id == c->co.probe_id && past->events <= c->co.written)
		row->rate = per_second(c->co.written - past->events, p->r.now_ns - s->at_ns);
	else
		row->rate = birth ? per_second(c->co.written, p->moment - birth) : 0;
	if (past)
		*past = (struct top_past){ c->co.probe_id, c->co.written, row->looks };
}

/* ---- the picture --------------------------------------------------------------- */

static int make_rows(struct top_source *s, struct top_picture *p, struct err *err)
{
	size_t i;

	p->nr = p->r.nr_coroutines;
	p->rows = calloc(p->nr + 1, sizeof(*p->rows));
	if (!p->rows)
		return err_set(err, -ENOMEM, "no memory for %zu coroutines", p->nr);
	for (i = 0; i < p->nr; i++) {
		const struct recover_coroutine *c = &p->r.coroutines[i];
		uint8_t state = c->co.state;

		if (state == TRACE_STATE_SUSPENDED && c->woken_ts)
			state = TRACE_STATE_READY;
		p->rows[i] = (struct top_row){ .c = c, .state = state };
		compare_with_past(s, p, &p->rows[i]);
		p->by_state[state]++;
	}
	return 0;
}

static void ask_collector(struct top_source *s, struct top_picture *p)
{
	struct err ignored = { 0 };
	json_t *status = running_ask(s->region, "status", ASK_MS, &ignored);

	p->told = status != NULL;
	if (status) {
		json_decref(s->status);
		s->status = status;
	}
	p->status = json_incref(s->status);
}

/* Row of the picture by id, plus 1. */
static bool index_rows(const struct top_picture *p, struct u64map *map)
{
	size_t i;

	for (i = 0; i < p->nr; i++) {
		if (u64map_put(map, p->rows[i].c->co.probe_id, i + 1) < 0)
			return false;
	}
	return true;
}

static uint64_t cpu_value(const json_t *entry, size_t i)
{
	json_int_t value = json_integer_value(json_array_get(entry, i));

	return value > 0 ? (uint64_t)value : 0;
}

/* One that is new, or has ended meanwhile, has no entry. */
static void ask_cpu(struct top_source *s, struct top_picture *p)
{
	struct err ignored = { 0 };
	struct u64map map = { 0 };
	json_t *answer, *list;
	size_t i, nr;

	p->has_cpu = json_is_true(json_object_get(p->status, "cpu"));
	answer = p->has_cpu ? running_ask(s->region, "cpu", ASK_MS, &ignored) : NULL;
	list = json_object_get(answer, "cpu");
	nr = list && index_rows(p, &map) ? json_array_size(list) : 0;
	for (i = 0; i < nr; i++) {
		const json_t *entry = json_array_get(list, i);
		uint64_t number, away = cpu_value(entry, 3) + cpu_value(entry, 4);

		if (!u64map_get(&map, cpu_value(entry, 0), &number))
			continue;
		p->rows[number - 1].cpu = (struct top_cpu){
			.slices = cpu_value(entry, 1),
			.on_ns = cpu_value(entry, 2) > away ? cpu_value(entry, 2) - away : 0,
			.ready_ns = cpu_value(entry, 3),
			.blocked_ns = cpu_value(entry, 4),
		};
	}
	u64map_release(&map);
	json_decref(answer);
}

/* Without the collector's answer: sums over lanes and live coroutines, without those destroyed. */
static void count_events(struct top_picture *p)
{
	size_t i;

	if (p->told) {
		p->events = running_number(p->status, "written");
		p->lost = running_number(p->status, "lost");
		return;
	}
	for (i = 0; i < p->nr; i++)
		p->events += p->rows[i].c->co.written;
	for (i = 0; i < p->r.nr_threads; i++)
		p->lost += p->r.threads[i].dropped;
}

static void count_threads(struct top_picture *p)
{
	size_t i;

	for (i = 0; i < p->r.nr_threads; i++) {
		const struct recover_thread *t = &p->r.threads[i];

		p->threads += !t->closed;
		p->backlog += t->written > t->read ? t->written - t->read : 0;
	}
	for (i = 0; i < p->r.nr_processes; i++)
		p->programs += p->r.processes[i].life == PROCESS_THERE;
}

static void top_compute(struct top_source *s, struct top_picture *p)
{
	uint64_t began = running_number(p->status, "since_ns"), past;

	if (!began)
		began = (uint64_t)p->r.image.made * NS_PER_SEC;
	if (began < p->r.now_realtime_ns)
		p->up_ns = p->r.now_realtime_ns - began;
	if (p->r.image.lanes.ext)
		p->births = p->r.image.lanes.ext->last_id;
	count_threads(p);
	count_events(p);
	past = s->at_ns ? p->r.now_ns - s->at_ns : 0;
	if (past && s->told == p->told && p->events >= s->events)
		p->event_rate = per_second(p->events - s->events, past);
	else
		p->event_rate = per_second(p->events, p->up_ns);
	if (past && p->births >= s->births)
		p->birth_rate = per_second(p->births - s->births, past);
	else
		p->birth_rate = per_second(p->births, p->up_ns);
	s->at_ns = p->r.now_ns;
	s->events = p->events;
	s->births = p->births;
	s->told = p->told;
}

int top_picture_take(struct top_source *s, struct top_picture *p, uint64_t of, struct err *err)
{
	struct recover_options options = {
		.last = of                                 ? EVENTS_OF
			: s->wants_events || s->was_active ? EVENTS_ALL
							   : 0,
		.of = of,
		.newest = of ? CHUNKS_OF : CHUNKS,
		.threads = true,
		.unordered = true,
	};

	memset(p, 0, sizeof(*p));
	ask_collector(s, p);
	if (recover_read(&p->r, s->fd, s->region, &options, err) < 0) {
		json_decref(p->status);
		memset(p, 0, sizeof(*p));
		return err->code;
	}
	p->moment = recover_moment(&p->r);
	/* A collector that exits removes the coroutines from the region: discard such a picture. */
	if (!region_is_live(s->fd)) {
		refuse_dead(s->region, err);
	} else if (make_rows(s, p, err) == 0) {
		top_compute(s, p);
		ask_cpu(s, p);
		s->was_active = p->by_state[TRACE_STATE_READY] + p->by_state[TRACE_STATE_RUNNING] >
				0;
	}
	if (err->code)
		top_picture_release(p);
	return err->code;
}

void top_picture_release(struct top_picture *p)
{
	free(p->rows);
	json_decref(p->status);
	recover_close(&p->r);
	memset(p, 0, sizeof(*p));
}
