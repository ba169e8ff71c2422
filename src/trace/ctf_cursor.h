/* SPDX-License-Identifier: MIT */
/*
 * ctf_cursor.h - read a stream file of a CTF trace, packet by packet.
 *
 * Only a window of the file is in memory.  The file may be truncated or damaged anywhere: a
 * corrupt packet is counted and the next packet is searched for; a truncated packet is returned
 * up to the truncation.
 */
#ifndef TRACE_CTF_CURSOR_H
#define TRACE_CTF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ctf.h"
#include "trace/trace_reader.h"

struct ctf_cursor {
	char name[CTF_NAME_SIZE];
	int fd; /* -1: opened for each read, because there are too many streams */
	uint64_t file_size;
	uint64_t base;   /* offset of buf in the file */
	size_t pos, end; /* in buf: the next byte, and the end of the bytes that were read */
	size_t size;     /* of buf */
	uint8_t *buf;

	bool in_packet;
	uint64_t content_end; /* offsets in the file */
	uint64_t packet_end;
	uint64_t last_ts;
	uint64_t next_seq;
	uint64_t discarded; /* events, according to the packets so far */
	struct ctf_packet packet;

	struct trace_item item; /* the next item, while cursors are merged */
};

/* Shared by all cursors of a trace. */
struct ctf_walk {
	int dir;
	uint8_t uuid[16];
	size_t window;  /* initial size of buf */
	bool keep_open; /* few streams: each cursor keeps its descriptor open */
	struct ctf_stats *stats;
	uint64_t *bytes;
};

/* Returns 1; 0: the file does not exist; -errno; -EISDIR or -EINVAL if it is not a regular file. */
int ctf_cursor_open(const struct ctf_walk *walk, struct ctf_cursor *c, const char *name);
void ctf_cursor_close(struct ctf_cursor *c);

/* Go back to the beginning of the file. */
void ctf_cursor_rewind(struct ctf_cursor *c);

/* Enter the next packet.  Returns 1; 0: there are no more packets; -errno. */
int ctf_cursor_packet(const struct ctf_walk *walk, struct ctf_cursor *c);

/*
 * Load @size bytes of the content of this packet at the cursor.  Returns 1; 0: fewer bytes are
 * left in the packet; -errno.
 */
int ctf_cursor_need(const struct ctf_walk *walk, struct ctf_cursor *c, size_t size);

/* The loaded bytes, and a step past them. */
static inline const uint8_t *ctf_cursor_at(const struct ctf_cursor *c)
{
	return c->buf + c->pos;
}

static inline void ctf_cursor_skip(struct ctf_cursor *c, size_t size)
{
	c->pos += size;
}

/* True if no content is left in this packet. */
static inline bool ctf_cursor_at_end(const struct ctf_cursor *c)
{
	return c->base + c->pos >= c->content_end;
}

/* Leave the packet: it was read completely, or it is corrupt from the cursor on (@damaged). */
void ctf_cursor_leave(const struct ctf_walk *walk, struct ctf_cursor *c, bool damaged);

#endif
