/* SPDX-License-Identifier: MIT */
/* frame_facts.c - the frames of a recording as items of a trace. */
#include "export/frame_facts.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static int frame_facts_check_clock(const struct recfile *file, struct err *err)
{
	int clock = desc_clock_id(&file->desc);

	if (file->desc.time == DESC_COUNTER_CLOCK || clock == CLOCK_MONOTONIC ||
	    clock == CLOCK_MONOTONIC_COARSE)
		return 0;
	err_set(err, -EINVAL, "cannot write '%s' as a trace: its times are not of CLOCK_MONOTONIC",
		file->name);
	err_hint(err, "csv, jsonl, sqlite and databases keep the times as they are");
	return err->code;
}

/* Room for the longest object; formatters write past the end that they return. */
static int frame_facts_make_line(struct frame_facts *f, const struct sink_job *job, struct err *err)
{
	size_t i, longest = 0;

	for (i = 0; i < job->recording->desc.nr_frames; i++) {
		if (job->plans[i].json_max > longest)
			longest = job->plans[i].json_max;
	}
	f->line = malloc(longest + 128);
	return f->line ? 0 : err_set(err, -ENOMEM, "no memory for a frame");
}

int frame_facts_begin(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		      struct err *err)
{
	const struct recording_info *info = &job->recording->info;
	const char *command[] = { info->program };
	struct trace_item item;

	if (frame_facts_check_clock(job->recording, err) < 0 ||
	    frame_facts_make_line(f, job, err) < 0)
		return err->code;
	f->last_ts = info->start_monotonic_ns;
	trace_item_init(&item, TRACE_ITEM_RUN);
	item.run.tool = "corotracer";
	item.run.command = command;
	item.run.nr_command = info->program ? 1 : 0;
	item.run.pid = (uint64_t)info->pid;
	item.run.start_ts = info->start_monotonic_ns;
	item.run.start_realtime = info->start_realtime_ns;
	f->stats.completeness.has_run = true;
	return sink->item(job, &item, err);
}

int frame_facts_frame(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		      const struct frame_shown *frame, struct err *err)
{
	const struct desc *desc = &job->recording->desc;
	struct trace_item item;
	uint64_t first, last;

	trace_item_init(&item, TRACE_ITEM_FRAME);
	item.frame.is_late = !frame_timeline_times(frame, &first, &last);
	if (!item.frame.is_late)
		f->last_ts = last;
	item.frame.ts = f->last_ts;
	item.frame.pid = (uint64_t)job->recording->info.pid;
	item.frame.ticket = frame->ticket;
	item.frame.buffer = desc->name;
	item.frame.type = desc->frames[frame->type].name;
	*row_fields(frame->plan, frame->image, f->line) = '\0';
	item.frame.fields = f->line;
	job->rows++;
	return sink->item(job, &item, err);
}

static int frame_facts_put_loss(const struct frame_facts *f, const struct sink *sink,
				struct sink_job *job, struct err *err)
{
	struct trace_item item;

	if (!job->recording->stats.gaps)
		return 0;
	trace_item_init(&item, TRACE_ITEM_FRAME);
	item.frame.ts = f->last_ts;
	item.frame.pid = (uint64_t)job->recording->info.pid;
	item.frame.buffer = job->recording->desc.name;
	item.frame.lost = job->recording->stats.gaps;
	return sink->item(job, &item, err);
}

int frame_facts_end(struct frame_facts *f, const struct sink *sink, struct sink_job *job,
		    struct err *err)
{
	struct trace_item item;

	if (frame_facts_put_loss(f, sink, job, err) < 0)
		return err->code;
	f->stats.completeness.has_totals = true;
	trace_item_init(&item, TRACE_ITEM_TOTALS);
	item.totals.complete = true;
	item.totals.exit_status = -1;
	item.totals.end_ts = f->last_ts;
	return sink->item(job, &item, err);
}

void frame_facts_release(struct frame_facts *f)
{
	free(f->line);
}
