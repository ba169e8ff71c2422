/* SPDX-License-Identifier: MIT */
/* driver.c - what exports of a trace and of a recording have in common. */
#include "export/driver.h"

#include <errno.h>
#include <string.h>

#include "base/monotonic.h"

static int driver_refuse_recording(const struct sink *sink, const struct export_options *o,
				   struct err *err)
{
	err_set(err, -EINVAL,
		"cannot export '%s' to %s: it is a recording of frames, which do not wait for each "
		"other",
		o->trace, sink->name);
	err_hint(err, "recordings are exported to csv, jsonl, sqlite, postgresql, mysql, parquet, "
		      "ct, ctf, perfetto, chrome, speedscope, folded and pprof");
	return err->code;
}

int driver_choose_sink(const struct sink **sink, const struct export_options *o, bool is_recording,
		       struct err *err)
{
	const struct sink *s = *sink;

	if (o->cli && !s->client) {
		err_set(err, -EINVAL, "%s has no command line client", s->name);
		err_hint(err, "leave out --db-cli");
		return err->code;
	}
	if (o->cli)
		*sink = s->client;
	else if (is_recording && s->frames)
		*sink = s->frames;
	if (!(*sink)->open) {
		err_set(err, -ENOTSUP, "this build has no %s", s->name);
		err_hint(err,
			 "it was built without %s: install %s and build it again, or use --db-cli",
			 s->library, s->package);
		return err->code;
	}
	if (is_recording && !(*sink)->row && !(*sink)->frame && !(*sink)->takes_frames)
		return driver_refuse_recording(s, o, err);
	return 0;
}

static int driver_copy(struct driver *d, const char *name, uint64_t bytes, struct err *err)
{
	struct progress progress;
	int rc;

	progress_start(&progress, name, bytes);
	progress.on &= !d->job.options->quiet;
	rc = d->read(d, &progress, err);
	if (!rc)
		rc = driver_step(d, &progress, 1, 0, err);
	if (!rc) {
		progress_full(&progress, "writing the rest");
		rc = d->sink->commit(&d->job, err);
	}
	progress_end(&progress);
	return rc;
}

static int driver_open(struct driver *d, const char *name, uint64_t bytes, struct err *err)
{
	int rc = d->sink->open(&d->job, err);

	if (rc < 0)
		return rc;
	if (d->is_watched)
		watch_set_open(&d->watch, true);
	rc = driver_copy(d, name, bytes, err);
	if (d->is_watched) {
		if (rc < 0)
			d->result->signal = watch_came(&d->watch);
		watch_set_open(&d->watch, false);
	}
	d->sink->close(&d->job);
	return rc;
}

int driver_run(struct driver *d, const char *name, uint64_t bytes, struct err *err)
{
	struct export_result *r = d->result;
	int rc;

	if (d->is_watched)
		watch_start(&d->watch, d->sink, &d->job);
	rc = driver_open(d, name, bytes, err);
	if (d->is_watched)
		watch_end(&d->watch);
	r->rows = d->job.rows;
	r->left_out = d->job.left_out;
	r->bytes = d->job.bytes;
	memcpy(r->note, d->job.note, sizeof(r->note));
	r->duration_ns = clock_now_ns() - d->start_ns;
	return rc;
}
