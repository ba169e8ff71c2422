/* SPDX-License-Identifier: MIT */
/*
 * recfile.h - read a recording, ours or the existing tool's, as a stream.
 *
 * The file is hostile input: every count is checked, every record is either a frame, part
 * of a mark, or counted as something else.  Memory does not grow with the file.
 */
#ifndef FRAMES_RECFILE_H
#define FRAMES_RECFILE_H

#include "frames/recording.h"

struct recfile_stats {
	uint64_t records; /* whole ones, of any kind */
	uint64_t frames;  /* good ones */
	uint64_t torn;    /* front and back differ */
	uint64_t foreign; /* of a type that the buffer does not have */
	uint64_t marks;
	uint64_t gaps;      /* frames that the sequence numbers miss */
	uint64_t repeated;  /* frames whose number is not above all before them */
	uint64_t cut_bytes; /* behind the last whole record */
	bool ended;         /* the last mark is there, and is in end */
	struct recording_mark end;
	uint64_t lost_marked; /* frames that marks say were lost */
	uint64_t resizes;
};

struct recfile {
	int fd;
	char *name;
	struct desc desc;
	struct recording_info info;
	uint64_t total; /* bytes of the file; 0: unknown */
	uint64_t read;  /* bytes read so far */
	uint8_t *buf;
	size_t at, end, size;
	bool eof;
	uint8_t mark[sizeof(struct recording_mark)]; /* the pieces so far */
	size_t mark_used;
	uint64_t ticket, highest; /* of the last frame, of all frames */
	bool any, placed;         /* there was a frame; a mark told a ticket */
	struct recfile_stats stats;
};

struct recfile_item {
	const struct recording_mark *mark; /* or NULL: a frame */
	const uint8_t *image;              /* frame_size bytes, valid until the next call */
	unsigned type;                     /* index in desc.frames */
	uint64_t ticket;
};

/* @path may be "-": standard input. */
int recfile_open(struct recfile *f, const char *path, struct err *err);

/* The same on an open descriptor, which is ours from now on, also on failure. */
int recfile_open_fd(struct recfile *f, int fd, const char *name, struct err *err);

/* 1: a frame or a mark; 0: the end; a negative errno. */
int recfile_next(struct recfile *f, struct recfile_item *item, struct err *err);

/* Harmless on a struct that is all zero, or closed. */
void recfile_close(struct recfile *f);

/*
 * Does the file ("-": standard input) begin like a recording?  Reads nothing away.  False also
 * if it cannot be read, or is a named pipe.
 */
bool recfile_sniff(const char *path);

#endif
