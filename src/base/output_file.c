/* SPDX-License-Identifier: MIT */
/* output_file.c - write a file that appears complete or not at all. */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* The name for messages: "-" is standard output. */
static const char *outfile_name_of(const struct outfile *f)
{
	return strcmp(f->path, "-") ? f->path : "standard output";
}

static int outfile_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory for an output file");
}

void outfile_hint(struct err *err)
{
	if (err->hint[0])
		return;
	if (err->code == -EACCES || err->code == -ENOENT || err->code == -EROFS)
		err_hint(err,
			 "the file is written under a temporary name first: its directory must "
			 "exist and be writable");
	else if (err->code == -ENOSPC || err->code == -EDQUOT)
		err_hint(err, "free some space, or write to another file system");
	else if (err->code == -EFBIG)
		err_hint(err, "raise the limit of the file size (ulimit -f)");
}

/* @code: a negative errno. */
static int outfile_set_failed(const char *name, int code, struct err *err)
{
	errno = -code;
	err_errno(err, "cannot write '%s'", name);
	outfile_hint(err);
	return code;
}

/* ---- names --------------------------------------------------------------- */

/* /dev/stdout and similar: the name of an open file, which may have no other name. */
static bool outfile_is_descriptor(const char *path)
{
	return !strncmp(path, "/dev/fd/", 8) || !strcmp(path, "/dev/stdout") ||
	       !strcmp(path, "/dev/stderr") || !strncmp(path, "/proc/", 6);
}

static bool outfile_is_stdout(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/fd/1") ||
	       !strcmp(path, "/proc/self/fd/1");
}

/* Resolve symbolic links: the file they point to is written. */
static char *outfile_real_name(const char *path)
{
	char *real = outfile_is_descriptor(path) ? NULL : realpath(path, NULL);

	return real ? real : strdup(path);
}

/* Keep an existing file's mode; give a new file the mode that open(2) would give it. */
static void outfile_set_mode(int fd, const char *path)
{
	struct stat st;
	mode_t mask, mode;

	if (stat(path, &st) == 0) {
		mode = st.st_mode & 0777;
	} else {
		mask = umask(0);
		umask(mask);
		mode = 0666 & ~mask;
	}
	fchmod(fd, mode); /* on failure the file stays private, which is harmless */
}

static int make_temporary(struct outfile *f, struct err *err)
{
	if (asprintf(&f->temporary, "%s.XXXXXX", f->path) < 0) {
		f->temporary = NULL;
		return outfile_no_memory(err);
	}
	f->fd = temp_name_create(f->temporary, &f->entry);
	if (f->fd >= 0) {
		outfile_set_mode(f->fd, f->path);
		return 0;
	}
	outfile_set_failed(f->path, -errno, err);
	free(f->temporary);
	f->temporary = NULL;
	return err->code;
}

/* Devices and pipes keep their name; open files are truncated and keep theirs. */
static int open_in_place(struct outfile *f, struct err *err)
{
	f->fd = open(f->path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOCTTY);
	return f->fd < 0 ? err_errno(err, "cannot write '%s'", f->path) : 0;
}

static int open_named(struct outfile *f, bool by_name, struct err *err)
{
	struct stat st;
	bool is_there = stat(f->path, &st) == 0;

	if (is_there && S_ISDIR(st.st_mode))
		return err_set(err, -EISDIR, "cannot write '%s': it is a directory", f->path);
	if (!outfile_is_descriptor(f->path) && (!is_there || S_ISREG(st.st_mode)))
		return make_temporary(f, err);
	if (!by_name)
		return open_in_place(f, err);
	err_set(err, -EINVAL, "cannot write '%s': it is not a regular file", f->path);
	return err->code;
}

/* ---- opening ------------------------------------------------------------- */

static int outfile_open_file(struct outfile *f, const char *path, bool by_name, struct err *err)
{
	memset(f, 0, sizeof(*f));
	f->fd = -1;
	f->path = outfile_is_stdout(path) ? strdup("-") : outfile_real_name(path);
	if (!f->path)
		return outfile_no_memory(err);
	if (!outfile_is_stdout(path))
		return open_named(f, by_name, err);
	f->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return f->fd < 0 ? err_errno(err, "cannot write to standard output") : 0;
}

