/* SPDX-License-Identifier: MIT */
/* rewrite.c - write a trace again in another format. */
#include "export/rewrite.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/sidecar.h"

/* Number of events of the shared stream between two horizons. */
#define HORIZON_EVENTS 32768
#define CHECK_ITEMS    4096

/* ---- the writer ---------------------------------------------------------- */

/* Opens the writer at the first item, which has the start time that the head of the file needs. */
static int rewrite_open_writer(struct rewrite *r, const struct trace_item *item, struct err *err)
{
	if (r->writer)
		return 0;
	if (item && item->type == TRACE_ITEM_RUN) {
		r->output.run = item->run;
		r->is_ours = true;
	} else if (item && item->type == TRACE_ITEM_EVENT) {
		r->output.run.start_ts = item->event.ts;
	}
	r->writer = trace_writer_open(&r->output, err);
	memset(&r->output.run, 0, sizeof(r->output.run)); /* the reader owns its strings */
	r->output.fd = -1;
	return r->writer ? 0 : err->code;
}

static int rewrite_close_writer(struct rewrite *r, struct trace_counts *counts, struct err *err)
{
	struct err trace = { 0 }, facts = { 0 };

	trace_writer_close(r->writer, counts, &trace, &facts);
	r->writer = NULL;
	if (!trace.code && !facts.code)
		return 0;
	*err = trace.code ? trace : facts;
	return err->code;
}

/* ---- lanes --------------------------------------------------------------- */

static uint32_t pid_of(const struct rewrite *r, uint64_t pid)
{
	return (uint32_t)(pid ? pid : r->nr_processes == 1 ? r->pid : 0);
}

/* Returns the lane of the thread; beyond REWRITE_LANES threads share lanes in turn.  -ENOMEM. */
static int64_t rewrite_lane_of(struct rewrite *r, uint64_t tid, uint64_t pid)
{
	uint64_t *number = u64map_at(&r->lane_numbers, tid);
	struct trace_lane *lane;
	bool is_new;

	if (!number)
		return -ENOMEM;
	is_new = !*number;
	if (is_new)
		*number = u64map_count(&r->lane_numbers);
	lane = &r->lanes[(*number - 1) % REWRITE_LANES];
	if (is_new || lane->tid != tid || (pid && lane->pid != (uint32_t)pid)) {
		*lane = (struct trace_lane){
			.number = (uint32_t)((*number - 1) % REWRITE_LANES),
			.pid = pid_of(r, pid),
			.tid = tid,
		};
		trace_put_lane(r->writer, lane);
	}
	return lane->number;
}

/* ---- items --------------------------------------------------------------- */

/* Announces the newest time of the previous interval: older events are not expected any more. */
static void tell_horizon(struct rewrite *r, uint64_t ts)
{
	if (ts > r->newest_ts)
		r->newest_ts = ts;
	if (++r->since_horizon < HORIZON_EVENTS)
		return;
	trace_put_horizon(r->writer, r->horizon_ts);
	r->horizon_ts = r->newest_ts;
	r->since_horizon = 0;
}

static int rewrite_put_event(struct rewrite *r, const struct trace_event *ev)
{
	uint64_t *count = trace_is_transition(ev) ? &r->transitions : &r->others;
	bool has_lane = r->is_ours && ev->station == TRACE_NO_STATION;
	int64_t lane = has_lane ? rewrite_lane_of(r, ev->tid, ev->pid) : TRACE_LANE_STATIONS;

	if (lane < 0)
		return -ENOMEM;
	++*count;
	if (has_lane && ev->ts >= r->last_ts[lane]) {
		r->last_ts[lane] = ev->ts;
		trace_put_event(r->writer, (uint32_t)lane, ev);
		return 0;
	}
	trace_put_event(r->writer, TRACE_LANE_STATIONS, ev);
	tell_horizon(r, ev->ts);
	return 0;
}

static int rewrite_put_gap(struct rewrite *r, const struct trace_gap *gap)
{
	int64_t lane = TRACE_LANE_STATIONS;

	if (gap->lane != TRACE_LANE_STATIONS)
		lane = rewrite_lane_of(r, gap->tid, gap->pid);
	if (lane < 0)
		return -ENOMEM;
	trace_put_gap(r->writer, (uint32_t)lane, gap->from_ts, gap->to_ts, gap->transitions,
		      gap->others);
	return 0;
}

/* Of a part of a trace, the totals count what is in the part. */
static void rewrite_put_totals(struct rewrite *r, const struct sidecar_totals *whole)
{
	struct sidecar_totals totals = *whole;

	if (r->is_part) {
		totals.written -= whole->collected - r->transitions;
		totals.others_written -= whole->others_collected - r->others;
		totals.collected = r->transitions;
		totals.others_collected = r->others;
	}
	/* JSON lines have the flag, CTF has the exit status. */
	totals.detached = totals_detached(whole);
	if (totals.detached)
		totals.exit_status = TRACE_EXIT_DETACHED;
	trace_put_totals(r->writer, &totals);
}

