/* SPDX-License-Identifier: MIT */
/* frames_jsonl.c - write frames as JSON lines: an object per frame, in one file. */
#include <errno.h>
#include <stdlib.h>

#include "export/sink.h"

struct frames_jsonl {
	struct outfile file;
	char *line; /* for frames that may be longer than OUTFILE_ROOM; else NULL */
};

static size_t longest_line(const struct sink_job *job)
{
	size_t i, longest = 0;

	for (i = 0; i < job->recording->desc.nr_frames; i++) {
		if (job->plans[i].json_max > longest)
			longest = job->plans[i].json_max;
	}
	return longest + 64; /* formatters write past the end that they return */
}

static void frames_jsonl_close(struct sink_job *job)
{
	struct frames_jsonl *x = job->state;

	outfile_close(&x->file);
	free(x->line);
	free(x);
}

static int frames_jsonl_open(struct sink_job *job, struct err *err)
{
	struct frames_jsonl *x = calloc(1, sizeof(*x));
	size_t longest = longest_line(job);

	if (x && longest > OUTFILE_ROOM)
		x->line = malloc(longest);
	if (!x || (longest > OUTFILE_ROOM && !x->line)) {
		free(x);
		return err_set(err, -ENOMEM, "no memory to write '%s'", job->output);
	}
	job->state = x;
	if (outfile_open(&x->file, job->output, err) == 0)
		return 0;
	frames_jsonl_close(job);
	return err->code;
}

static int frames_jsonl_frame(struct sink_job *job, const struct frame_shown *f, struct err *err)
{
	struct frames_jsonl *x = job->state;
	char *at = x->line ? x->line : outfile_room(&x->file);
	char *end = row_jsonl(f->plan, f->image, f->ticket, at);

	if (x->line)
		outfile_put(&x->file, at, (size_t)(end - at));
	else
		x->file.at = end;
	return x->file.error ? outfile_settle(&x->file, err) : 0; /* sets the error */
}

static int frames_jsonl_commit(struct sink_job *job, struct err *err)
{
	struct frames_jsonl *x = job->state;
	int rc = outfile_commit(&x->file, err);

	job->bytes = x->file.bytes;
	return rc;
}

static void frames_jsonl_drop(struct sink_job *job)
{
	outfile_drop(&((struct frames_jsonl *)job->state)->file);
}

const struct sink frames_jsonl = {
	.name = "jsonl",
	.suffix = ".jsonl",
	.to_stdout = true,
	.open = frames_jsonl_open,
	.frame = frames_jsonl_frame,
	.commit = frames_jsonl_commit,
	.close = frames_jsonl_close,
	.drop = frames_jsonl_drop,
};