int outfile_open(struct outfile *f, const char *path, struct err *err)
{
	int rc = outfile_open_file(f, path, false, err);

	if (!rc) {
		f->buf = malloc(OUTFILE_BUFFER + OUTFILE_ROOM);
		if (!f->buf)
			rc = outfile_no_memory(err);
	}
	if (rc < 0) {
		outfile_close(f);
		return rc;
	}
	f->at = f->buf;
	f->limit = f->buf + OUTFILE_BUFFER;
	return 0;
}

int outfile_reserve(struct outfile *f, const char *path, struct err *err)
{
	int rc = outfile_open_file(f, path, true, err);

	if (rc < 0)
		outfile_close(f);
	return rc;
}

/* ---- writing ------------------------------------------------------------- */

static void outfile_write_out(struct outfile *f, const char *data, size_t size)
{
	while (size && !f->error) {
		ssize_t put = io_write(f->fd, data, size);

		if (put < 0) {
			f->error = (int)put;
			return;
		}
		f->bytes += (uint64_t)put;
		data += put;
		size -= (size_t)put;
	}
}

bool outfile_flush(struct outfile *f)
{
	outfile_write_out(f, f->buf, (size_t)(f->at - f->buf));
	f->at = f->buf;
	return !f->error;
}

void outfile_put_large(struct outfile *f, const void *data, size_t size)
{
	outfile_flush(f);
	if (size > OUTFILE_BUFFER) {
		outfile_write_out(f, data, size);
		return;
	}
	memcpy(f->at, data, size);
	f->at += size;
}

static ssize_t stream_write(void *file, const char *data, size_t size)
{
	struct outfile *f = file;

	outfile_put(f, data, size);
	if (!f->error)
		return (ssize_t)size;
	errno = -f->error;
	return 0; /* fopencookie(3): 0 means failure */
}

FILE *outfile_stream(struct outfile *f, struct err *err)
{
	FILE *stream = fopencookie(f, "w", (cookie_io_functions_t){ .write = stream_write });

	if (!stream)
		err_errno(err, "cannot write '%s'", outfile_name_of(f));
	return stream;
}

void outfile_end_stream(struct outfile *f, FILE *stream)
{
	bool bad = ferror(stream);

	errno = 0;
	bad |= fclose(stream) != 0;
	if (bad && !f->error)
		f->error = errno ? -errno : -EIO;
}

/* ---- commit and close ---------------------------------------------------- */

static void sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0) {
		fsync(fd); /* not every file system supports it; the file itself is synced */
		close(fd);
	}
	free(copy);
}

int outfile_settle(struct outfile *f, struct err *err)
{
	if (f->settled)
		return 0;
	if (f->buf)
		outfile_flush(f);
	if (!f->error && f->temporary && fsync(f->fd) < 0)
		f->error = -errno;
	if (f->error)
		return outfile_set_failed(outfile_name_of(f), f->error, err);
	f->settled = true;
	return 0;
}

int outfile_commit(struct outfile *f, struct err *err)
{
	if (outfile_settle(f, err) < 0)
		return err->code;
	if (!f->temporary)
		return 0;
	if (rename(f->temporary, f->path) < 0)
		return err_errno(err, "cannot replace '%s'", f->path);
	f->committed = true;
	temp_name_forget(f->entry);
	sync_directory(f->path);
	return 0;
}

void outfile_close(struct outfile *f)
{
	if (!f->path)
		return;
	if (!f->committed)
		outfile_drop(f);
	temp_name_forget(f->entry);
	if (f->fd >= 0)
		close(f->fd);
	free(f->temporary);
	free(f->path);
	free(f->buf);
	memset(f, 0, sizeof(*f));
}

void outfile_drop(const struct outfile *f)
{
	if (f->temporary)
		unlink(f->temporary);
}
