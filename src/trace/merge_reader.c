/* SPDX-License-Identifier: MIT */
/*
 * merge_reader.c - the items of several traces in order of time.
 *
 * An item of each input is held; the earliest is returned next, of equal ones that of the first
 * input.  An input that is not in order (a trace of another tool) keeps its order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace/merge.h"

/* Keys of items without a time: facts come before all events, coroutines after them. */
#define MERGE_KEY_FACT      0
#define MERGE_KEY_COROUTINE (UINT64_MAX - 1)
#define MERGE_KEY_END       UINT64_MAX

struct merge_stream {
	struct trace_reader *reader;
	struct trace_item item; /* the next one; not valid at MERGE_KEY_END */
	uint64_t key;
};

struct merge_reader {
	struct trace_reader reader; /* first member: cast to and from */
	struct merge *merge;
	struct merge_stream *streams;
	size_t current;    /* the stream with the earliest item, */
	uint64_t until;    /* up to this key, */
	bool until_itself; /* and with it */
	bool gave_run, gave_totals, is_taken;
	size_t nr_told; /* inputs whose part was returned */
	const char **command;
	char *hostname;
};

static struct merge_reader *merge_reader_of(struct trace_reader *r)
{
	return (struct merge_reader *)r;
}

static int merge_reader_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory to merge traces");
}

/* ---- the run and the totals ----------------------------------------------------- */

/* The words of all commands, with "+" between them. */
static int merge_join_commands(struct merge_reader *r, struct sidecar_run *run)
{
	const struct merge *m = r->merge;
	size_t i, k, nr = 0;

	for (i = 0; i < m->nr; i++)
		nr += m->inputs[i].run.nr_command + 1;
	r->command = calloc(nr + 1, sizeof(*r->command));
	if (!r->command)
		return -ENOMEM;
	nr = 0;
	for (i = 0; i < m->nr; i++) {
		const struct sidecar_run *in = &m->inputs[i].run;

		if (nr && in->nr_command)
			r->command[nr++] = "+";
		for (k = 0; k < in->nr_command; k++)
			r->command[nr++] = in->command[k];
	}
	run->command = r->command;
	run->nr_command = nr;
	return 0;
}

/* "a" or "a,b": each host once. */
static int merge_join_hosts(struct merge_reader *r, struct sidecar_run *run)
{
	const struct merge *m = r->merge;
	size_t i, k, size = 1;

	for (i = 0; i < m->nr; i++)
		size += m->inputs[i].run.hostname ? strlen(m->inputs[i].run.hostname) + 1 : 0;
	r->hostname = calloc(1, size);
	if (!r->hostname)
		return -ENOMEM;
	for (i = 0; i < m->nr; i++) {
		const char *name = m->inputs[i].run.hostname;

		for (k = 0; name && k < i; k++) {
			const char *other = m->inputs[k].run.hostname;

			if (other && !strcmp(name, other))
				name = NULL;
		}
		if (!name)
			continue;
		if (r->hostname[0])
			strcat(r->hostname, ","); /* NOLINT: it was counted above */
		strcat(r->hostname, name);        /* NOLINT: likewise */
	}
	run->hostname = r->hostname[0] ? r->hostname : NULL;
	return 0;
}

/* The run that started first, with the commands of all.  1, or 0: no input has a run. */
static int merge_give_run(struct merge_reader *r, struct trace_item *item)
{
	const struct merge *m = r->merge;
	uint64_t stations = 0, start_ts = UINT64_MAX;
	bool has_run = false;
	size_t i;

	trace_item_init(item, TRACE_ITEM_RUN);
	for (i = 0; i < m->nr; i++) {
		const struct merge_input *in = &m->inputs[i];
		uint64_t ts = in->run.start_ts + in->shift.time;

		stations += in->run.stations;
		if (!in->has_run || (has_run && ts >= start_ts))
			continue;
		has_run = true;
		start_ts = ts;
		item->run = in->run;
		item->run.start_ts = ts;
		item->run.pid = in->run.pid + (in->run.pid ? in->shift.pid : 0);
	}
	if (!has_run)
		return 0;
	item->run.stations = stations;
	if (merge_join_commands(r, &item->run) < 0 || merge_join_hosts(r, &item->run) < 0)
		return -ENOMEM;
	return 1;
}

