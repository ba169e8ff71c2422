/* SPDX-License-Identifier: MIT */
/* export_recording.c - read a recording of frames once and pass its frames to a sink. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "export/driver.h"
#include "export/frame_facts.h"
#include "export/frame_tables.h"

struct recording_driver {
	struct driver driver; /* first member: cast to and from */
	struct recfile file;
	struct row_plan *plans;
	struct frame_tables tables;
	struct frame_facts facts; /* for a sink that writes traces */
	int only;                 /* the only type of frames that is wanted; negative: all */
	bool has_start;
	uint64_t start; /* with a range of time: of the first frame that has a time */
};

/* ---- preparations -------------------------------------------------------- */

static char *recording_output(const struct sink *sink, const struct export_options *o)
{
	bool is_csv = !strcmp(sink->name, "csv"); /* makes a directory */
	char *output = NULL;

	if (o->output)
		return strdup(o->output);
	if (!strcmp(o->trace, "-"))
		return strdup(is_csv ? "output" : sink->to_stdout ? "-" : "output.sqlite");
	return asprintf(&output, "%s%s", o->trace, is_csv ? "_output" : sink->suffix) < 0 ? NULL
											  : output;
}

static int make_plans(struct recording_driver *r, struct err *err)
{
	struct recfile *f = &r->file;
	size_t i;

	r->plans = calloc(f->desc.nr_frames + 1, sizeof(*r->plans));
	for (i = 0; r->plans && i < f->desc.nr_frames; i++) {
		int rc = row_plan_init(&r->plans[i], &f->desc, (unsigned)i, &f->info);

		if (rc == -ENOMEM)
			break;
		if (rc < 0)
			return err_set(err, rc, "'%s': frame '%s' lists a member twice", f->name,
				       f->desc.frames[i].name);
	}
	if (!r->plans || i < f->desc.nr_frames)
		return err_set(err, -ENOMEM, "no memory for the columns of '%s'", f->name);
	return 0;
}

static int begin_result(struct export_frames *result, const struct recfile *f, struct err *err)
{
	size_t i;

	result->nr = calloc(f->desc.nr_frames + 1, sizeof(*result->nr));
	result->names = calloc(f->desc.nr_frames + 1, sizeof(*result->names));
	if (!result->nr || !result->names)
		return err_set(err, -ENOMEM, "no memory for the types of '%s'", f->name);
	result->nr_types = f->desc.nr_frames;
	for (i = 0; i < f->desc.nr_frames; i++) {
		result->names[i] = strdup(f->desc.frames[i].name);
		if (!result->names[i])
			return err_set(err, -ENOMEM, "no memory for the types of '%s'", f->name);
	}
	return 0;
}

/* The number of the requested type, or a negative errno. */
static int find_frame_type(const struct recfile *f, const char *name, struct err *err)
{
	char names[256] = "";
	size_t i, at = 0;

	for (i = 0; i < f->desc.nr_frames; i++) {
		const char *have = f->desc.frames[i].name;

		if (!strcmp(have, name))
			return (int)i;
		if (at < sizeof(names)) {
			int len = snprintf(names + at, sizeof(names) - at, "%s%s", at ? ", " : "",
					   have);

			at += len > 0 ? (size_t)len : 0;
		}
	}
	err_set(err, -ENOENT, "'%s' has no frames '%s'", f->name, name);
	err_hint(err, "it has %s", names);
	return -ENOENT;
}

static int check_stdout(const struct recording_driver *r, struct err *err)
{
	const struct sink *sink = r->driver.sink;
	const struct recfile *f = &r->file;

	if (!sink->to_stdout) {
		err_set(err, -EINVAL, "a database cannot go to standard output");
		err_hint(err, "name a file");
		return -EINVAL;
	}
	if (strcmp(sink->name, "csv") != 0 || r->only >= 0 || f->desc.nr_frames == 1)
		return 0;
	err_set(err, -EINVAL, "'%s' has %zu types of frames, and each has columns of its own",
		f->name, f->desc.nr_frames);
	err_hint(err, "choose one with --frame NAME, or use --format jsonl");
	return -EINVAL;
}

/* A range of time is all that a filter can say of frames. */
static int recording_check_filter(const struct recording_driver *r, const struct trace_filter *f,
				  struct err *err)
{
	int clock = desc_clock_id(&r->file.desc);

	if (f->has_coroutine || f->site || f->kinds || f->part) {
		err_set(err, -EINVAL, "cannot select frames of '%s' by %s: a recording has none",
			r->file.name,
			f->has_coroutine ? "coroutine"
			: f->site        ? "site"
			: f->kinds       ? "kind of event"
					 : "part");
		err_hint(err, "use --from and --to");
		return err->code;
	}
	if ((f->has_from || f->has_to) &&
	    (clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)) {
		err_set(err, -EINVAL,
			"cannot select frames of '%s' by time: their clock counts "
			"CPU time",
			r->file.name);
		err_hint(err, "leave out --from and --to");
		return err->code;
	}
	return 0;
}

/* ---- frames -------------------------------------------------------------- */

