/* SPDX-License-Identifier: MIT */
/*
 * region_inspect.c - analyze the region of a run.
 *
 * Reads a private copy (region_copy.h) with the collector's own code: lanes are drained, stations
 * harvested, coroutine states read.  The result goes to struct recover and, on request, to a
 * trace.
 */
#include "collect/region_inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "base/monotonic.h"
#include "collect/lane_output.h"
#include "collect/coroutine_table.h"
#include "collect/output_path.h"
#include "collect/region_join.h"
#include "collect/region_processes.h"

/* State that is needed only while reading. */
struct region_reading {
	struct recover *r;
	struct drain drain;
	struct output_path place;
	struct trace_writer *writer; /* NULL: no trace is written */
	struct join join;
	uint32_t *thread_of_lane; /* 1 + index into threads; 0: none */
	struct u64map by_tid;     /* threads that wrote into stations: 1 + index */
	struct u64map pids;
	struct u64map woken_at, woken_after; /* by id: last wake; transitions before it */
	struct u64map tids;                  /* by id: thread of the last transition */
	size_t thread_room, coroutine_room;
	const char *path;
};

/* ---- growing arrays -------------------------------------------------------------- */

/* Make room for one more entry of @size bytes; false: no memory, which sets short_of_memory. */
static bool recover_grow(struct recover *r, void **at, size_t *room, size_t nr, size_t size)
{
	size_t more = *room ? *room * 2 : 64;
	void *bigger;

	if (nr < *room)
		return true;
	bigger = reallocarray(*at, more, size);
	if (!bigger) {
		r->short_of_memory = true;
		return false;
	}
	*at = bigger;
	*room = more;
	return true;
}

static struct recover_thread *add_thread(struct region_reading *in, uint32_t lane, uint32_t pid,
					 uint64_t tid)
{
	struct recover *r = in->r;
	struct recover_thread *t;

	if (!recover_grow(r, (void **)&r->threads, &in->thread_room, r->nr_threads,
			  sizeof(*r->threads)))
		return NULL;
	t = &r->threads[r->nr_threads++];
	memset(t, 0, sizeof(*t));
	t->lane = lane;
	t->pid = pid;
	t->tid = tid;
	return t;
}

static void note_pid(struct region_reading *in, uint32_t pid)
{
	if (pid && u64map_put(&in->pids, pid, 1) < 0)
		in->r->short_of_memory = true;
}

/* ---- events ---------------------------------------------------------------------- */

static void recover_copy_name(char *to, size_t size, const char *name, size_t len)
{
	if (len >= size)
		len = size - 1;
	if (len)
		memcpy(to, name, len);
	to[len] = '\0';
}

/* Keep the event if it is among the newest; station events arrive in any order. */
static void keep_last(struct recover *r, struct recover_thread *t, const struct trace_event *ev,
		      bool unread)
{
	uint32_t at, most = r->options.last;
	struct recover_event *e;

	if (!t->last && most)
		t->last = calloc(most, sizeof(*t->last));
	if (!t->last) {
		r->short_of_memory |= most > 0;
		return;
	}
	for (at = t->nr_last; at > 0 && t->last[at - 1].ev.ts > ev->ts; at--)
		;
	if (t->nr_last == most) {
		if (!at) /* older than all kept events */
			return;
		memmove(&t->last[0], &t->last[1], --at * sizeof(*t->last));
	} else {
		memmove(&t->last[at + 1], &t->last[at], (t->nr_last - at) * sizeof(*t->last));
		t->nr_last++;
	}
	e = &t->last[at];
	e->ev = *ev;
	e->ev.name = NULL;
	e->unread = unread;
	recover_copy_name(e->name, sizeof(e->name), ev->name, ev->name_size);
}

static void recover_note_event(struct recover *r, struct recover_thread *t,
			       const struct trace_event *ev, bool unread)
{
	if (!r->first_ts || ev->ts < r->first_ts)
		r->first_ts = ev->ts;
	if (ev->ts > r->last_ts)
		r->last_ts = ev->ts;
	if (!t)
		return;
	t->events++;
	if (r->options.of && ev->probe_id != r->options.of && ev->peer != r->options.of)
		return;
	keep_last(r, t, ev, unread);
}

/* Remember the wake, to see later whether the coroutine has run since. */
static void note_wake(struct region_reading *in, const struct trace_event *ev)
{
	if (u64map_put(&in->woken_at, ev->probe_id, ev->ts) < 0 ||
	    u64map_put(&in->woken_after, ev->probe_id, ev->seen) < 0)
		in->r->short_of_memory = true;
}

