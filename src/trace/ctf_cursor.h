/* SPDX-License-Identifier: MIT */
/*
 * ctf_cursor.h - walk through a stream file of a CTF trace, packet by packet.
 *
 * Only a window of the file is in memory.  The file may end or be damaged anywhere: a
 * packet that makes no sense is counted, and the next one looked for; of one that is cut
 * off, everything up to the cut is given.
 */
#ifndef TRACE_CTF_CURSOR_H
#define TRACE_CTF_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trace/ctf.h"
#include "trace/reader.h"

struct ctf_cursor {
	char name[CTF_NAME_SIZE];
	int fd; /* -1: opened for each look, there are too many */
	uint64_t file_size;
	uint64_t base;   /* offset in the file of buf */
	size_t pos, end; /* in buf: next byte, and behind the last one that was read */
	size_t size;     /* of buf */
	uint8_t *buf;

	bool in_packet;
	uint64_t content_end; /* offsets in the file */
	uint64_t packet_end;
	uint64_t last_ts;
	uint64_t next_seq;
	uint64_t discarded; /* events, as the packets so far say */
	struct ctf_packet packet;

	struct trace_item item; /* the next one, while cursors are merged */
};

/* What cursors of one trace share. */
struct ctf_walk {
	int dir;
	uint8_t uuid[16];
	size_t window;  /* first size of buf */
	bool keep_open; /* so few that each may have its descriptor */
	struct ctf_stats *stats;
	uint64_t *bytes;
};

/* 1, or 0: it is not there; -errno, -EISDIR or -EINVAL for what is not a plain file. */
int ctf_cursor_open(const struct ctf_walk *walk, struct ctf_cursor *c, const char *name);
void ctf_cursor_close(struct ctf_cursor *c);

/* Back to the beginning of the file. */
void ctf_cursor_rewind(struct ctf_cursor *c);

/* Into the next packet.  1, 0: there is none; -errno. */
int ctf_cursor_packet(const struct ctf_walk *walk, struct ctf_cursor *c);

/*
 * @size bytes of this packet's content at the cursor, in memory.  1, 0: there are not as
 * many, -errno.
 */
int ctf_cursor_need(const struct ctf_walk *walk, struct ctf_cursor *c, size_t size);

/* Where they are, and to go past them. */
static inline const uint8_t *ctf_cursor_at(const struct ctf_cursor *c)
{
	return c->buf + c->pos;
}

static inline void ctf_cursor_skip(struct ctf_cursor *c, size_t size)
{
	c->pos += size;
}

/* Nothing of this packet's content is left. */
static inline bool ctf_cursor_at_end(const struct ctf_cursor *c)
{
	return c->base + c->pos >= c->content_end;
}

/*
 * On to the next packet: because this one is done, or because it makes no sense from here
 * on (@damaged).
 */
void ctf_cursor_leave(const struct ctf_walk *walk, struct ctf_cursor *c, bool damaged);

#endif
