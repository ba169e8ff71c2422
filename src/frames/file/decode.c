/* SPDX-License-Identifier: MIT */
/* decode.c - read a recording, and pass its frames to a writer. */
#include "frames/file/decode.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/progress.h"
#include "frames/file/frame_columns.h"

static const struct decode_writer *const writers[] = {
	[DECODE_CSV] = &decode_csv,       [DECODE_JSONL] = &decode_jsonl,
	[DECODE_SQLITE] = &decode_sqlite, [DECODE_PERFETTO] = &decode_perfetto,
	[DECODE_CHROME] = &decode_chrome,
};

static char *default_out(const struct decode_config *c)
{
	static const char *const suffixes[] = { "_output", ".jsonl", ".sqlite", ".perfetto-trace",
						".chrome.json" };
	char *out = NULL;

	if (c->out)
		return strdup(c->out);
	if (!strcmp(c->path, "-"))
		return strdup(c->format == DECODE_CSV      ? "output"
			      : c->format == DECODE_SQLITE ? "output.sqlite"
							   : "-");
	return asprintf(&out, "%s%s", c->path, suffixes[c->format]) < 0 ? NULL : out;
}

static int make_plans(struct recfile *f, const struct decode_config *config,
		      struct row_plan **plans, struct err *err)
{
	size_t i;

	*plans = calloc(f->desc.nr_frames, sizeof(**plans));
	for (i = 0; *plans && i < f->desc.nr_frames; i++) {
		int rc = row_plan_init(&(*plans)[i], &f->desc, (unsigned)i, &f->info);

		if (rc == -ENOMEM)
			break;
		if (rc < 0)
			return err_set(err, rc, "'%s': frame '%s' lists a member twice", f->name,
				       f->desc.frames[i].name);
		(*plans)[i].crlf = config->crlf;
		(*plans)[i].guard = !config->exact_text;
	}
	if (!*plans || i < f->desc.nr_frames)
		return err_set(err, -ENOMEM, "no memory for the columns of '%s'", f->name);
	return 0;
}

static void release_plans(struct row_plan *plans, size_t nr)
{
	size_t i;

	for (i = 0; plans && i < nr; i++)
		row_plan_release(&plans[i]);
	free(plans);
}

static int begin_result(struct decode_result *result, const struct recfile *f, struct err *err)
{
	size_t i;

	result->frames = calloc(f->desc.nr_frames, sizeof(*result->frames));
	result->names = calloc(f->desc.nr_frames, sizeof(*result->names));
	if (!result->frames || !result->names)
		return err_set(err, -ENOMEM, "no memory for the types of '%s'", f->name);
	result->nr_types = f->desc.nr_frames;
	for (i = 0; i < f->desc.nr_frames; i++) {
		result->names[i] = strdup(f->desc.frames[i].name);
		if (!result->names[i])
			return err_set(err, -ENOMEM, "no memory for the types of '%s'", f->name);
	}
	return 0;
}

void decode_result_release(struct decode_result *result)
{
	size_t i;

	for (i = 0; result->names && i < result->nr_types; i++)
		free(result->names[i]);
	free(result->names);
	free(result->frames);
	free(result->out);
	memset(result, 0, sizeof(*result));
}

/* The number of the requested type, or a negative errno. */
static int decode_find_type(const struct recfile *f, const char *name, struct err *err)
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

static int copy_frames(struct recfile *f, struct decode_writer *w, int only,
		       struct decode_result *result, struct err *err)
{
	struct progress progress;
	struct recfile_item item;
	uint64_t nr = 0;
	int rc;

	progress_start(&progress, f->name, f->total);
	while ((rc = recfile_next(f, &item, err)) > 0) {
		if (++nr % 16384 == 0)
			progress_update(&progress, f->read);
		if (item.mark && w->mark)
			w->mark(w, item.mark);
		if (item.mark || (only >= 0 && item.type != (unsigned)only))
			continue;
		result->frames[item.type]++;
		rc = w->frame(w, item.type, item.image, item.ticket, err);
		if (rc < 0)
			break;
	}
	progress_end(&progress);
	return rc;
}

static int check_stdout(const struct recfile *f, const struct decode_config *config,
			struct err *err)
{
	if (config->format == DECODE_SQLITE) {
		err_set(err, -EINVAL, "a database cannot go to standard output");
		err_hint(err, "name a file");
		return -EINVAL;
	}
	if (config->format != DECODE_CSV || config->frame || f->desc.nr_frames == 1)
		return 0;
	err_set(err, -EINVAL, "'%s' has %zu types of frames, and each has columns of its own",
		f->name, f->desc.nr_frames);
	err_hint(err, "choose one with --frame NAME, or use --format jsonl");
	return -EINVAL;
}

static int decode_file(struct recfile *f, const struct decode_config *config,
		       struct decode_result *result, struct err *err)
{
	struct decode_writer w = *writers[config->format];
	struct row_plan *plans = NULL;
	int only = -1, rc = begin_result(result, f, err);

	if (!rc)
		rc = make_plans(f, config, &plans, err);
	if (!rc && config->frame)
		rc = only = decode_find_type(f, config->frame, err);
	if (rc >= 0 && !strcmp(result->out, "-"))
		rc = check_stdout(f, config, err);
	w.file = f;
	w.plans = plans;
	if (rc >= 0)
		rc = w.open(&w, result->out, err);
	if (rc >= 0) {
		rc = copy_frames(f, &w, only, result, err);
		if (w.close(&w, rc == 0, err) < 0 && rc == 0)
			rc = err->code;
	}
	result->bytes_out = w.bytes;
	result->counts = w.counts;
	release_plans(plans, f->desc.nr_frames);
	return rc < 0 ? rc : 0;
}

int decode_run(const struct decode_config *config, struct decode_result *result, struct err *err)
{
	struct recfile f;
	int rc;

	memset(result, 0, sizeof(*result));
	rc = recfile_open(&f, config->path, err);
	if (rc < 0)
		return rc;
	result->out = default_out(config);
	if (!result->out)
		rc = err_set(err, -ENOMEM, "no memory for a file name");
	else
		rc = decode_file(&f, config, result, err);
	result->stats = f.stats;
	result->bytes_in = f.read;
	recfile_close(&f);
	return rc;
}
