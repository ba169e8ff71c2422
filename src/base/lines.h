/* SPDX-License-Identifier: MIT */
/*
 * lines.h - a file as a stream of lines, in bounded memory.
 *
 * Lines may hold anything, NUL included.  The buffer grows with the longest line
 * met, up to a limit; a longer line is reported as such, without its text.
 *
 * A file that somebody is still writing can be followed: then half a line at its end is not
 * there yet, and where there is no more for now is no end.
 */
#ifndef BASE_LINES_H
#define BASE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Readable behind each line, so that parsers may load whole words. */
#define LINES_SLACK 64

struct lines {
	int fd;
	char *name; /* for messages */
	char *buf;
	size_t size, max; /* of buf, without the slack */
	size_t pos;       /* next line */
	size_t scanned;   /* no newline from pos to here */
	size_t end;       /* of what was read */
	bool eof;
	uint64_t bytes;  /* handed out so far */
	uint64_t offset; /* read so far */
	uint64_t fills;  /* times that something was read */
	bool follow;
	bool skipping;  /* inside a line that is too long */
	uint64_t limit; /* while following: bytes of the file that are to be read, for now */
};

struct line {
	const char *text; /* text[size] is a newline, also where the file had none */
	size_t size;
	bool too_long; /* text is empty */
	bool cut;      /* the file ends here, without a newline */
};

/* @path may be "-": standard input. */
int lines_open(struct lines *l, const char *path, size_t max_line, struct err *err);

/* The same on an open descriptor, which is ours from now on, also on failure. */
int lines_open_fd(struct lines *l, int fd, const char *name, size_t max_line, struct err *err);

/* 1: a line, valid until the next call; 0: the end; a negative errno; -EAGAIN (following): not yet.
 */
int lines_next(struct lines *l, struct line *line, struct err *err);

/* From now on it may grow; it is read up to @limit, which may be raised. */
void lines_follow(struct lines *l, uint64_t limit);

/*
 * It grows no more: what is there is all.  Half a line may have been taken back by whoever
 * wrote it: that is read again.
 */
void lines_settle(struct lines *l);

/* Nothing but white space. */
bool line_is_blank(const struct line *line);

/* Bytes of the whole file, 0 if unknown (a pipe). */
uint64_t lines_total(const struct lines *l);

/* Harmless on a struct that is all zero, or closed. */
void lines_close(struct lines *l);

#endif