static struct recover_thread *recover_thread_of(struct region_reading *in, uint32_t lane)
{
	uint32_t at = in->thread_of_lane[lane];

	return at ? &in->r->threads[at - 1] : NULL;
}

static void recover_sink_lane(void *ctx, const struct trace_lane *lane)
{
	struct region_reading *in = ctx;
	struct recover_thread *t = recover_thread_of(in, lane->number);

	/* Threads take over lanes from each other: the lane belongs to the last one. */
	if (t)
		t->tid = lane->tid;
	if (in->writer)
		trace_put_lane(in->writer, lane);
}

/*
 * True if the event at @record is not in the collector's trace; without a journal: if it was
 * not read.
 */
static bool count_unsaved(struct recover *r, uint32_t lane, uint64_t record,
			  const struct trace_event *ev, bool unread)
{
	bool transition = trace_is_transition(ev);

	if (!r->journal.found)
		return unread;
	if (record < journal_position(&r->journal, lane, transition))
		return false;
	if (transition)
		r->account.unsaved++;
	else
		r->account.others_unsaved++;
	return true;
}

static void recover_sink_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct region_reading *in = ctx;
	uint64_t record = in->r->image.at[lane].skip + in->drain.cursors[lane].read;
	bool unread = record >= in->r->image.at[lane].read;
	bool unsaved = count_unsaved(in->r, lane, record, ev, unread);
	struct trace_event later = *ev;

	if (ev->kind == TRACE_WAKE)
		note_wake(in, ev);
	if (in->r->options.threads && trace_is_transition(ev) &&
	    u64map_put(&in->tids, ev->probe_id, ev->tid) < 0)
		in->r->short_of_memory = true;
	recover_note_event(in->r, recover_thread_of(in, lane), ev, unread);
	if (unsaved &&
	    join_has_cut_event(&in->join, &in->r->journal, lane, trace_is_transition(ev)))
		return;
	if (in->join.active)
		later.ts = join_time(&in->join, ev);
	if (in->writer && (unsaved || (in->r->options.all && !in->join.active)))
		trace_put_event(in->writer, lane, &later);
}

static void recover_sink_gap(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
			     uint64_t transitions, uint64_t others)
{
	struct region_reading *in = ctx;

	if (in->join.active)
		transitions = join_untold(&in->join, in->drain.cursors[lane].tid, transitions);
	if (in->writer && (transitions || others))
		trace_put_gap(in->writer, lane, from_ts, to_ts, transitions, others);
}

/* read_sites() reads the sites: a site that was never completed must not hide later ones. */
static void recover_sink_site(void *ctx, const struct trace_site *site)
{
	(void)ctx;
	(void)site;
}

static struct recover_thread *thread_of_tid(struct region_reading *in, uint64_t tid)
{
	struct recover *r = in->r;
	uint64_t *at = u64map_at(&in->by_tid, tid);
	struct recover_thread *t;

	if (!at) {
		r->short_of_memory = true;
		return NULL;
	}
	if (*at)
		return &r->threads[*at - 1];
	t = add_thread(in, TRACE_LANE_STATIONS, 0, tid);
	*at = t ? r->nr_threads : 0;
	return t;
}

/* How far the collector had read a station is unknown: treat every event as unread. */
static void sink_station(void *ctx, const struct trace_event *ev)
{
	struct region_reading *in = ctx;

	recover_note_event(in->r, thread_of_tid(in, ev->tid), ev, true);
	if (in->writer && !join_has_station_event(&in->join, ev))
		trace_put_event(in->writer, TRACE_LANE_STATIONS, ev);
}

/* ---- sites ------------------------------------------------------------------------- */

/* False: no memory. */
static bool copy_site(struct recover *r, const struct ctp_site *from, uint32_t id,
		      struct trace_site *to)
{
	char file[sizeof(from->file) + 1], function[sizeof(from->function) + 1];
	struct trace_site site = {
		.id = id, .line = from->line, .pid = from->pid, .file = file, .function = function
	};

	snprintf(file, sizeof(file), "%.*s", (int)sizeof(from->file), (const char *)from->file);
	snprintf(function, sizeof(function), "%.*s", (int)sizeof(from->function),
		 (const char *)from->function);
	if (!site_table_add(&r->places, &site))
		return false;
	*to = site;
	return true;
}

