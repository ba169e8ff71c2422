/* SPDX-License-Identifier: MIT */
/*
 * load_trace.c - load a trace of any format into the store.
 *
 * The name of the run comes from the trace: a trace that is loaded twice counts once.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/monotonic.h"
#include "base/path.h"
#include "cmd.h"
#include "findings_job.h"
#include "load_source.h"
#include "trace/site_hash.h"
#include "trace/trace_reader.h"

/* Events per block, as in a compact trace. */
#define LOAD_BLOCK_EVENTS 65536u

/* What is known about the run before its first event. */
struct load_head {
	struct ship_labels labels;
	bool has_run, has_build;
	char program[SHIP_LABEL_SIZE];
};

static void load_copy_label(char to[SHIP_LABEL_SIZE], const char *text)
{
	snprintf(to, SHIP_LABEL_SIZE, "%s", text ? text : "");
}

void load_run_name(const struct sidecar_run *run, const char *path, char name[SHIP_RUN_SIZE])
{
	char text[256];

	snprintf(text, sizeof(text), "%" PRIu64 "/%" PRIu64 "/%" PRIu64, run->start_realtime,
		 run->start_ts, run->pid);
	snprintf(name, SHIP_RUN_SIZE, "%016" PRIx64 "%016" PRIx64,
		 site_hash(run->hostname ? run->hostname : path, 1, text),
		 site_hash(run->hostname ? run->hostname : path, 2, text));
}

/*
 * A part of a run is another run in the store: its name depends on the filter, so that the whole
 * run can be loaded, too.
 */
static void load_part_name(const struct trace_filter *f, char name[SHIP_RUN_SIZE])
{
	char text[256], before[SHIP_RUN_SIZE];

	snprintf(before, sizeof(before), "%s", name);
	snprintf(text, sizeof(text), "%d/%" PRIu64 "/%d/%" PRIu64 "/%d/%" PRIu64 "/%u/%s",
		 f->has_from, f->from_ns, f->has_to, f->to_ns, f->has_coroutine, f->coroutine,
		 f->kinds, f->site ? f->site : "");
	snprintf(name, SHIP_RUN_SIZE, "%016" PRIx64 "%016" PRIx64, site_hash(before, 1, text),
		 site_hash(before, 2, text));
}

static void load_take_run(struct load_head *h, const struct sidecar_run *run, const char *path)
{
	if (h->has_run)
		return;
	h->has_run = true;
	load_run_name(run, path, h->labels.run);
	load_copy_label(h->labels.host, run->hostname);
	load_copy_label(h->program, run->nr_command ? path_base(run->command[0]) : "");
	load_copy_label(h->labels.service, h->program);
	h->labels.start_ts = run->start_ts;
	h->labels.start_realtime = run->start_realtime;
}

/* The build-id of the program's own file, else of the first one. */
static void load_take_module(struct load_head *h, const struct sidecar_module *m)
{
	bool is_program = m->path && !strcmp(path_base(m->path), h->program);

	if (!m->build_id || (h->labels.build[0] && (h->has_build || !is_program)))
		return;
	load_copy_label(h->labels.build, m->build_id);
	h->has_build = is_program;
}

/* A trace without a sidecar says nothing about its run: the file's time is the best that is known.
 */
static void load_guess_run(struct load_head *h, const char *path, uint64_t first_ts)
{
	struct sidecar_run run = { .start_ts = first_ts };
	struct stat st;

	if (h->has_run)
		return;
	if (stat(path, &st) == 0)
		run.start_realtime = (uint64_t)st.st_mtim.tv_sec * NS_PER_SEC;
	load_take_run(h, &run, path);
	load_copy_label(h->labels.service, path_base(path));
	load_copy_label(h->labels.host, "unknown");
}

/* Reads up to the first event. */
static int load_read_head(struct load_head *h, const char *path, struct err *err)
{
	struct trace_reader *reader = trace_reader_open(path, err);
	struct trace_item item;
	int rc;

	if (!reader)
		return err->code;
	while ((rc = trace_next(reader, &item, err)) > 0 && item.type != TRACE_ITEM_EVENT) {
		if (item.type == TRACE_ITEM_RUN)
			load_take_run(h, &item.run, path);
		else if (item.type == TRACE_ITEM_MODULE)
			load_take_module(h, &item.module);
	}
	if (rc >= 0)
		load_guess_run(h, path, rc > 0 ? item.event.ts : 0);
	trace_reader_close(reader);
	return rc < 0 ? rc : 0;
}

static void load_set_given(struct ship_labels *to, const struct ship_labels *given)
{
	if (given->service[0])
		load_copy_label(to->service, given->service);
	if (given->build[0])
		load_copy_label(to->build, given->build);
	if (given->version[0])
		load_copy_label(to->version, given->version);
	if (given->host[0])
		load_copy_label(to->host, given->host);
	if (given->region[0])
		load_copy_label(to->region, given->region);
	to->sample = 1;
}

