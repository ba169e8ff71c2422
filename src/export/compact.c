/* SPDX-License-Identifier: MIT */
/* compact.c - write a trace in the compact format, for example from JSON lines or from CTF. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "export/rewrite.h"
#include "export/sink.h"

struct compact_export {
	struct rewrite rewrite;
	struct outfile file; /* the name only: the writer has the descriptor */
	bool to_stdout;
};

static void compact_export_release(struct compact_export *x)
{
	rewrite_release(&x->rewrite);
	if (x->rewrite.output.fd >= 0)
		close(x->rewrite.output.fd);
	outfile_close(&x->file);
	free(x);
}

static int compact_export_open_file(struct compact_export *x, const char *path, struct err *err)
{
	struct trace_output *output = &x->rewrite.output;

	if (!strcmp(path, "-")) {
		x->to_stdout = true;
		output->path = "-";
		if (isatty(STDOUT_FILENO))
			return err_set(err, -EINVAL,
				       "refusing to write a binary trace to a terminal");
		output->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	} else {
		if (outfile_reserve(&x->file, path, err) < 0)
			return err->code;
		output->path = x->file.temporary;
		output->fd = fcntl(x->file.fd, F_DUPFD_CLOEXEC, 3);
	}
	return output->fd < 0 ? err_errno(err, "cannot write '%s'", path) : 0;
}

static int compact_export_open(struct sink_job *job, struct err *err)
{
	struct compact_export *x = calloc(1, sizeof(*x));

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	x->rewrite.output.format = TRACE_FORMAT_CT;
	x->rewrite.output.fd = -1;
	if (compact_export_open_file(x, job->output, err) < 0) {
		compact_export_release(x);
		return err->code;
	}
	job->state = x;
	return 0;
}

static int compact_export_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct compact_export *x = job->state;

	return rewrite_item(&x->rewrite, job, item, err);
}

static int compact_export_commit(struct sink_job *job, struct err *err)
{
	struct compact_export *x = job->state;
	int rc = rewrite_finish(&x->rewrite, job, err);

	return rc < 0 || x->to_stdout ? rc : outfile_commit(&x->file, err);
}

static void compact_export_close(struct sink_job *job)
{
	compact_export_release(job->state);
}

static void compact_export_drop(struct sink_job *job)
{
	const struct compact_export *x = job->state;

	outfile_drop(&x->file);
}

const struct sink sink_compact = {
	.name = "ct",
	.takes_frames = true,
	.about = "one compact file, compressed and indexed",
	.suffix = ".ct",
	.to_stdout = true,
	.open = compact_export_open,
	.item = compact_export_item,
	.commit = compact_export_commit,
	.close = compact_export_close,
	.drop = compact_export_drop,
};