static void read_sites(struct region_reading *in)
{
	struct recover *r = in->r;
	uint32_t nr = r->image.lanes.ext ? lanes_used(&r->image.lanes.sites) : 0, i;
	uint64_t told;

	r->sites = calloc(nr + 1u, sizeof(*r->sites));
	if (!r->sites) {
		r->short_of_memory = true;
		return;
	}
	r->nr_sites = nr;
	for (i = 0; i < nr; i++) {
		const struct ctp_site *site = ctp_unit(&r->image.lanes.sites, i);

		if (site->ready != 1)
			continue;
		if (!copy_site(r, site, i + 1, &r->sites[i]))
			r->short_of_memory = true;
		else if (in->writer && site_table_id(&r->places, i + 1) == i + 1 &&
			 !u64map_get(&in->join.sites, i + 1, &told))
			trace_put_site(in->writer, &r->sites[i]);
	}
}

const struct trace_site *recover_site(const struct recover *r, uint32_t id)
{
	if (!id || id > r->nr_sites || !r->sites[id - 1].file || !r->sites[id - 1].function)
		return NULL;
	return &r->sites[id - 1];
}

/* ---- lanes and stations ---------------------------------------------------------------- */

/* Records of lane @i that are neither in the trace nor in the region. */
static uint64_t gone_of(const struct recover *r, uint32_t i, uint64_t saved)
{
	const struct image_lane *at = &r->image.at[i];

	if (at->broken)
		return at->head > saved ? at->head - saved : 0;
	return at->skip > saved ? at->skip - saved : 0;
}

static void note_lane(struct region_reading *in, uint32_t i)
{
	const struct image_lane *at = &in->r->image.at[i];
	const struct ctp_lane *lane = lanes_lane(&in->r->image.lanes, i);
	struct recover_thread *t;

	if (!at->used)
		return;
	t = add_thread(in, i, lane->pid, lane->tid);
	if (!t)
		return;
	t->closed = lane->state == CTP_LANE_CLOSED;
	t->broken = at->broken;
	t->written = at->head;
	t->read = at->read;
	t->kept = !at->broken && at->read > at->skip ? at->read - at->skip : 0;
	t->saved = in->r->journal.found ? journal_position(&in->r->journal, i, true) : at->read;
	in->r->account.gone += gone_of(in->r, i, t->saved);
	t->dropped = lane->dropped;
	t->dropped_others = lane->dropped_marks;
	in->thread_of_lane[i] = (uint32_t)in->r->nr_threads;
	note_pid(in, lane->pid);
}

static int drain_lanes(struct region_reading *in, struct err *err)
{
	const struct drain_sink sink = {
		.ordered = true,
		.lane = recover_sink_lane,
		.event = recover_sink_event,
		.gap = recover_sink_gap,
		.site = recover_sink_site,
	};
	struct recover *r = in->r;
	struct drain_look look;
	uint32_t i;

	in->thread_of_lane = calloc(r->image.nr_lanes + 1u, sizeof(*in->thread_of_lane));
	if (!in->thread_of_lane)
		return err_set(err, -ENOMEM, "no memory for %u lanes", r->image.nr_lanes);
	for (i = 0; i < r->image.nr_lanes; i++)
		note_lane(in, i);
	if (drain_open(&in->drain, &r->image.lanes, &r->image.clock, &sink, in, err) < 0)
		return err->code;
	/* Accept events of any age. */
	in->drain.start_ns = in->drain.first_ns = in->drain.first_ticks = 0;
	in->drain.last = in->drain.ahead = true;
	drain_look(&in->drain, &look);
	drain_finish(&in->drain);
	r->lanes = in->drain.totals;
	for (i = 0; i < in->drain.nr_cursors && i < r->image.nr_lanes; i++) {
		if (in->drain.cursors[i].broken && recover_thread_of(in, i))
			recover_thread_of(in, i)->broken = true;
	}
	drain_close(&in->drain);
	return 0;
}

static uint8_t state_of_station(const struct ctp_station *st, const struct harvest_coroutine *co,
				struct sidecar_coroutine *out, uint64_t *tid)
{
	const struct ctp_epoch *newest = NULL;
	uint32_t i;

