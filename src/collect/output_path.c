/* SPDX-License-Identifier: MIT */
/* output_path.c - the output of a trace: rename an earlier one, lock the new one. */
#include "collect/output_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/ctf_dir.h"
#include "trace/sidecar.h"

static char *old_name(const char *path)
{
	char *old = NULL;

	return asprintf(&old, "%s.old", path) < 0 ? NULL : old;
}

static int place_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for a path");
}

static int in_use(const char *path, struct err *err)
{
	err_set(err, -EBUSY, "another collector is writing '%s'", path);
	err_hint(err, "choose another file with -o");
	return err->code;
}

static int cannot_write(const char *path, struct err *err)
{
	err_errno(err, "cannot write the trace to '%s'", path);
	err_hint(err, "choose another file with -o");
	return err->code;
}

/* Rename an earlier file to NAME.old; a missing file is not an error. */
static int keep_old(const char *path, bool *kept, struct err *err)
{
	char *old = old_name(path);
	int rc = 0;

	if (!old)
		return place_no_memory(err);
	*kept = rename(path, old) == 0;
	if (!*kept && errno != ENOENT)
		rc = err_errno(err, "cannot keep '%s' as '%s'", path, old);
	free(old);
	return rc;
}

static void bring_back_old(const char *path)
{
	char *old = old_name(path);

	if (old && rename(old, path) < 0)
		unlink(path);
	free(old);
}

/* ---- files --------------------------------------------------------------- */