static const char *merge_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* The part of the next input that is not merged itself.  False: there is none. */
static bool merge_give_part(struct merge_reader *r, struct trace_item *item)
{
	const struct merge *m = r->merge;
	const struct merge_input *in;
	struct trace_part *part = &item->part;

	while (r->nr_told < m->nr && !m->is_numbered && m->inputs[r->nr_told].nr_parts)
		r->nr_told++;
	if (r->nr_told == m->nr)
		return false;
	in = &m->inputs[r->nr_told++];
	trace_item_init(item, TRACE_ITEM_PART);
	if (in->has_run)
		part->run = in->run;
	if (in->has_totals)
		part->totals = in->totals;
	part->run.pid += part->run.pid ? in->shift.pid : 0;
	part->run.start_ts += in->shift.time;
	part->totals.end_ts += in->has_totals ? in->shift.time : 0;
	part->totals.detached |= totals_detached(&part->totals);
	part->number = in->parts_below + 1;
	part->ids_from = in->shift.id;
	part->ids_to = in->shift.id + (m->is_numbered ? in->nr_ids : in->max_id);
	part->name = merge_base_name(in->path);
	part->has_totals = in->has_totals;
	part->is_whole = merge_input_is_whole(in);
	return true;
}

/*
 * Input without totals: the events that it has are what is known.  The worst end of a program is
 * that of the merged trace.
 */
static void merge_add_totals(struct sidecar_totals *sum, const struct merge_input *in)
{
	const struct sidecar_totals *t = &in->totals;

	if (!in->has_totals) {
		sum->complete = false;
		sum->detached = true;
		sum->written += in->transitions;
		sum->collected += in->transitions;
		sum->others_written += in->others;
		sum->others_collected += in->others;
		return;
	}
	sum->complete &= t->complete;
	sum->detached |= totals_detached(t);
	sum->written += t->written;
	sum->collected += t->collected;
	sum->lost += t->lost;
	sum->lost_overwritten += t->lost_overwritten;
	sum->lost_full += t->lost_full;
	sum->lost_output += t->lost_output;
	sum->garbage += t->garbage;
	sum->unfinished += t->unfinished;
	sum->coroutines += t->coroutines;
	sum->without_station += t->without_station;
	sum->others_written += t->others_written;
	sum->others_collected += t->others_collected;
	sum->others_lost += t->others_lost;
	sum->forgotten += t->forgotten;
	sum->others_forgotten += t->others_forgotten;
	sum->waits += t->waits;
	sum->wait_ns += t->wait_ns;
	if (!sum->signal && t->signal > 0)
		sum->signal = t->signal;
	if (sum->exit_status <= 0 && t->exit_status > sum->exit_status)
		sum->exit_status = t->exit_status;
	if (t->end_ts + in->shift.time > sum->end_ts)
		sum->end_ts = t->end_ts + in->shift.time;
}

/* 1, or 0: no input has totals. */
static int merge_give_totals(const struct merge *m, struct trace_item *item)
{
	struct sidecar_totals *sum = &item->totals;
	bool has_totals = false;
	size_t i;

	trace_item_init(item, TRACE_ITEM_TOTALS);
	sum->complete = true;
	for (i = 0; i < m->nr; i++) {
		merge_add_totals(sum, &m->inputs[i]);
		has_totals |= m->inputs[i].has_totals;
	}
	if (sum->signal)
		sum->exit_status = -1;
	else if (sum->detached)
		sum->exit_status = TRACE_EXIT_DETACHED;
	return has_totals;
}

/* ---- streams -------------------------------------------------------------------- */

static uint64_t merge_key_of(const struct merge_stream *s)
{
	uint64_t key = s->key;

	switch (s->item.type) {
	case TRACE_ITEM_EVENT:
		return s->item.event.ts > key ? s->item.event.ts : key;
	case TRACE_ITEM_GAP:
		return s->item.gap.to_ts > key ? s->item.gap.to_ts : key;
	case TRACE_ITEM_COROUTINE:
		return MERGE_KEY_COROUTINE;
	default:
		return key;
	}
}

/* Reads the next item of stream @nr that is to be returned. */
static int merge_fetch(struct merge_reader *r, size_t nr, struct err *err)
{
	struct merge_stream *s = &r->streams[nr];
	int rc;

	do {
		rc = trace_next(s->reader, &s->item, err);
	} while (rc > 0 && (s->item.type == TRACE_ITEM_RUN || s->item.type == TRACE_ITEM_TOTALS ||
			    (s->item.type == TRACE_ITEM_PART && r->merge->is_numbered)));
	if (rc < 0)
		return rc;
	if (rc == 0) {
		s->key = MERGE_KEY_END;
		return 0;
	}
	if (merge_renumber(r->merge, nr, &s->item) < 0)
		return merge_reader_no_memory(err);
	s->key = merge_key_of(s);
	if (s->key == MERGE_KEY_END) /* an impossible time */
		s->key = MERGE_KEY_COROUTINE;
	return 0;
}

/* The stream with the earliest item, and how long it stays the earliest. */
static void merge_choose(struct merge_reader *r)
{
	size_t i, best = 0, second = r->merge->nr;

	for (i = 1; i < r->merge->nr; i++) {
		if (r->streams[i].key < r->streams[best].key) {
			second = best;
			best = i;
		} else if (second == r->merge->nr || r->streams[i].key < r->streams[second].key) {
			second = i;
		}
	}
	r->current = best;
	r->until = second < r->merge->nr ? r->streams[second].key : MERGE_KEY_END;
	r->until_itself = best < second;
}