static int put_item(struct rewrite *r, const struct trace_item *item)
{
	switch (item->type) {
	case TRACE_ITEM_RUN:
		trace_put_run(r->writer, &item->run);
		return 0;
	case TRACE_ITEM_PROCESS:
		r->pid = item->process.pid;
		r->nr_processes++;
		trace_put_process(r->writer, &item->process);
		return 0;
	case TRACE_ITEM_MODULE:
		trace_put_module(r->writer, &item->module);
		return 0;
	case TRACE_ITEM_CPU:
		trace_put_cpu(r->writer, &item->cpu);
		return 0;
	case TRACE_ITEM_DESCRIPTOR:
		trace_put_descriptor(r->writer, &item->descriptor);
		return 0;
	case TRACE_ITEM_SWITCH:
		trace_put_switch(r->writer, &item->switched);
		return 0;
	case TRACE_ITEM_FRAME:
		trace_put_frame(r->writer, &item->frame);
		return 0;
	case TRACE_ITEM_WAITING:
		trace_put_waiting(r->writer, &item->waiting);
		return 0;
	case TRACE_ITEM_PART:
		trace_put_part(r->writer, &item->part);
		return 0;
	case TRACE_ITEM_MEMORY:
		trace_put_memory(r->writer, &item->memory);
		return 0;
	case TRACE_ITEM_SITE:
		trace_put_site(r->writer, &item->site);
		return 0;
	case TRACE_ITEM_EVENT:
		return rewrite_put_event(r, &item->event);
	case TRACE_ITEM_GAP:
		return rewrite_put_gap(r, &item->gap);
	case TRACE_ITEM_COROUTINE:
		trace_put_coroutine(r->writer, &item->coroutine);
		return 0;
	case TRACE_ITEM_TOTALS:
		rewrite_put_totals(r, &item->totals);
		return 0;
	case NR_TRACE_ITEM_TYPES:
		break;
	}
	return 0;
}

int rewrite_item(struct rewrite *r, struct sink_job *job, const struct trace_item *item,
		 struct err *err)
{
	struct trace_counts counts;

	r->is_part = trace_filter_is_set(&job->options->filter);
	if (rewrite_open_writer(r, item, err) < 0)
		return err->code;
	if (put_item(r, item) < 0)
		return err_set(err, -ENOMEM, "no memory for the lanes of the threads");
	job->rows += item->type == TRACE_ITEM_EVENT;
	if (++r->nr_items % CHECK_ITEMS)
		return 0;
	trace_writer_counts(r->writer, &counts);
	if (counts.unwritten || counts.others_unwritten)
		return rewrite_close_writer(r, &counts, err); /* sets the error */
	return 0;
}

/* ---- what was written ----------------------------------------------------- */

static uint64_t file_bytes(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, 0) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0;
}

static uint64_t directory_bytes(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;
	uint64_t bytes = 0;

	while (dir && (entry = readdir(dir)))
		bytes += file_bytes(dirfd(dir), entry->d_name);
	if (dir)
		closedir(dir);
	return bytes;
}

/* Size of the files that were written; 0 for standard output. */
static uint64_t written_bytes(const struct trace_output *output)
{
	char *sidecar;
	uint64_t bytes;

	if (!output->path || !strcmp(output->path, "-"))
		return 0;
	if (output->format == TRACE_FORMAT_CTF)
		return directory_bytes(output->path);
	bytes = file_bytes(AT_FDCWD, output->path);
	sidecar = output->has_sidecar ? sidecar_path(output->path) : NULL;
	if (sidecar)
		bytes += file_bytes(AT_FDCWD, sidecar);
	free(sidecar);
	return bytes;
}

int rewrite_finish(struct rewrite *r, struct sink_job *job, struct err *err)
{
	struct trace_counts counts = { 0 };

	if (rewrite_open_writer(r, NULL, err) < 0 || rewrite_close_writer(r, &counts, err) < 0)
		return err->code;
	job->bytes = written_bytes(&r->output);
	if (counts.clamped)
		snprintf(job->note, sizeof(job->note),
			 "%" PRIu64 " events were out of order and have a later time now",
			 counts.clamped);
	return 0;
}

void rewrite_release(struct rewrite *r)
{
	struct trace_counts counts;
	struct err ignored = { 0 };

	if (r->writer)
		rewrite_close_writer(r, &counts, &ignored);
	u64map_release(&r->lane_numbers);
}