	for (i = 0; i < CTP_SLOTS; i++) {
		const struct ctp_epoch *slot = &st->slots[i];

		if (slot->seq && (!newest || slot->timestamp > newest->timestamp))
			newest = slot;
	}
	out->since_ts = newest ? newest->timestamp : co->birth_ts;
	*tid = newest ? newest->tid : 0;
	if (co->dead)
		return TRACE_STATE_ENDED;
	if (!newest)
		return TRACE_STATE_NEW;
	if (newest->is_active)
		return TRACE_STATE_RUNNING;
	out->addr = newest->addr;
	return TRACE_STATE_SUSPENDED;
}

static void recover_add_coroutine(struct region_reading *in, const struct sidecar_coroutine *co,
				  uint32_t unit, uint64_t tid)
{
	struct recover *r = in->r;
	struct recover_coroutine *to;

	if (in->writer)
		trace_put_coroutine(in->writer, co);
	note_pid(in, (uint32_t)co->pid);
	if (!recover_grow(r, (void **)&r->coroutines, &in->coroutine_room, r->nr_coroutines,
			  sizeof(*r->coroutines)))
		return;
	to = &r->coroutines[r->nr_coroutines++];
	memset(to, 0, sizeof(*to));
	to->co = *co;
	to->co.name = NULL;
	to->unit = unit;
	to->tid = tid;
	recover_copy_name(to->name, sizeof(to->name), co->name, co->name ? strlen(co->name) : 0);
}

static void tell_station(struct region_reading *in, const struct harvest *h, uint32_t i)
{
	struct harvest_coroutine co;
	struct sidecar_coroutine out;
	uint64_t tid;

	if (!harvest_describe(h, i, &co))
		return;
	harvest_tell(&co, &out);
	out.lost = 0; /* the collector may have read what is overwritten now */
	out.state = state_of_station(&h->stations[i], &co, &out, &tid);
	if (!co.dead)
		recover_add_coroutine(in, &out, i, in->r->options.threads ? tid : 0);
	else if (in->writer)
		trace_put_coroutine(in->writer, &out);
}

static int harvest_stations(struct region_reading *in, struct err *err)
{
	struct image *im = &in->r->image;
	struct harvest h;
	uint32_t i;

	if (!im->nr_stations)
		return 0;
	if (harvest_open(&h, im->header, ctp_stations(im->header), im->nr_stations, sink_station,
			 in, err) < 0)
		return err->code;
	h.start_ns = h.last_count_ns = 0;
	harvest_finish(&h);
	in->r->stations = h.totals;
	for (i = 0; i < h.nr_claimed; i++)
		tell_station(in, &h, i);
	harvest_close(&h);
	return 0;
}

static void recover_tell_life(void *ctx, const struct life *life)
{
	struct region_reading *in = ctx;
	struct sidecar_coroutine co;
	uint64_t at, after, tid = 0;

	life_describe(life, &in->r->image.clock, &in->r->places, &co);
	u64map_get(&in->tids, co.probe_id, &tid);
	recover_add_coroutine(in, &co, life->number, tid);
	if (co.state != TRACE_STATE_SUSPENDED || !u64map_get(&in->woken_at, co.probe_id, &at) ||
	    !u64map_get(&in->woken_after, co.probe_id, &after))
		return;
	/*
	 * Woken by a thread that had seen the coroutine's last transition, or after that
	 * transition.
	 */
	if ((at >= co.since_ts || after == (uint32_t)co.written) && in->r->nr_coroutines)
		in->r->coroutines[in->r->nr_coroutines - 1].woken_ts = at;
}

/* ---- order ------------------------------------------------------------------------------- */

/* Coroutines that wait the longest come first, ended ones last. */
static int recover_rank(const struct recover_coroutine *c)
{
	switch (c->co.state) {
	case TRACE_STATE_SUSPENDED:
		return 0;
	case TRACE_STATE_NEW:
		return 1;
	case TRACE_STATE_RUNNING:
		return 2;
	default:
		return 3;
	}
}

static int by_patience(const void *a, const void *b)
{
	const struct recover_coroutine *x = a, *y = b;

	if (recover_rank(x) != recover_rank(y))
		return recover_rank(x) - recover_rank(y);
	if (x->co.since_ts != y->co.since_ts)
		return x->co.since_ts < y->co.since_ts ? -1 : 1;
	return x->co.probe_id < y->co.probe_id ? -1 : x->co.probe_id > y->co.probe_id;
}

static void recover_put_in_order(struct recover *r)
{
	size_t i;

	if (r->nr_coroutines && !r->options.unordered)
		qsort(r->coroutines, r->nr_coroutines, sizeof(*r->coroutines), by_patience);
	for (i = 0; i < r->nr_coroutines; i++)
		r->by_state[r->coroutines[i].co.state]++;
}