static int merge_next_item(struct merge_reader *r, struct trace_item *item, struct err *err)
{
	struct merge_stream *s = &r->streams[r->current];

	if (r->is_taken && merge_fetch(r, r->current, err) < 0)
		return err->code;
	if (r->is_taken && (s->key > r->until || (s->key == r->until && !r->until_itself)))
		merge_choose(r);
	s = &r->streams[r->current];
	r->is_taken = s->key != MERGE_KEY_END;
	if (!r->is_taken)
		return 0;
	*item = s->item;
	return 1;
}

/* ---- the reader ------------------------------------------------------------------ */

static void merge_add_problems(struct trace_stats *sum, const struct trace_stats *s)
{
	sum->lines.lines += s->lines.lines;
	sum->lines.events += s->lines.events;
	sum->lines.garbage += s->lines.garbage;
	sum->lines.cut |= s->lines.cut;
	if (!sum->lines.nr_first && s->lines.nr_first) {
		sum->lines.nr_first = s->lines.nr_first;
		memcpy(sum->lines.first, s->lines.first, sizeof(sum->lines.first));
	}
	sum->sidecar.garbage += s->sidecar.garbage;
	sum->packed_cut |= s->packed_cut;
	sum->ctf.damaged += s->ctf.damaged;
	sum->ctf.torn += s->ctf.torn;
	sum->ctf.missing += s->ctf.missing;
	sum->ct.damaged += s->ct.damaged;
	sum->ct.torn += s->ct.torn;
	sum->ct.missing += s->ct.missing;
	sum->completeness.unreadable += s->completeness.unreadable;
	if (!sum->completeness.unreadable_errno && s->completeness.unreadable) {
		sum->completeness.unreadable_errno = s->completeness.unreadable_errno;
		memcpy(sum->completeness.unreadable_name, s->completeness.unreadable_name,
		       sizeof(sum->completeness.unreadable_name));
	}
}

static void merge_tell_stats(struct merge_reader *r, bool is_end)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < r->merge->nr; i++) {
		const struct trace_stats *stats = trace_reader_stats(r->streams[i].reader);

		bytes += stats->bytes;
		if (is_end)
			merge_add_problems(&r->reader.stats, stats);
	}
	r->reader.stats.bytes = bytes;
}

static int merge_reader_next(struct trace_reader *tr, struct trace_item *item, struct err *err)
{
	struct merge_reader *r = merge_reader_of(tr);
	int rc = 0;

	if (!r->gave_run) {
		r->gave_run = true;
		rc = merge_give_run(r, item);
		if (rc < 0)
			return merge_reader_no_memory(err);
	}
	if (!rc && merge_give_part(r, item))
		return 1;
	if (!rc && !r->gave_totals)
		rc = merge_next_item(r, item, err);
	if (rc || r->gave_totals)
		return rc;
	r->gave_totals = true;
	merge_tell_stats(r, true);
	return merge_give_totals(r->merge, item);
}

static void merge_reader_close(struct trace_reader *tr)
{
	struct merge_reader *r = merge_reader_of(tr);
	size_t i;

	for (i = 0; r->streams && i < r->merge->nr; i++)
		trace_reader_close(r->streams[i].reader);
	free(r->streams);
	free(r->command);
	free(r->hostname);
	free(r);
}

static const struct trace_reader_ops merge_reader_ops = { .next = merge_reader_next,
							  .close = merge_reader_close };

static int merge_reader_begin(struct merge_reader *r, struct err *err)
{
	size_t i;

	r->streams = calloc(r->merge->nr, sizeof(*r->streams));
	if (!r->streams)
		return merge_reader_no_memory(err);
	for (i = 0; i < r->merge->nr; i++) {
		struct merge_stream *s = &r->streams[i];

		s->reader = trace_reader_open(r->merge->inputs[i].path, err);
		if (!s->reader)
			return err->code;
		s->key = MERGE_KEY_FACT;
		r->reader.stats.total += trace_reader_stats(s->reader)->total;
		if (merge_fetch(r, i, err) < 0)
			return err->code;
	}
	merge_choose(r);
	return 0;
}

struct trace_reader *merge_reader_open(struct merge *m, struct err *err)
{
	struct merge_reader *r = calloc(1, sizeof(*r));

	if (!r) {
		merge_reader_no_memory(err);
		return NULL;
	}
	r->reader.ops = &merge_reader_ops;
	r->merge = m;
	if (merge_reader_begin(r, err) == 0)
		return &r->reader;
	merge_reader_close(&r->reader);
	return NULL;
}
