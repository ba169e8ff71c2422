/* SPDX-License-Identifier: MIT */
/*
 * jsonl.c - write a trace as JSON lines with their sidecar, for example from CTF.
 *
 * Both files are written under temporary names.  The sidecar is renamed first, so that new
 * lines never have the sidecar of an older trace; old lines have the new sidecar only for a
 * moment.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output_file.h"
#include "export/rewrite.h"
#include "export/sink.h"
#include "trace/sidecar.h"

struct jsonl_export {
	struct rewrite rewrite;
	struct outfile lines; /* the name only: the writer has the descriptor */
	char *sidecar, *sidecar_temporary;
	bool to_stdout;
};

static int jsonl_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for an export");
}

static int jsonl_open_files(struct jsonl_export *x, const char *path, struct err *err)
{
	if (!strcmp(path, "-")) {
		x->to_stdout = true;
		x->rewrite.output.path = "-";
		x->rewrite.output.fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return x->rewrite.output.fd < 0 ? err_errno(err, "cannot write to standard output")
						: 0;
	}
	if (outfile_reserve(&x->lines, path, err) < 0)
		return err->code;
	x->sidecar = sidecar_path(x->lines.path);
	x->sidecar_temporary = sidecar_path(x->lines.temporary);
	if (!x->sidecar || !x->sidecar_temporary)
		return jsonl_no_memory(err);
	x->rewrite.output.path = x->lines.temporary;
	x->rewrite.output.has_sidecar = true;
	x->rewrite.output.fd = fcntl(x->lines.fd, F_DUPFD_CLOEXEC, 3);
	return x->rewrite.output.fd < 0 ? err_errno(err, "cannot write '%s'", path) : 0;
}

static void jsonl_release(struct jsonl_export *x)
{
	rewrite_release(&x->rewrite);
	if (x->rewrite.output.fd >= 0)
		close(x->rewrite.output.fd);
	if (x->sidecar_temporary)
		unlink(x->sidecar_temporary);
	outfile_close(&x->lines);
	free(x->sidecar);
	free(x->sidecar_temporary);
	free(x);
}

static int jsonl_export_open(struct sink_job *job, struct err *err)
{
	struct jsonl_export *x = calloc(1, sizeof(*x));

	if (!x)
		return jsonl_no_memory(err);
	x->rewrite.output.format = TRACE_FORMAT_JSONL;
	x->rewrite.output.fd = -1;
	if (jsonl_open_files(x, job->output, err) < 0) {
		jsonl_release(x);
		return err->code;
	}
	job->state = x;
	return 0;
}

static int jsonl_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct jsonl_export *x = job->state;

	return rewrite_item(&x->rewrite, job, item, err);
}

static int commit_sidecar(const struct jsonl_export *x, struct err *err)
{
	int fd = open(x->sidecar_temporary, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fsync(fd) < 0) {
		err_errno(err, "cannot write '%s'", x->sidecar);
		if (fd >= 0)
			close(fd);
		return err->code;
	}
	close(fd);
	if (rename(x->sidecar_temporary, x->sidecar) < 0)
		return err_errno(err, "cannot replace '%s'", x->sidecar);
	return 0;
}

static int jsonl_commit(struct sink_job *job, struct err *err)
{
	struct jsonl_export *x = job->state;
	int rc = rewrite_finish(&x->rewrite, job, err);

	if (rc < 0 || x->to_stdout)
		return rc;
	/* Detects a full disk before the first file is replaced. */
	rc = outfile_settle(&x->lines, err);
	if (!rc)
		rc = commit_sidecar(x, err);
	return rc < 0 ? rc : outfile_commit(&x->lines, err);
}

static void jsonl_export_close(struct sink_job *job)
{
	jsonl_release(job->state);
}

static void jsonl_drop(struct sink_job *job)
{
	const struct jsonl_export *x = job->state;

	outfile_drop(&x->lines);
	if (x->sidecar_temporary)
		unlink(x->sidecar_temporary);
}

const struct sink sink_jsonl = {
	.name = "jsonl",
	.about = "JSON lines with their sidecar, of a trace that is CTF",
	.suffix = ".jsonl",
	.to_stdout = true,
	.frames = &frames_jsonl,
	.open = jsonl_export_open,
	.item = jsonl_item,
	.commit = jsonl_commit,
	.close = jsonl_export_close,
	.drop = jsonl_drop,
};