/* ---- trace output -------------------------------------------------------------------- */

/* Creation time of the region on the clock of its events; 0: unknown. */
static uint64_t recover_start_of(const struct recover *r)
{
	uint64_t made = (uint64_t)r->image.made * NS_PER_SEC;
	uint64_t ago = made < r->now_realtime_ns ? r->now_realtime_ns - made : 0;

	return r->same_time && ago < r->now_ns ? r->now_ns - ago : 0;
}

static int recover_begin_trace(struct region_reading *in, struct err *err)
{
	struct recover *r = in->r;
	struct utsname uts;
	struct sidecar_run run = {
		.tool = r->options.tool,
		.start_ts = recover_start_of(r),
		.start_realtime = (uint64_t)r->image.made * NS_PER_SEC,
		.stations = r->image.header->max_stations,
	};
	struct trace_output out = { .has_sidecar = true };

	if (!r->options.output)
		return 0;
	if (uname(&uts) == 0) {
		run.hostname = uts.nodename;
		run.arch = uts.machine;
	}
	if (place_open(&in->place, r->options.output, r->options.format, err) < 0)
		return err->code;
	out.path = in->place.path;
	out.format = in->place.format;
	out.fd = in->place.fd;
	out.has_sidecar = in->place.is_file;
	out.run = run;
	if (out.format != TRACE_FORMAT_CTF)
		in->place.fd = -1; /* owned by the writer now */
	in->writer = trace_writer_open(&out, err);
	if (!in->writer)
		return err->code;
	if (r->options.join && join_trace(&in->join, &r->journal, &r->image, in->writer, err) < 0)
		return err->code;
	if (!in->join.has_run)
		trace_put_run(in->writer, &run);
	return 0;
}

static void end_trace(struct region_reading *in)
{
	struct recover *r = in->r;
	struct sidecar_totals totals = { .exit_status = -1 };
	uint64_t told;
	size_t i;

	if (!in->writer)
		return;
	for (i = 0; i < r->nr_processes; i++) {
		if (!u64map_get(&in->join.pids, r->processes[i].pid, &told))
			trace_put_process(in->writer,
					  &(struct sidecar_process){ .pid = r->processes[i].pid });
	}
	trace_put_horizon(in->writer, UINT64_MAX);
	trace_flush(in->writer);
	trace_writer_counts(in->writer, &r->written);
	totals.collected = r->written.written;
	totals.lost_output = r->written.unwritten;
	totals.lost_full = r->lanes.lost + r->lanes.homeless;
	if (in->join.active) {
		totals.lost_full = r->account.lost;
		totals.lost_output = r->account.missing + r->written.unwritten;
		totals.complete = !r->account.gone && !r->account.missing && !recover_goes_on(r);
	}
	totals.lost = totals.lost_full + totals.lost_output;
	totals.written = totals.collected + totals.lost;
	totals.others_collected = r->written.others_written;
	totals.others_lost = r->lanes.lost_marks + r->written.others_unwritten;
	if (in->join.active)
		totals.others_lost = r->account.others_lost + r->written.others_unwritten;
	totals.others_written = totals.others_collected + totals.others_lost;
	totals.garbage = r->lanes.garbage + r->stations.garbage;
	totals.unfinished = r->stations.unfinished;
	totals.coroutines = r->nr_coroutines;
	totals.end_ts = recover_moment(r);
	trace_put_totals(in->writer, &totals);
	trace_writer_close(in->writer, &r->written, &r->output, &r->sidecar);
	in->writer = NULL;
}

/* ---- time ---------------------------------------------------------------------------- */

uint64_t recover_moment(const struct recover *r)
{
	uint64_t moment = r->last_ts;
	size_t i;

	if (r->same_time && recover_goes_on(r))
		return r->now_ns;
	/* The collector's last poll proves that the run continued until then. */
	if (r->same_time && r->image.last_look_ns > moment)
		moment = r->image.last_look_ns;
	/*
	 * Events that were read are no longer in the region, but coroutine states have times,
	 * too.
	 */
	for (i = 0; i < r->nr_coroutines; i++) {
		if (r->coroutines[i].co.since_ts > moment)
			moment = r->coroutines[i].co.since_ts;
	}
	return moment;
}

/* ---- open and close ------------------------------------------------------------------ */