/* A frame passes if a part of its time is in the range; times count from the first frame on. */
static bool recording_frame_passes(struct recording_driver *r, const struct frame_shown *frame)
{
	const struct trace_filter *f = &r->driver.job.options->filter;
	uint64_t first, last;

	if (!f->has_from && !f->has_to)
		return true;
	if (!frame_timeline_times(frame, &first, &last))
		return false;
	if (!r->has_start)
		r->start = first;
	r->has_start = true;
	if (f->has_from && (last < r->start || last - r->start < f->from_ns))
		return false;
	return !f->has_to || first <= r->start || first - r->start <= f->to_ns;
}

static int export_put_frame(struct recording_driver *r, const struct recfile_item *item,
			    struct err *err)
{
	const struct frame_shown f = { &r->plans[item->type], item->type, item->image,
				       item->ticket };
	struct driver *d = &r->driver;
	const struct cell *cells;

	if (!recording_frame_passes(r, &f))
		return 0;
	d->result->frames.nr[item->type]++;
	if (d->sink->frame)
		return d->sink->frame(&d->job, &f, err);
	if (!d->sink->row)
		return frame_facts_frame(&r->facts, d->sink, &d->job, &f, err);
	cells = frame_tables_row(&r->tables, &f);
	if (!cells)
		return err_set(err, -ENOMEM, "no memory for a row");
	return d->sink->row(&d->job, r->tables.first + item->type, cells, err);
}

static bool recording_goes_to_trace(const struct sink *sink)
{
	return !sink->row && !sink->frame;
}

static int recording_put_head(struct recording_driver *r, struct err *err)
{
	struct driver *d = &r->driver;

	if (recording_goes_to_trace(d->sink))
		return frame_facts_begin(&r->facts, d->sink, &d->job, err);
	return frame_tables_put_header(&r->tables, d->sink, &d->job, err);
}

static int read_recording(struct driver *d, struct progress *progress, struct err *err)
{
	struct recording_driver *r = (struct recording_driver *)d;
	struct recfile_item item;
	uint64_t nr = 0;
	int rc = recording_put_head(r, err);

	while (!rc && (rc = recfile_next(&r->file, &item, err)) > 0) {
		rc = driver_step(d, progress, ++nr, r->file.read, err);
		if (item.mark && d->sink->mark)
			d->sink->mark(&d->job, item.mark);
		if (rc < 0 || item.mark || (r->only >= 0 && item.type != (unsigned)r->only))
			continue;
		rc = export_put_frame(r, &item, err);
	}
	if (!rc && recording_goes_to_trace(d->sink))
		rc = frame_facts_end(&r->facts, d->sink, &d->job, err);
	return rc;
}

/* ---- the driver ---------------------------------------------------------- */

static int run_recording(struct recording_driver *r, const struct export_options *o,
			 struct err *err)
{
	struct driver *d = &r->driver;
	int rc = begin_result(&d->result->frames, &r->file, err);

	if (!rc)
		rc = recording_check_filter(r, &o->filter, err);
	if (!rc)
		rc = make_plans(r, err);
	if (!rc && o->frame)
		rc = r->only = find_frame_type(&r->file, o->frame, err);
	/* Without a watch, a pipe that closes ends the process as usual. */
	d->is_watched = !d->job.output || strcmp(d->job.output, "-") != 0;
	if (rc >= 0 && !d->is_watched)
		rc = check_stdout(r, err);
	if (rc >= 0)
		rc = frame_tables_make(&r->tables, &r->file, r->plans, d->sink, o->table, err);
	d->job.recording = &r->file;
	d->job.stats = recording_goes_to_trace(d->sink) ? &r->facts.stats : NULL;
	d->job.plans = r->plans;
	d->job.tables = r->tables.tables;
	d->job.nr_tables = r->tables.nr;
	return rc < 0 ? rc : driver_run(d, r->file.name, r->file.total, err);
}

static void release_recording(struct recording_driver *r)
{
	size_t i;

	for (i = 0; r->plans && i < r->file.desc.nr_frames; i++)
		row_plan_release(&r->plans[i]);
	free(r->plans);
	frame_tables_release(&r->tables);
	frame_facts_release(&r->facts);
	recfile_close(&r->file);
}

int export_recording(const struct sink *sink, const struct export_options *options,
		     struct export_result *result, struct err *err)
{
	struct recording_driver r = { .driver = { .job = { .options = options },
						  .result = result,
						  .start_ns = clock_now_ns(),
						  .read = read_recording },
				      .only = -1 };
	int rc;

	memset(result, 0, sizeof(*result));
	rc = driver_choose_sink(&sink, options, true, err);
	if (!rc)
		rc = recfile_open(&r.file, options->trace, err);
	if (rc < 0)
		return rc;
	r.driver.sink = sink;
	if (sink->suffix)
		r.driver.job.output = result->output = recording_output(sink, options);
	if (sink->suffix && !result->output)
		rc = err_set(err, -ENOMEM, "no memory for a file name");
	else
		rc = run_recording(&r, options, err);
	result->frames.stats = r.file.stats;
	result->frames.counts = r.driver.job.counts;
	result->read_bytes = r.file.read;
	release_recording(&r);
	return rc;
}
