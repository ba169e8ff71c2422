/* SPDX-License-Identifier: MIT */
/* lane_output.c - write events of lanes and descriptions of coroutines to the trace. */
#include "collect/lane_output.h"

#include <string.h>

#include "trace/ctf.h"

#define LIFE_EVENTS_SLACK (1u << 20)

/* ---- events ------------------------------------------------------------------- */

/* Stop the journal: from now on chunks are given back once they are read. */
static void drop_journal(struct lane_record *l)
{
	l->record->writer->saver = NULL;
	l->drain.saves = false;
	journal_close(&l->journal);
}

static void lane_record_sink_lane(void *ctx, const struct trace_lane *lane)
{
	struct lane_record *l = ctx;

	/* Lanes from this number on share a stream, whose packets belong to no single lane. */
	if (l->journal.head && l->journal.head->format == TRACE_FORMAT_CTF &&
	    lane->number >= CTF_LANE_FILES)
		drop_journal(l);
	if (l->owners.is_on)
		frame_owners_lane(&l->owners, lane->number, lane->tid);
	record_lane(l->record, lane);
}

static void lane_record_sink_event(void *ctx, uint32_t lane, const struct trace_event *ev)
{
	struct lane_record *l = ctx;

	if (l->discards)
		return;
	if (ev->lost && ev->kind != TRACE_CONTEXT)
		worst_note(&l->worst, &(struct worst_coroutine){
					      .station = TRACE_NO_STATION,
					      .probe_id = ev->probe_id,
					      .written = ev->written,
					      .lost = ev->lost,
				      });
	if (l->owners.is_on)
		frame_owners_event(&l->owners, lane, ev);
	if (l->cpu)
		coro_cpu_event(l->cpu, ev);
	record_event(l->record, lane, ev);
}

static void lane_record_sink_gap(void *ctx, uint32_t lane, uint64_t from_ts, uint64_t to_ts,
				 uint64_t transitions, uint64_t others)
{
	struct lane_record *l = ctx;

	if (l->owners.is_on)
		frame_owners_gap(&l->owners, lane, from_ts);
	record_gap(l->record, lane, from_ts, to_ts, transitions, others);
}

static void lane_record_sink_site(void *ctx, const struct trace_site *site)
{
	struct lane_record *l = ctx;

	record_site(l->record, site);
}

static void sink_save(void *ctx)
{
	struct lane_record *l = ctx;

	record_flush(l->record);
}

static void sink_freed(void *ctx, uint32_t lane)
{
	struct lane_record *l = ctx;

	journal_reset_lane(&l->journal, lane);
}

int lane_record_open(struct lane_record *l, struct record *record, struct lanes *lanes,
		     struct tickclock *clock, struct err *err)
{
	memset(l, 0, sizeof(*l));
	l->sink = (struct drain_sink){
		.ordered = record_wants_order(record),
		.lane = lane_record_sink_lane,
		.event = lane_record_sink_event,
		.gap = lane_record_sink_gap,
		.site = lane_record_sink_site,
		.save = sink_save,
		.freed = sink_freed,
	};
	l->record = record;
	l->lanes = lanes;
	l->clock = clock;
	return drain_open(&l->drain, lanes, clock, &l->sink, l, err);
}

void lane_record_keep_journal(struct lane_record *l, const char *region, const char *trace,
			      enum trace_format format)
{
	struct err ignored = { 0 };

	if (!l->lanes->ext ||
	    journal_open(&l->journal, region, trace, format, &l->drain, &ignored) < 0)
		return;
	l->record->writer->saver = &l->journal.saver;
}

void lane_record_close(struct lane_record *l)
{
	if (l->record && l->record->writer)
		l->record->writer->saver = NULL;
	journal_close(&l->journal);
	drain_close(&l->drain);
}

/* ---- coroutines ------------------------------------------------------------------ */

static uint8_t lane_record_state_of(const struct life *life)
{
	switch (life->state) {
	case CTP_REC_BIRTH:
		return TRACE_STATE_NEW;
	case CTP_REC_RESUME:
		return TRACE_STATE_RUNNING;
	case CTP_REC_SUSPEND:
		return TRACE_STATE_SUSPENDED;
	case CTP_REC_END:
	case CTP_REC_DESTROY:
		return TRACE_STATE_ENDED;
	default:
		return TRACE_STATE_UNKNOWN;
	}
}

static uint64_t lane_record_time_of(const struct tickclock *clock, const struct life *life,
				    uint64_t ticks)
{
	if (life->ticks_kind != CTP_TICKS_COUNTER)
		return ticks;
	return ticks <= tickclock_last(clock)->ticks ? tickclock_ns(clock, ticks) : 0;
}

