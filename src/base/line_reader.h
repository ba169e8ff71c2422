/* SPDX-License-Identifier: MIT */
/*
 * line_reader.h - read a file as a stream of lines, in bounded memory.
 *
 * Lines may contain any bytes, including NUL. The buffer grows to the longest line, up to a limit;
 * a longer line is reported as too long, without its text.
 *
 * A file that is still being written can be followed: an incomplete line at its end is then held
 * back, and running out of data is not the end.
 */
#ifndef BASE_LINE_READER_H
#define BASE_LINE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Readable bytes after each line, so that parsers may load whole words. */
#define LINES_SLACK 64

struct lines {
	int fd;
	char *name; /* for messages */
	char *buf;
	size_t size, max; /* of buf, without LINES_SLACK */
	size_t pos;       /* start of the next line */
	size_t scanned;   /* no newline from pos to here */
	size_t end;       /* end of the data in buf */
	bool eof;
	uint64_t bytes;  /* returned so far */
	uint64_t offset; /* read so far */
	uint64_t fills;  /* reads that returned data */
	bool follow;
	bool skipping;  /* inside a line that is too long */
	uint64_t limit; /* while following: read the file only up to here, for now */
};

struct line {
	const char *text; /* text[size] is a newline, even if the file has none there */
	size_t size;
	bool too_long; /* text is empty */
	bool cut;      /* the file ends here, without a newline */
};

/* @path may be "-" for standard input. */
int lines_open(struct lines *l, const char *path, size_t max_line, struct err *err);

/* As lines_open(), on an open descriptor.  Takes ownership of @fd, also on failure. */
int lines_open_fd(struct lines *l, int fd, const char *name, size_t max_line, struct err *err);

/*
 * 1: a line, valid until the next call; 0: the end; a negative errno; -EAGAIN while following: no
 * complete line yet.
 */
int lines_next(struct lines *l, struct line *line, struct err *err);

/* Follow a growing file: read it up to @limit.  Call again to raise the limit. */
void lines_follow(struct lines *l, uint64_t limit);

/*
 * Stop following: the file no longer grows.  The writer may have truncated an incomplete last line,
 * so that line is read again.
 */
void lines_settle(struct lines *l);

/* Only white space. */
bool line_is_blank(const struct line *line);

/* Size of the file in bytes, 0 if unknown (a pipe). */
uint64_t lines_total(const struct lines *l);

/* Safe on a struct that is all zero or already closed. */
void lines_close(struct lines *l);

#endif
