/* SPDX-License-Identifier: MIT */
/* region_join.c - the trace of a killed collector, followed by the rest of its region. */
#include "collect/region_join.h"

#include <errno.h>

#include <corotracer/ctp.h>

#include "trace/trace_reader.h"

static void join_put(struct join *j, struct u64map *map, uint64_t key, uint64_t value)
{
	if (u64map_put(map, key, value) < 0)
		j->short_of_memory = true;
}

/* ---- events of stations --------------------------------------------------------- */

/*
 * Station times are the program's own, in nanoseconds: with the other fields they identify an
 * event.
 */
static uint64_t join_key_of(uint64_t probe_id, uint64_t tid, uint64_t seq, uint64_t ts)
{
	uint64_t key = probe_id * UINT64_C(0x9e3779b97f4a7c15) ^ ts;

	key = (key ^ key >> 29) * UINT64_C(0xbf58476d1ce4e5b9) ^ seq;
	return (key ^ key >> 32) * UINT64_C(0x94d049bb133111eb) ^ tid;
}

static void list_stations(struct join *j, const struct image *im)
{
	uint32_t i, k;

	for (i = 0; i < im->nr_stations; i++) {
		const struct ctp_station *st = &ctp_stations(im->header)[i];

		for (k = 0; k < CTP_SLOTS; k++) {
			const struct ctp_epoch *e = &st->slots[k];

			if (e->seq)
				join_put(j, &j->stations,
					 join_key_of(st->probe_id, e->tid, e->seq, e->timestamp),
					 1);
		}
	}
}

bool join_has_station_event(const struct join *j, const struct trace_event *ev)
{
	uint64_t found;

	return u64map_get(&j->stations, join_key_of(ev->probe_id, ev->tid, ev->seq, ev->ts),
			  &found) &&
	       found == 2;
}

/* ---- events in the trace --------------------------------------------------------- */

static void join_note_event(struct join *j, const struct trace_event *ev)
{
	uint64_t key, found;

	join_put(j, &j->last_ts, ev->tid, ev->ts);
	if (!trace_is_transition(ev)) {
		j->others++;
		return;
	}
	j->transitions++;
	key = join_key_of(ev->probe_id, ev->tid, ev->seq, ev->ts);
	if (u64map_get(&j->stations, key, &found))
		join_put(j, &j->stations, key, 2);
}

/* A write that the kill interrupted may have left more events than the last save counts. */
static bool is_saved(const struct join *j, const struct journal_copy *journal,
		     const struct trace_event *ev)
{
	if (!journal->found || journal->failed || journal->format == TRACE_FORMAT_CTF)
		return true;
	return trace_is_transition(ev) ? j->transitions < journal->save.transitions
				       : j->others < journal->save.others;
}

static void join_add_gap(struct join *j, const struct trace_gap *gap)
{
	uint64_t told = 0;

	u64map_get(&j->gaps, gap->tid, &told);
	join_put(j, &j->gaps, gap->tid, told + gap->transitions);
}

static void copy_item(struct join *j, const struct journal_copy *journal,
		      struct trace_writer *writer, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_RUN:
		j->has_run = true;
		trace_put_run(writer, &item->run);
		break;
	case TRACE_ITEM_PROCESS:
		join_put(j, &j->pids, item->process.pid, 1);
		trace_put_process(writer, &item->process);
		break;
	case TRACE_ITEM_MODULE:
		trace_put_module(writer, &item->module);
		break;
	case TRACE_ITEM_CPU:
		trace_put_cpu(writer, &item->cpu);
		break;
	case TRACE_ITEM_DESCRIPTOR:
		trace_put_descriptor(writer, &item->descriptor);
		break;
	case TRACE_ITEM_SWITCH:
		trace_put_switch(writer, &item->switched);
		break;
	case TRACE_ITEM_FRAME:
		trace_put_frame(writer, &item->frame);
		break;
	case TRACE_ITEM_WAITING:
		trace_put_waiting(writer, &item->waiting);
		break;
	case TRACE_ITEM_PART:
		trace_put_part(writer, &item->part);
		break;
	case TRACE_ITEM_MEMORY:
		trace_put_memory(writer, &item->memory);
		break;
	case TRACE_ITEM_SITE:
		join_put(j, &j->sites, item->site.id, 1);
		trace_put_site(writer, &item->site);
		break;
	case TRACE_ITEM_GAP:
		join_add_gap(j, &item->gap);
		trace_put_gap(writer, TRACE_LANE_STATIONS, item->gap.from_ts, item->gap.to_ts,
			      item->gap.transitions, item->gap.others);
		break;
	case TRACE_ITEM_COROUTINE:
		trace_put_coroutine(writer, &item->coroutine);
		break;
	case TRACE_ITEM_EVENT:
		if (!is_saved(j, journal, &item->event))
			break;
		join_note_event(j, &item->event);
		trace_put_event(writer, TRACE_LANE_STATIONS, &item->event);
		break;
	case TRACE_ITEM_TOTALS: /* of the whole run: written at the end */
	case NR_TRACE_ITEM_TYPES:
		break;
	}
}

/*
 * A CTF reader takes what it can of a packet that the kill cut: the events beyond the last
 * save.  Stations are written without a save, so with stations the difference has no meaning.
 */
static void count_cut(struct join *j, const struct journal_copy *journal, const struct image *image)
{
	if (journal->cut_lane == UINT32_MAX || image->nr_stations)
		return;
	if (j->transitions > journal->save.transitions)
		j->cut_transitions = j->transitions - journal->save.transitions;
	if (j->others > journal->save.others)
		j->cut_others = j->others - journal->save.others;
}

bool join_has_cut_event(struct join *j, const struct journal_copy *journal, uint32_t lane,
			bool transition)
{
	uint64_t *left = transition ? &j->cut_transitions : &j->cut_others;

	if (lane != journal->cut_lane || !*left)
		return false;
	(*left)--;
	return true;
}

int join_trace(struct join *j, const struct journal_copy *journal, const struct image *image,
	       struct trace_writer *writer, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(journal->trace, err);
	struct trace_item item;
	int rc;

	if (!reader)
		return err->code;
	j->active = true;
	list_stations(j, image);
	while ((rc = trace_next(reader, &item, err)) > 0)
		copy_item(j, journal, writer, &item);
	trace_reader_close(reader);
	count_cut(j, journal, image);
	return rc;
}

void join_release(struct join *j)
{
	u64map_release(&j->last_ts);
	u64map_release(&j->gaps);
	u64map_release(&j->stations);
	u64map_release(&j->sites);
	u64map_release(&j->pids);
}

/* ---- events of the region -------------------------------------------------------- */

uint64_t join_time(const struct join *j, const struct trace_event *ev)
{
	uint64_t last;

	return u64map_get(&j->last_ts, ev->tid, &last) && last > ev->ts ? last : ev->ts;
}

uint64_t join_untold(struct join *j, uint64_t tid, uint64_t transitions)
{
	uint64_t told = 0, untold;

	if (!u64map_get(&j->gaps, tid, &told) || !told)
		return transitions;
	untold = transitions > told ? transitions - told : 0;
	join_put(j, &j->gaps, tid, told - (transitions - untold));
	return untold;
}
