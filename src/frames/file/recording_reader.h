/* SPDX-License-Identifier: MIT */
/*
 * recording_reader.h - read a recording of corotracer or of the existing ppt tool, as a stream.
 *
 * The file is untrusted input: every count is checked, and every record is a frame, part of a
 * mark, or counted as corrupt.  Memory use does not grow with the file.
 */
#ifndef FRAMES_FILE_RECORDING_READER_H
#define FRAMES_FILE_RECORDING_READER_H

#include "frames/file/recording_writer.h"

struct recfile_stats {
	uint64_t records; /* complete records of any kind */
	uint64_t frames;  /* valid frames */
	uint64_t torn;    /* front and back differ */
	uint64_t foreign; /* of a type that the buffer does not have */
	uint64_t marks;
	uint64_t gaps;      /* frames missing by their sequence numbers */
	uint64_t repeated;  /* frames whose number is not above all earlier ones */
	uint64_t cut_bytes; /* bytes after the last complete record */
	bool ended;         /* there was an end mark, stored in end */
	struct recording_mark end;
	uint64_t lost_marked; /* frames lost according to marks */
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
	uint8_t mark[sizeof(struct recording_mark)]; /* the parts read so far */
	size_t mark_used;
	uint64_t ticket, highest; /* of the last frame; highest of all frames */
	bool any, placed;         /* a frame was read; a mark gave a ticket */
	struct recfile_stats stats;
};

struct recfile_item {
	const struct recording_mark *mark; /* NULL: the item is a frame */
	const uint8_t *image;              /* frame_size bytes, valid until the next call */
	unsigned type;                     /* index in desc.frames */
	uint64_t ticket;
};

/* @path may be "-": standard input. */
int recfile_open(struct recfile *f, const char *path, struct err *err);

/* The same on an open descriptor.  Takes ownership of @fd, even on failure. */
int recfile_open_fd(struct recfile *f, int fd, const char *name, struct err *err);

/* Returns 1 for a frame or a mark, 0 at the end, or a negative errno. */
int recfile_next(struct recfile *f, struct recfile_item *item, struct err *err);

/* Has no effect on a struct that is all zero, or closed. */
void recfile_close(struct recfile *f);

/*
 * True if the file ("-": standard input) starts like a recording.  Consumes nothing.  Returns
 * false if it cannot be read, or is a named pipe.
 */
bool recfile_sniff(const char *path);

#endif