/* Of a part of a trace, the totals count what was loaded. */
static void load_set_part(struct ship_final *f, uint64_t transitions, uint64_t others)
{
	f->written -= f->collected < f->written ? f->collected : f->written;
	f->written += transitions;
	f->others_written -= f->others_collected < f->others_written ? f->others_collected
								     : f->others_written;
	f->others_written += others;
	f->collected = transitions;
	f->others_collected = others;
}

static void load_set_final(struct ship_labels *labels, const struct sidecar_totals *t)
{
	labels->final = (struct ship_final){
		.written = t->written,
		.collected = t->collected,
		.lost = t->lost,
		.others_written = t->others_written,
		.others_collected = t->others_collected,
		.others_lost = t->others_lost,
		.ended = true,
	};
}

/*
 * A position in the trace.  A block that the loader has, by its saved state, is passed over; pairs
 * are then in that state, too.
 */
struct load_place {
	struct load_job *job;
	struct ship_labels *labels;
	uint64_t number, events;
	uint64_t transitions, others; /* of all blocks */
	bool is_open, is_known;
};

static int load_place_begin(struct load_place *p, struct err *err)
{
	int rc = loader_begin(p->job->loader, p->labels, p->number, err);

	p->is_open = rc == 0;
	p->is_known = rc > 0;
	return rc < 0 ? rc : 0;
}

static int load_place_end(struct load_place *p, struct err *err)
{
	int rc = p->is_open ? loader_end(p->job->loader, err) : 0;

	p->is_open = p->is_known = false;
	p->number++;
	p->events = 0;
	if (rc == 0 && loader_is_due(p->job->loader))
		rc = loader_flush(p->job->loader, err);
	return rc;
}

static int load_place_item(struct load_place *p, const struct trace_item *item, struct err *err)
{
	int rc = 0;

	if (p->events == LOAD_BLOCK_EVENTS)
		rc = load_place_end(p, err);
	if (rc == 0 && !p->is_open && !p->is_known)
		rc = load_place_begin(p, err);
	if (rc == 0 && p->is_open)
		rc = loader_item(p->job->loader, item, err);
	if (item->type == TRACE_ITEM_EVENT) {
		p->events++;
		p->transitions += trace_is_transition(&item->event);
		p->others += !trace_is_transition(&item->event);
	}
	return rc;
}

static int load_items(struct load_job *job, struct trace_reader *reader, struct ship_labels *labels,
		      struct err *err)
{
	struct load_place p = { .job = job, .labels = labels };
	struct trace_item item;
	int rc = 0;

	while (!load_is_ending && (rc = trace_next(reader, &item, err)) > 0) {
		if (item.type == TRACE_ITEM_TOTALS)
			load_set_final(labels, &item.totals);
		rc = load_place_item(&p, &item, err);
		if (rc < 0)
			return rc;
	}
	if (load_is_ending)
		return err_set(err, -EINTR, "stopped by a signal");
	if (rc < 0)
		return rc;
	if (p.events || p.is_open)
		rc = load_place_end(&p, err);
	labels->has_final = true;
	if (trace_filter_is_set(&job->filter))
		load_set_part(&labels->final, p.transitions, p.others);
	labels->final.blocks = p.number;
	return rc < 0 ? rc : loader_block(job->loader, labels, p.number, NULL, 0, 0, err);
}

/*
 * The report is made here, where the files of the program may be.  A part has none: findings need
 * the whole run.
 */
static int load_findings(const struct load_job *job, const char *path,
			 const struct ship_labels *labels, struct err *err)
{
	struct findings_job findings = { .command = "load",
					 .trace = path,
					 .url = job->loader_options.url,
					 .quiet = true,
					 .labels = *labels };

	if (job->no_findings || trace_filter_is_set(&job->filter) ||
	    findings_job_start(&findings) == EXIT_OK)
		return 0;
	return err_set(err, -EIO, "cannot store the findings of '%s'", path);
}

int load_trace(struct load_job *job, const char *path, struct err *err)
{
	struct load_head head = { .has_run = false };
	struct trace_reader *reader;
	int rc = load_read_head(&head, path, err);

	if (rc < 0)
		return rc;
	load_set_given(&head.labels, &job->given);
	if (trace_filter_is_set(&job->filter))
		load_part_name(&job->filter, head.labels.run);
	reader = trace_reader_open(path, err);
	if (!reader)
		return err->code;
	trace_reader_set_filter(reader, &job->filter);
	rc = load_items(job, reader, &head.labels, err);
	if (rc == 0)
		rc = loader_flush(job->loader, err);
	trace_reader_close(reader);
	return rc == 0 ? load_findings(job, path, &head.labels, err) : rc;
}