static void finish_account(struct region_reading *in)
{
	struct recover *r = in->r;
	struct recover_account *a = &r->account;

	if (!r->journal.found)
		return;
	a->saved = r->journal.save.transitions;
	a->others_saved = r->journal.save.others;
	a->lost = r->journal.lost + r->lanes.lost + r->lanes.homeless;
	a->others_lost = r->journal.lost_others + r->lanes.lost_marks + r->lanes.homeless_marks;
	if (in->join.active && in->join.transitions < a->saved)
		a->missing = a->saved - in->join.transitions;
}

/* A running collector has events in its buffers beyond its journal, and will write them. */
static int read_journal(struct region_reading *in, struct err *err)
{
	struct recover *r = in->r;
	int before = memory_shortage_watch();

	if (!r->image.live)
		journal_read(&r->journal, in->path, r->image.collector_pid, r->image.nr_lanes,
			     r->options.joined);
	/* Without it, events that are in the trace would be taken for events that are not. */
	memory_shortage_check(before);
	if (memory_shortage_noted())
		return err_set(err, -ENOMEM, "no memory to read the journal of '%s'", in->path);
	if (!r->options.join || (r->journal.found && r->journal.has_trace))
		return 0;
	if (r->image.live)
		err_set(err, -EBUSY, "the collector of '%s' is running", in->path);
	else if (!r->journal.found)
		err_set(err, -ENOENT, "the collector of '%s' left no account of its trace",
			in->path);
	else
		err_set(err, -ENOENT, "cannot read the collector's trace '%s'", r->journal.trace);
	err_hint(err, "without --join what the region has is written; --trace names the trace if "
		      "it was moved");
	return err->code;
}

static int recover_read_all(struct region_reading *in, struct err *err)
{
	struct recover *r = in->r;

	r->now_ns = clock_now_ns();
	r->now_realtime_ns = monotonic_clock_ns(CLOCK_REALTIME);
	r->same_time = r->image.clock_from != IMAGE_CLOCK_ELSEWHERE;
	if (read_journal(in, err) < 0 || recover_begin_trace(in, err) < 0)
		return err->code;
	read_sites(in);
	if (drain_lanes(in, err) < 0 || harvest_stations(in, err) < 0)
		return err->code;
	lives_each(&r->image.lanes, 0, recover_tell_life, in);
	recover_find_processes(r, in->path, &in->pids);
	recover_put_in_order(r);
	finish_account(in);
	end_trace(in);
	return 0;
}

static int account_for(struct recover *r, const char *path, struct err *err)
{
	struct region_reading *in = calloc(1, sizeof(*in));
	struct trace_counts counts;
	struct err ignored = { 0 };
	int rc;

	if (!in)
		return err_set(err, -ENOMEM, "no memory to read '%s'", path);
	in->r = r;
	in->path = path;
	rc = recover_read_all(in, err);
	if (in->writer)
		trace_writer_close(in->writer, &counts, &ignored, &ignored);
	if (rc < 0)
		place_undo(&in->place);
	place_close(&in->place);
	drain_close(&in->drain);
	join_release(&in->join);
	u64map_release(&in->by_tid);
	u64map_release(&in->pids);
	u64map_release(&in->woken_at);
	u64map_release(&in->woken_after);
	u64map_release(&in->tids);
	free(in->thread_of_lane);
	free(in);
	return rc;
}

int recover_read(struct recover *r, int fd, const char *path, const struct recover_options *options,
		 struct err *err)
{
	memset(r, 0, sizeof(*r));
	r->options = *options;
	if (region_copy_read(&r->image, fd, path, options->newest, err) < 0)
		return err->code;
	if (account_for(r, path, err) < 0)
		recover_close(r);
	return err->code;
}

int recover_open(struct recover *r, const char *path, const struct recover_options *options,
		 struct err *err)
{
	char *file = region_copy_path(path), *whole = file ? realpath(file, NULL) : NULL;

	memset(r, 0, sizeof(*r));
	r->options = *options;
	if (region_copy_open(&r->image, path, options->newest, err) == 0 &&
	    account_for(r, whole ? whole : path, err) < 0)
		recover_close(r);
	free(file);
	free(whole);
	return err->code;
}

void recover_close(struct recover *r)
{
	size_t i;

	for (i = 0; i < r->nr_threads; i++)
		free(r->threads[i].last);
	site_table_release(&r->places);
	free(r->sites);
	free(r->threads);
	free(r->coroutines);
	free(r->processes);
	journal_copy_release(&r->journal);
	region_copy_close(&r->image);
	memset(r, 0, sizeof(*r));
}