void life_describe(const struct life *life, const struct tickclock *clock,
		   const struct site_table *sites, struct sidecar_coroutine *out)
{
	bool suspended = life->state == CTP_REC_SUSPEND;

	*out = (struct sidecar_coroutine){
		.station = TRACE_NO_STATION,
		.probe_id = life->id,
		.pid = life->pid,
		.name = life->name[0] ? life->name : NULL,
		.name_truncated = life->name_cut,
		.birth_ts = lane_record_time_of(clock, life, life->birth_ticks),
		.dead = life->unreported,
		.writer = "corotracer",
		.written = life->events,
		.collected = life->events -
			     (life->dropped < life->events ? life->dropped : life->events),
		.lost = life->dropped,
		.state = lane_record_state_of(life),
		.since_ts = lane_record_time_of(clock, life, life->last_ticks),
		.birth_site = site_table_id(sites, life->birth_site),
		.parent = life->parent,
	};
	if (life->unreported)
		out->death_ts = out->since_ts;
	if (!suspended)
		return;
	out->reason = life->reason;
	out->has_resource = life->has_resource;
	out->resource = life->has_resource ? life->resource : 0;
	out->site = site_table_id(sites, life->site);
	out->addr = life->addr;
}

/*
 * A coroutine cannot have more transitions than all lanes together, but for those that are being
 * written now: its entry is overwritten.
 */
static bool life_is_corrupt(const struct lane_record *l, const struct life *life)
{
	const struct drain_totals *t = &l->drain.totals;

	return life->dropped > life->events ||
	       life->events > t->transitions + t->lost + t->homeless + LIFE_EVENTS_SLACK;
}

/* A site that the program has not registered, with a number that it cannot have. */
static uint32_t lane_record_add_site(struct lane_record *l, struct trace_site *site)
{
	struct trace_site known;

	if (site_table_find(&l->drain.sites, site->file, site->line, site->function, &known))
		return known.id;
	site->id = CTP_MAX_SITES + 1 + l->nr_awaits;
	if (!site_table_add(&l->drain.sites, site))
		return 0;
	l->nr_awaits++;
	record_site(l->record, site);
	return site->id;
}

static void lane_record_tell_await(struct lane_record *l, struct sidecar_coroutine *coroutine)
{
	struct trace_site site = { .pid = (uint32_t)coroutine->pid };

	if (coroutine->state == TRACE_STATE_SUSPENDED && !coroutine->site && l->await_of &&
	    l->await_of(coroutine, &site))
		coroutine->site = lane_record_add_site(l, &site);
}

static void lane_record_tell_life(void *ctx, const struct life *life)
{
	struct lane_record *l = ctx;
	struct sidecar_coroutine coroutine;

	if (life_is_corrupt(l, life)) {
		l->drain.totals.garbage++;
		return;
	}
	life_describe(life, l->clock, &l->drain.sites, &coroutine);
	lane_record_tell_await(l, &coroutine);
	l->unreported += life->unreported;
	if (life->dropped)
		worst_note(&l->worst, &(struct worst_coroutine){
					      .station = TRACE_NO_STATION,
					      .probe_id = life->id,
					      .written = life->events,
					      .lost = life->dropped,
					      .name = life->name,
				      });
	record_coroutine(l->record, &coroutine);
}

static void bury_life(void *ctx, const struct life *life)
{
	struct lane_record *l = ctx;

	lane_record_tell_life(l, life);
	life_free(l->lanes, life->number);
}

void lane_record_bury(struct lane_record *l, uint32_t pid)
{
	struct drain_look look;

	if (!l->lanes->ext)
		return;
	/* A lane that the process opened since the last poll belongs to it, too. */
	drain_look(&l->drain, &look);
	drain_orphans(&l->drain, pid);
	lives_each(l->lanes, pid, bury_life, l);
}

/*
 * Drain the lanes; limit the rounds, because a process that outlives the run may continue to
 * write.  When only events are left that are later than the clock, they are taken as well: the
 * times of a thread run ahead of a slow counter while it writes several events per tick.
 */
void lane_record_finish(struct lane_record *l, lane_record_goes_on *goes_on, void *ctx)
{
	uint64_t rounds = 0, most = 64, done = 0, all = 0;
	struct drain_look look;

	l->drain.last = l->drain.in_parts = true;
	do {
		drain_look(&l->drain, &look);
		done += look.events;
		if (!rounds) {
			all = look.events + look.left;
			most += 2 * look.left / DRAIN_LAST;
		}
		l->drain.ahead = !look.events && !l->drain.detached;
		if (!l->discards && !goes_on(ctx, done, all > done ? all : done))
			l->discards = true;
	} while ((look.events || look.left) && ++rounds < most);
	drain_finish(&l->drain);
	lives_each(l->lanes, 0, lane_record_tell_life, l);
}
