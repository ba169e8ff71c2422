/* SPDX-License-Identifier: MIT */
/* line_reader.c - read a file as a stream of lines, in bounded memory. */
#include "base/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"

/* Fits in a second-level cache and is large enough to make the cost of read(2) negligible. */
#define FIRST_SIZE ((size_t)256 * 1024)

int lines_open_fd(struct lines *l, int fd, const char *name, size_t max_line, struct err *err)
{
	memset(l, 0, sizeof(*l));
	l->fd = fd;
	l->max = max_line;
	l->size = max_line < FIRST_SIZE ? max_line : FIRST_SIZE;
	l->name = strdup(name);
	/* Zeroed: parsers that load whole words read past the end. */
	l->buf = calloc(1, l->size + LINES_SLACK);
	if (l->name && l->buf)
		return 0;
	lines_close(l);
	return err_set(err, -ENOMEM, "no memory to read '%s'", name);
}

int lines_open(struct lines *l, const char *path, size_t max_line, struct err *err)
{
	bool is_stdin = !strcmp(path, "-");
	const char *name = is_stdin ? "standard input" : path;
	struct stat st;
	int fd;

	memset(l, 0, sizeof(*l));
	fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(err, "cannot open '%s'", name);
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
		close(fd);
		return err_set(err, -EISDIR, "'%s' is a directory", name);
	}
	return lines_open_fd(l, fd, name, max_line, err);
}

static bool lines_grow(struct lines *l)
{
	size_t size = l->size * 2 < l->max ? l->size * 2 : l->max;
	char *bigger = realloc(l->buf, size + LINES_SLACK);

	if (!bigger)
		return false;
	memset(bigger + l->size, 0, size + LINES_SLACK - l->size);
	l->buf = bigger;
	l->size = size;
	return true;
}

/* Bytes to read now, at most @room. */
static size_t lines_is_readable(const struct lines *l, size_t room)
{
	if (!l->follow || l->limit - l->offset > room)
		return room;
	return (size_t)(l->limit - l->offset);
}

/* Read more bytes after those of the incomplete line. 1, 0 at the end, or a negative errno. */
static int lines_fill(struct lines *l)
{
	ssize_t got;
	size_t want;

	if (l->eof)
		return 0;
	if (l->pos) {
		memmove(l->buf, l->buf + l->pos, l->end - l->pos);
		l->scanned -= l->pos;
		l->end -= l->pos;
		l->pos = 0;
	}
	if (l->end == l->size && !lines_grow(l))
		return -ENOMEM;
	want = lines_is_readable(l, l->size - l->end);
	got = want ? io_read(l->fd, l->buf + l->end, want) : 0;
	if (got < 0)
		return (int)got;
	if (got == 0)
		l->eof = !l->follow;
	l->end += (size_t)got;
	l->offset += (uint64_t)got;
	l->fills += got > 0;
	return got > 0;
}

static void lines_take(struct lines *l, struct line *line, size_t size, bool newline)
{
	line->text = l->buf + l->pos;
	line->size = size;
	line->cut = !newline;
	line->too_long = false;
	l->pos += size + newline;
	l->scanned = l->pos;
	l->bytes += size + newline;
	if (!newline)
		l->buf[l->pos] = '\n';
}

/* The line is longer than the maximum: skip it. */
static int lines_skip(struct lines *l, struct line *line)
{
	*line = (struct line){ .text = "\n", .too_long = true };
	for (;;) {
		const char *newline = memchr(l->buf + l->pos, '\n', l->end - l->pos);
		size_t gone = newline ? (size_t)(newline + 1 - (l->buf + l->pos)) : l->end - l->pos;
		int rc;

		l->bytes += gone;
		l->pos += gone;
		l->scanned = l->pos;
		l->skipping = !newline;
		if (newline)
			return 1;
		rc = lines_fill(l);
		if (rc < 0)
			return rc;
		if (!rc && l->follow)
			return -EAGAIN;
		if (!rc) {
			l->skipping = false;
			line->cut = true;
			return 1;
		}
	}
}

static int line_reader_next(struct lines *l, struct line *line)
{
	if (l->skipping)
		return lines_skip(l, line);
	for (;;) {
		const char *newline = memchr(l->buf + l->scanned, '\n', l->end - l->scanned);
		int rc;

		if (newline) {
			lines_take(l, line, (size_t)(newline - (l->buf + l->pos)), true);
			return 1;
		}
		l->scanned = l->end;
		if (l->end - l->pos >= l->max)
			return lines_skip(l, line);
		rc = lines_fill(l);
		if (rc < 0)
			return rc;
		if (!rc)
			break;
	}
	if (l->follow)
		return -EAGAIN;
	if (l->pos == l->end)
		return 0;
	lines_take(l, line, l->end - l->pos, false);
	return 1;
}

int lines_next(struct lines *l, struct line *line, struct err *err)
{
	int rc = line_reader_next(l, line);

	if (rc < 0 && rc != -EAGAIN)
		err_set(err, rc, "cannot read '%s': %s", l->name, strerror(-rc));
	return rc;
}

void lines_follow(struct lines *l, uint64_t limit)
{
	l->follow = true;
	/* The limit cannot be below what was already read. */
	l->limit = limit > l->offset ? limit : l->offset;
	l->eof = false;
}

void lines_settle(struct lines *l)
{
	uint64_t half = l->end - l->pos;

	if (!l->follow)
		return;
	l->follow = false;
	/* Seeking works: only regular files are followed. */
	if (lseek(l->fd, (off_t)(l->offset - half), SEEK_SET) < 0)
		return;
	l->offset -= half;
	l->end = l->scanned = l->pos;
}

bool line_is_blank(const struct line *line)
{
	size_t i = 0;

	while (i < line->size && strchr(" \t\r", line->text[i]) && line->text[i])
		i++;
	return i == line->size && !line->too_long;
}

uint64_t lines_total(const struct lines *l)
{
	struct stat st;

	if (fstat(l->fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return (uint64_t)st.st_size;
}

void lines_close(struct lines *l)
{
	if (!l->max)
		return;
	close(l->fd);
	free(l->buf);
	free(l->name);
	memset(l, 0, sizeof(*l));
}