/* Never rename a link: /dev/stdout is one. */
static bool is_plain_file(const char *path)
{
	struct stat st;

	return strcmp(path, "-") != 0 && lstat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* "-" or another name of standard output: /dev/stdout, /dev/fd/1, /proc/self/fd/1. */
static bool place_is_stdout(const char *path)
{
	struct stat named, out;

	return !strcmp(path, "-") || (!is_plain_file(path) && stat(path, &named) == 0 &&
				      fstat(STDOUT_FILENO, &out) == 0 &&
				      named.st_dev == out.st_dev && named.st_ino == out.st_ino);
}

static bool is_filled_file(const char *path)
{
	struct stat st;

	return is_plain_file(path) && stat(path, &st) == 0 && st.st_size > 0;
}

/* A collector that writes the file holds a lock on it: see place_open_file(). */
static int refuse_in_use(const char *path, struct err *err)
{
	int rc = 0, fd = is_plain_file(path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		rc = in_use(path, err);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Rename trace and sidecar together.  An empty trace is not kept, and neither is its sidecar. */
static int keep_earlier_file(struct output_path *p, struct err *err)
{
	char *sidecar;
	int rc;

	if (refuse_in_use(p->path, err) < 0)
		return err->code;
	if (is_filled_file(p->path) && keep_old(p->path, &p->kept_trace, err) < 0)
		return err->code;
	if (p->format != TRACE_FORMAT_JSONL || place_is_stdout(p->path) ||
	    is_plain_file(p->path)) /* no sidecar, or an empty trace */
		return 0;
	sidecar = sidecar_path(p->path);
	rc = sidecar ? keep_old(sidecar, &p->kept_sidecar, err) : place_no_memory(err);
	free(sidecar);
	return rc;
}

static int place_refuse_terminal(const struct output_path *p, struct err *err)
{
	if (p->format != TRACE_FORMAT_CT || !p->is_stdout || !isatty(STDOUT_FILENO))
		return 0;
	err_set(err, -EINVAL, "refusing to write a binary trace to a terminal");
	err_hint(err, "-o FILE, or redirect standard output");
	return err->code;
}

static int place_open_file(struct output_path *p, struct err *err)
{
	struct stat st;

	p->is_stdout = place_is_stdout(p->path);
	if (place_refuse_terminal(p, err) < 0)
		return err->code;
	if (p->is_stdout)
		p->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		p->fd = open(p->path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	if (p->fd < 0)
		return cannot_write(p->path, err);
	p->is_open = true;
	if (p->is_stdout || fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	/* Hold the lock while writing; truncate only after locking. */
	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return in_use(p->path, err);
	p->is_file = true;
	if (st.st_size && ftruncate(p->fd, 0) < 0)
		return err_errno(err, "cannot write the trace to '%s'", p->path);
	return 0;
}

static void undo_file(struct output_path *p)
{
	char *sidecar = p->format == TRACE_FORMAT_JSONL ? sidecar_path(p->path) : NULL;

	/* Only a plain file has a sidecar; this process created nothing else. */
	if (p->kept_trace)
		bring_back_old(p->path);
	else if (p->is_file)
		unlink(p->path);
	if (sidecar && p->kept_sidecar)
		bring_back_old(sidecar);
	else if (sidecar && p->is_file)
		unlink(sidecar);
	free(sidecar);
}

/* ---- directories ---------------------------------------------------------- */

static int refuse_content(const char *path, struct err *err)
{
	err_set(err, -ENOTEMPTY, "'%s' exists and is not a corotracer trace", path);
	err_hint(err, "it was not changed; choose another directory with -o");
	return err->code;
}

static int open_dir(const char *path, int flags)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
}

/* Remove an older NAME.old to make room for the rename. */
static int clear_old(const char *old, struct err *err)
{
	int dir = open_dir(old, O_NOFOLLOW);

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0 || ctf_dir_content(dir) == CTF_DIR_SOMETHING) {
		if (dir >= 0)
			close(dir);
		return refuse_content(old, err);
	}
	ctf_dir_clear(dir);
	close(dir);
	if (rmdir(old) < 0)
		return err_errno(err, "cannot remove '%s'", old);
	return 0;
}

static int keep_earlier_dir(struct output_path *p, struct err *err)
{
	char *old = old_name(p->path);
	struct stat st;
	int rc;

	if (!old)
		return place_no_memory(err);
	/* Renaming a link would leave the trace where it is. */
	if (lstat(p->path, &st) == 0 && S_ISLNK(st.st_mode))
		rc = refuse_content(p->path, err);
	else
		rc = clear_old(old, err);
	free(old);
	return rc < 0 ? rc : keep_old(p->path, &p->kept_trace, err);
}

/* Keep an empty directory; rename one that contains a trace. */
static int make_way(struct output_path *p, struct err *err)
{
	int rc = 0, dir = open_dir(p->path, 0);

	if (dir < 0 && errno == ENOENT)
		return 0;
	if (dir < 0)
		return errno == ENOTDIR ? refuse_content(p->path, err) : cannot_write(p->path, err);
	if (flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		rc = in_use(p->path, err);
	else if (ctf_dir_content(dir) == CTF_DIR_TRACE)
		rc = keep_earlier_dir(p, err);
	else if (ctf_dir_content(dir) == CTF_DIR_SOMETHING)
		rc = refuse_content(p->path, err);
	close(dir);
	return rc;
}

static int place_make_dir(struct output_path *p, struct err *err)
{
	p->made = mkdir(p->path, 0777) == 0;
	if (!p->made && errno != EEXIST)
		return cannot_write(p->path, err);
	p->fd = open_dir(p->path, 0);
	if (p->fd < 0)
		return cannot_write(p->path, err);
	/* Hold the lock while writing; the directory belongs to this process from here on. */
	if (flock(p->fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK) {
		close(p->fd);
		return in_use(p->path, err);
	}
	p->is_open = true;
	return 0;
}

static void undo_dir(struct output_path *p)
{
	if (p->is_open)
		ctf_dir_clear(p->fd);
	if (p->is_open && p->made)
		rmdir(p->path);
	if (p->kept_trace)
		bring_back_old(p->path);
}

static int refuse_stdout(struct err *err)
{
	err_set(err, -EINVAL, "a CTF trace is a directory, and cannot go to standard output");
	err_hint(err, "name one with -o, or choose the other format");
	return err->code;
}

/* ---- files and directories ----------------------------------------------- */

static char *place_without_slashes(const char *path)
{
	size_t size = strlen(path);

	while (size > 1 && path[size - 1] == '/')
		size--;
	return strndup(path, size);
}

int place_open(struct output_path *p, const char *path, enum trace_format format, struct err *err)
{
	*p = (struct output_path){ .fd = -1, .format = format };
	if (format == TRACE_FORMAT_AUTO)
		p->format = trace_format_of(path);
	p->path = p->format == TRACE_FORMAT_CTF ? place_without_slashes(path) : strdup(path);
	if (!p->path)
		return place_no_memory(err);
	if (p->format != TRACE_FORMAT_CTF)
		return keep_earlier_file(p, err) < 0 ? err->code : place_open_file(p, err);
	if (!strcmp(p->path, "-"))
		return refuse_stdout(err);
	return make_way(p, err) < 0 ? err->code : place_make_dir(p, err);
}

void place_undo(struct output_path *p)
{
	if (!p->path)
		return;
	if (p->format == TRACE_FORMAT_CTF)
		undo_dir(p);
	else
		undo_file(p);
}

void place_close(struct output_path *p)
{
	if (p->is_open && p->fd >= 0)
		close(p->fd);
	free(p->path);
	*p = (struct output_path){ .fd = -1 };
}
