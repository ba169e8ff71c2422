/* SPDX-License-Identifier: MIT */
/*
 * ctf_cursor.c - read a stream file of a CTF trace, packet by packet.
 *
 * Invariants
 *   - pos <= end <= size, and base + end <= file_size
 *   - in a packet: content_end <= packet_end, content_end <= file_size
 *   - every call of ctf_cursor_packet() that returns 1 advances by at least a packet head:
 *     no file content makes the reading take longer than the file size allows
 */
#include "trace/ctf_cursor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A longer record is corrupt: a command line is 2 MiB at most. */
#define RECORD_MAX ((size_t)16 * 1024 * 1024)
/*
 * A longer packet is corrupt: the writer's packets are a few hundred KiB, or as long as one
 * record.
 */
#define PACKET_MAX (UINT64_C(1) << 32)

/* ---- the window ----------------------------------------------------------- */

/*
 * O_NONBLOCK: a fifo or a device must not block.  O_NOFOLLOW: a link must not lead out of the
 * trace.
 */
static int ctf_cursor_open_file(const struct ctf_walk *walk, const struct ctf_cursor *c)
{
	return openat(walk->dir, c->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

static ssize_t ctf_cursor_read_at(const struct ctf_walk *walk, const struct ctf_cursor *c, void *to,
				  size_t size, uint64_t at)
{
	int fd = c->fd >= 0 ? c->fd : ctf_cursor_open_file(walk, c);
	ssize_t got;

	if (fd < 0)
		return -errno;
	do {
		got = pread(fd, to, size, (off_t)at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		got = -errno;
	if (fd != c->fd)
		close(fd);
	return got;
}

static bool ctf_cursor_grow(struct ctf_cursor *c, size_t size)
{
	uint8_t *bigger;

	if (size <= c->size)
		return true;
	bigger = realloc(c->buf, size);
	if (!bigger)
		return false;
	c->buf = bigger;
	c->size = size;
	return true;
}

/* Loads bytes from pos on, up to @size of them or the end of the file.  Returns 0 or -errno. */
static int ctf_cursor_fill(const struct ctf_walk *walk, struct ctf_cursor *c, size_t size)
{
	ssize_t got;

	if (c->pos)
		memmove(c->buf, c->buf + c->pos, c->end - c->pos);
	c->base += c->pos;
	c->end -= c->pos;
	c->pos = 0;
	if (!ctf_cursor_grow(c, size > walk->window ? size : walk->window))
		return -ENOMEM;
	while (c->end < size && c->base + c->end < c->file_size) {
		got = ctf_cursor_read_at(walk, c, c->buf + c->end, c->size - c->end,
					 c->base + c->end);
		if (got < 0)
			return (int)got;
		if (got == 0)
			c->file_size = c->base + c->end; /* the file was truncated */
		c->end += (size_t)got;
		*walk->bytes += (uint64_t)got;
	}
	return 0;
}

/*
 * Returns the number of bytes available from pos on: @size, or fewer at the end of the file;
 * -errno.
 */
static ssize_t ctf_cursor_look(const struct ctf_walk *walk, struct ctf_cursor *c, size_t size)
{
	int rc = c->end - c->pos < size ? ctf_cursor_fill(walk, c, size) : 0;

	if (rc < 0)
		return rc;
	return c->end - c->pos < size ? (ssize_t)(c->end - c->pos) : (ssize_t)size;
}

static void go_to(struct ctf_cursor *c, uint64_t offset)
{
	if (offset >= c->base && offset - c->base <= c->end) {
		c->pos = (size_t)(offset - c->base);
		return;
	}
	c->base = offset;
	c->pos = c->end = 0;
}

/* ---- packets ------------------------------------------------------------- */

static bool head_makes_sense(const struct ctf_walk *walk, const struct ctf_packet *p)
{
	return p->magic == CTF_MAGIC && !memcmp(p->uuid, walk->uuid, sizeof(p->uuid)) &&
	       p->stream_id < NR_CTF_STREAMS && p->content_size % 8 == 0 &&
	       p->packet_size % 8 == 0 && p->content_size >= sizeof(*p) * 8 &&
	       p->content_size <= p->packet_size && p->packet_size / 8 <= PACKET_MAX &&
	       p->timestamp_begin <= p->timestamp_end;
}

struct head {
	uint8_t bytes[20]; /* magic and uuid: every packet of the trace begins with them */
};

static struct head head_of(const struct ctf_walk *walk)
{
	const uint32_t magic = CTF_MAGIC;
	struct head h;

	memcpy(h.bytes, &magic, sizeof(magic));
	memcpy(h.bytes + sizeof(magic), walk->uuid, sizeof(walk->uuid));
	return h;
}

/* Searches the next packet head from pos on.  Returns 1; 0: the end of the file; -errno. */
static int ctf_cursor_find_head(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	struct head head = head_of(walk);

	for (;;) {
		ssize_t got = ctf_cursor_look(walk, c, walk->window);
		const uint8_t *found;

		if (got < 0)
			return (int)got;
		if ((size_t)got < sizeof(head)) {
			c->pos = c->end;
			return 0;
		}
		found = memmem(ctf_cursor_at(c), c->end - c->pos, &head, sizeof(head));
		if (found) {
			c->pos = (size_t)(found - c->buf);
			return 1;
		}
		c->pos = c->end - (sizeof(head) - 1);
		if (c->base + c->end >= c->file_size)
			c->pos = c->end;
	}
}

static void ctf_cursor_enter(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	uint64_t start = c->base + c->pos;

	c->in_packet = true;
	c->content_end = start + c->packet.content_size / 8;
	c->packet_end = start + c->packet.packet_size / 8;
	if (c->content_end > c->file_size)
		c->content_end = c->file_size;
	c->last_ts = c->packet.timestamp_begin;
	c->pos += sizeof(struct ctf_packet);
	walk->stats->packets++;
	if (c->packet.events_discarded > c->discarded) {
		walk->stats->discarded += c->packet.events_discarded - c->discarded;
		c->discarded = c->packet.events_discarded;
	}
	if (c->packet.packet_seq_num > c->next_seq)
		walk->stats->missing += c->packet.packet_seq_num - c->next_seq;
	c->next_seq = c->packet.packet_seq_num + 1;
}

int ctf_cursor_packet(const struct ctf_walk *walk, struct ctf_cursor *c)
{
	bool lost = false;

	for (;;) {
		ssize_t got = ctf_cursor_look(walk, c, sizeof(struct ctf_packet));
		int rc;

		if (got <= 0)
			return (int)got;
		if ((size_t)got < sizeof(struct ctf_packet)) {
			walk->stats->torn += !lost;
			c->pos = c->end;
			return 0;
		}
		memcpy(&c->packet, ctf_cursor_at(c), sizeof(c->packet));
		if (head_makes_sense(walk, &c->packet)) {
			ctf_cursor_enter(walk, c);
			return 1;
		}
		/* Corrupt bytes of any length count as one damaged packet. */
		walk->stats->damaged += !lost;
		lost = true;
		c->pos++;
		rc = ctf_cursor_find_head(walk, c);
		if (rc <= 0)
			return rc;
	}
}

int ctf_cursor_need(const struct ctf_walk *walk, struct ctf_cursor *c, size_t size)
{
	ssize_t got;

	if (size > RECORD_MAX || size > c->content_end - (c->base + c->pos))
		return 0;
	got = ctf_cursor_look(walk, c, size);
	return got < 0 ? (int)got : (size_t)got == size;
}

/* True if another packet begins at @offset, even a truncated one, or if the file ends there. */
static bool is_boundary(const struct ctf_walk *walk, struct ctf_cursor *c, uint64_t offset)
{
	struct head head = head_of(walk);
	ssize_t got;

	if (offset > c->file_size)
		return false;
	go_to(c, offset);
	got = ctf_cursor_look(walk, c, sizeof(head));
	return got >= 0 && !memcmp(ctf_cursor_at(c), &head, (size_t)got);
}

/*
 * The next packet begins where this one ends according to its head.  If no packet begins there,
 * this one is damaged, and its size may be the damaged member.
 */
void ctf_cursor_leave(const struct ctf_walk *walk, struct ctf_cursor *c, bool damaged)
{
	uint64_t from = damaged ? c->base + c->pos : c->content_end;

	c->in_packet = false;
	if (is_boundary(walk, c, c->packet_end)) {
		walk->stats->damaged += damaged;
		return;
	}
	go_to(c, from);
	if (ctf_cursor_find_head(walk, c) <= 0 && c->packet_end > c->file_size)
		walk->stats->torn++;
	else
		walk->stats->damaged++;
}

/* ---- open and close ------------------------------------------------------ */

int ctf_cursor_open(const struct ctf_walk *walk, struct ctf_cursor *c, const char *name)
{
	struct stat st;

	memset(c, 0, sizeof(*c));
	c->fd = -1;
	if (strlen(name) >= sizeof(c->name))
		return -ENAMETOOLONG;
	memcpy(c->name, name, strlen(name) + 1);
	c->fd = ctf_cursor_open_file(walk, c);
	if (c->fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(c->fd, &st) < 0) {
		int error = errno;

		ctf_cursor_close(c);
		return -error;
	}
	if (!S_ISREG(st.st_mode)) {
		ctf_cursor_close(c);
		return S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL;
	}
	c->file_size = (uint64_t)st.st_size;
	if (!walk->keep_open) {
		close(c->fd);
		c->fd = -1;
	}
	return 1;
}

void ctf_cursor_close(struct ctf_cursor *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	free(c->buf);
	c->buf = NULL;
}

void ctf_cursor_rewind(struct ctf_cursor *c)
{
	go_to(c, 0);
	c->in_packet = false;
	c->next_seq = c->discarded = 0;
}
