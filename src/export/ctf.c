/* SPDX-License-Identifier: MIT */
/*
 * ctf.c - write a trace as a CTF directory, for babeltrace2 and Trace Compass.
 *
 * The directory is written under a temporary name next to its final name.  An existing
 * corotracer trace of that name is replaced atomically, and only when the new one is complete;
 * anything else is refused.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/libc_gaps.h"
#include "export/rewrite.h"
#include "export/sink.h"
#include "trace/ctf.h"
#include "trace/ctf_dir.h"

struct ctf_export {
	struct rewrite rewrite;
	int dir;
	char *path;      /* the final name */
	char *temporary; /* the current name; NULL: renamed */
};

/* ---- the output directory ------------------------------------------------- */

static char *ctf_without_slashes(const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return strndup(path, size);
}

/* Follows a symbolic link to the directory. */
static char *ctf_real_name(const char *path)
{
	char *plain = ctf_without_slashes(path), *real = plain ? realpath(plain, NULL) : NULL;

	if (!real)
		return plain;
	free(plain);
	return real;
}

static int ctf_refuse(const char *path, struct err *err)
{
	err_set(err, -ENOTEMPTY, "'%s' exists and is not a corotracer trace", path);
	err_hint(err, "it was not changed; choose another directory with -o");
	return err->code;
}

/*
 * True if @path is the directory that is being read, or the directory of the metadata being
 * read.
 */
static bool is_the_trace(const char *trace, const char *path)
{
	const char *slash = strrchr(trace, '/'), *name = slash ? slash + 1 : trace;
	struct stat a, b;
	char *dir;
	bool is;

	if (!strcmp(name, CTF_METADATA))
		dir = slash ? strndup(trace, (size_t)(slash - trace) + 1) : strdup(".");
	else
		dir = strdup(trace);
	is = dir && stat(dir, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	     a.st_ino == b.st_ino;
	free(dir);
	return is;
}

static int check_place(const struct ctf_export *x, const struct sink_job *job, struct err *err)
{
	int dir = open(x->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	enum ctf_content content;
	bool in_use;

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0 && errno == ENOTDIR)
		return ctf_refuse(x->path, err);
	if (dir < 0)
		return err_errno(err, "cannot write '%s'", x->path);
	content = ctf_dir_content(dir);
	in_use = flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	close(dir);
	if (in_use) {
		err_set(err, -EBUSY, "a collector is writing '%s'", x->path);
		err_hint(err, "choose another directory with -o");
		return err->code;
	}
	if (content == CTF_DIR_SOMETHING)
		return ctf_refuse(x->path, err);
	if (!is_the_trace(job->options->trace, x->path))
		return 0;
	err_set(err, -EINVAL, "'%s' is the trace itself", x->path);
	err_hint(err, "name another directory with -o");
	return err->code;
}

static void ctf_set_mode(int dir)
{
	mode_t mask = umask(0);

	umask(mask);
	fchmod(dir, 0777 & ~mask); /* on failure the directory stays private, which is harmless */
}

static int ctf_make_dir(struct ctf_export *x, struct err *err)
{
	if (asprintf(&x->temporary, "%s.XXXXXX", x->path) < 0) {
		x->temporary = NULL;
		return err_set(err, -ENOMEM, "no memory for a path");
	}
	if (!mkdtemp(x->temporary)) {
		err_errno(err, "cannot write '%s'", x->path);
		err_hint(err, "a new directory is made beside it first: its parent must be there, "
			      "and writable");
		free(x->temporary);
		x->temporary = NULL;
		return err->code;
	}
	x->dir = open(x->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (x->dir < 0)
		return err_errno(err, "cannot write '%s'", x->temporary);
	ctf_set_mode(x->dir);
	return 0;
}

static void remove_dir(const char *path)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	if (dir < 0)
		return;
	ctf_dir_clear(dir);
	close(dir);
	rmdir(path);
}

/* ---- the sink ------------------------------------------------------------ */

static void ctf_release(struct ctf_export *x)
{
	rewrite_release(&x->rewrite);
	if (x->temporary)
		remove_dir(x->temporary);
	if (x->dir >= 0)
		close(x->dir);
	free(x->temporary);
	free(x->path);
	free(x);
}

static int ctf_open(struct sink_job *job, struct err *err)
{
	struct ctf_export *x = calloc(1, sizeof(*x));
	int rc;

	if (!x)
		return err_set(err, -ENOMEM, "no memory for an export");
	x->dir = -1;
	x->path = ctf_real_name(job->output);
	rc = x->path ? check_place(x, job, err) : err_set(err, -ENOMEM, "no memory for a path");
	if (rc == 0)
		rc = ctf_make_dir(x, err);
	if (rc < 0) {
		ctf_release(x);
		return rc;
	}
	x->rewrite.output = (struct trace_output){ .path = x->temporary,
						   .format = TRACE_FORMAT_CTF,
						   .fd = x->dir };
	job->state = x;
	return 0;
}

static int ctf_item(struct sink_job *job, const struct trace_item *item, struct err *err)
{
	struct ctf_export *x = job->state;

	return rewrite_item(&x->rewrite, job, item, err);
}

/*
 * Renames over a missing or an empty directory; exchanges the names with an existing trace, so
 * that a trace exists at every moment, and then the old one is removed.
 */
static int take_place(struct ctf_export *x, struct err *err)
{
	if (rename(x->temporary, x->path) == 0) {
		free(x->temporary);
		x->temporary = NULL;
		return 0;
	}
	if (errno != ENOTEMPTY && errno != EEXIST)
		return err_errno(err, "cannot replace '%s'", x->path);
	if (kernel_rename_exchange(x->temporary, x->path) == 0)
		return 0; /* the old trace has the temporary name now and is removed with it */
	err_errno(err, "cannot replace '%s'", x->path);
	err_hint(err, "remove it first, or choose another directory with -o");
	return err->code;
}

static int ctf_commit(struct sink_job *job, struct err *err)
{
	struct ctf_export *x = job->state;
	int rc = rewrite_finish(&x->rewrite, job, err);

	if (rc < 0)
		return rc;
	rc = ctf_dir_sync(x->dir);
	if (rc < 0) {
		errno = -rc;
		return err_errno(err, "cannot write '%s'", x->path);
	}
	if (check_place(x, job, err) < 0) /* it may have changed since the open */
		return err->code;
	if (!job->note[0])
		snprintf(job->note, sizeof(job->note),
			 "read it with babeltrace2, or open it with Trace Compass");
	return take_place(x, err);
}

static void ctf_close(struct sink_job *job)
{
	ctf_release(job->state);
}

static void ctf_drop(struct sink_job *job)
{
	const struct ctf_export *x = job->state;

	if (x->temporary)
		remove_dir(x->temporary);
}

const struct sink sink_ctf = {
	.name = "ctf",
	.takes_frames = true,
	.about = "a directory for babeltrace2 and Trace Compass",
	.suffix = ".ctf",
	.open = ctf_open,
	.item = ctf_item,
	.commit = ctf_commit,
	.close = ctf_close,
	.drop = ctf_drop,
};
