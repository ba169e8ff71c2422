/* SPDX-License-Identifier: MIT */
/*
 * ctf_stream.c - write the stream files of a CTF trace, packet by packet.
 *
 * Invariants
 *   - limit == at == buf exactly if no packet is begun or writing has ended; a stream with a
 *     packet is on the dirty list, once
 *   - a file holds whole packets, file_size bytes in total; the rest of a failed write is
 *     truncated
 *   - written + unwritten is every event that was put, except those in begun packets
 */
#include "trace/ctf_stream.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"

/*
 * Buffers start small, because most lanes of a program with many threads are nearly idle, and
 * double as long as they fill up between two flushes.
 */
#define FIRST_SIZE  ((size_t)16 * 1024)
#define PACKET_SIZE ((size_t)256 * 1024)
/* A shorter packet continues when another thread takes over its lane. */
#define SHORT_PACKET ((size_t)8 * 1024)
/* Slack after the limit: the longest event is a birth with its name. */
#define SLACK ((size_t)4096 + 256)

/* ---- descriptors ---------------------------------------------------------- */

static void forget_open(struct ctf_files *f, unsigned i)
{
	struct ctf_stream *s = f->open[i];

	/* Some file systems report a failed write only at close. */
	if (close(s->fd) < 0 && errno != EINTR && !f->error)
		f->error = -errno;
	s->fd = -1;
	f->open[i] = f->open[--f->nr_open];
}

static void close_oldest(struct ctf_files *f)
{
	unsigned i, oldest = 0;

	for (i = 1; i < f->nr_open; i++) {
		if (f->open[i]->used < f->open[oldest]->used)
			oldest = i;
	}
	forget_open(f, oldest);
}

static void close_stream(struct ctf_files *f, const struct ctf_stream *s)
{
	unsigned i;

	for (i = 0; i < f->nr_open; i++) {
		if (f->open[i] == s) {
			forget_open(f, i);
			return;
		}
	}
}

static int open_stream(struct ctf_files *f, struct ctf_stream *s)
{
	if (s->fd >= 0)
		return 0;
	if (f->nr_open == CTF_OPEN_MAX)
		close_oldest(f);
	for (;;) {
		s->fd = openat(f->dir, s->name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (s->fd >= 0)
			break;
		if ((errno != EMFILE && errno != ENFILE) || !f->nr_open)
			return -errno;
		close_oldest(f); /* fewer descriptors are available than CTF_OPEN_MAX */
	}
	f->open[f->nr_open++] = s;
	return 0;
}

/* ---- write --------------------------------------------------------------- */

static int ctf_write_all(int fd, const uint8_t *from, size_t size)
{
	while (size) {
		ssize_t put = io_write(fd, from, size);

		if (put < 0)
			return (int)put;
		from += put;
		size -= (size_t)put;
	}
	return 0;
}

static void finish_head(const struct ctf_files *f, struct ctf_stream *s, size_t size)
{
	struct ctf_packet head = {
		.magic = CTF_MAGIC,
		.stream_id = s->stream_id,
		.timestamp_begin = s->begin_ts,
		.timestamp_end = s->last_ts,
		.content_size = size * 8,
		.packet_size = size * 8,
		.packet_seq_num = s->seq,
		.events_discarded = s->discarded,
		.lane = s->lane,
		.pid = s->pid,
		.tid = s->tid,
	};

	memcpy(head.uuid, f->uuid, sizeof(head.uuid));
	memcpy(s->buf, &head, sizeof(head));
}

/* Only packets of a single lane are announced: a packet of a shared stream belongs to no lane. */
static const struct trace_saver *saver_of(const struct ctf_files *f, const struct ctf_stream *s)
{
	return f->saver && s->lane != UINT32_MAX ? *f->saver : NULL;
}

static void ctf_announce(const struct ctf_files *f, const struct ctf_stream *s, size_t size)
{
	const struct trace_saver *saver = saver_of(f, s);
	struct trace_save save = {
		.lane = s->lane,
		.trace_size = s->file_size + size,
		.transitions = f->written + s->transitions,
		.others = f->others_written + s->others,
	};

	if (saver)
		saver->begin(saver->ctx, &save);
}

static void announce_end(const struct ctf_files *f, const struct ctf_stream *s, bool complete)
{
	const struct trace_saver *saver = saver_of(f, s);

	if (saver)
		saver->end(saver->ctx, complete);
}

static int write_packet(struct ctf_files *f, struct ctf_stream *s)
{
	size_t size = (size_t)(s->at - s->buf);
	int rc = open_stream(f, s);

	if (rc < 0)
		return rc;
	finish_head(f, s, size);
	ctf_announce(f, s, size);
	rc = ctf_write_all(s->fd, s->buf, size);
	announce_end(f, s, rc == 0);
	if (rc < 0) {
		/* Part of a packet would end the stream for other readers. */
		if (ftruncate(s->fd, (off_t)s->file_size) < 0)
			rc = rc ? rc : -errno;
		return rc;
	}
	s->file_size += size;
	s->seq++;
	s->used = ++f->nr_packets;
	return 0;
}

static void forget_packet(struct ctf_stream *s)
{
	s->at = s->limit = s->buf;
	s->transitions = s->others = 0;
}

/* Writes the packet of a stream that is off the dirty list. */
static void put_out(struct ctf_files *f, struct ctf_stream *s)
{
	int rc = f->error ? f->error : write_packet(f, s);

	if (s->last_ts > f->newest_ts)
		f->newest_ts = s->last_ts;
	if (rc < 0) {
		f->error = rc;
		f->unwritten += s->transitions;
		f->others_unwritten += s->others;
	} else {
		f->written += s->transitions;
		f->others_written += s->others;
	}
	forget_packet(s);
}

/* Removes the stream from the dirty list.  False: it is not on the list. */
static bool make_clean(struct ctf_stream *s)
{
	if (!s->dirty_link)
		return false;
	*s->dirty_link = s->next_dirty;
	if (s->next_dirty)
		s->next_dirty->dirty_link = s->dirty_link;
	s->next_dirty = NULL;
	s->dirty_link = NULL;
	return true;
}

static void make_dirty(struct ctf_files *f, struct ctf_stream *s)
{
	s->next_dirty = f->dirty;
	if (s->next_dirty)
		s->next_dirty->dirty_link = &s->next_dirty;
	f->dirty = s;
	s->dirty_link = &f->dirty;
}

void ctf_files_flush(struct ctf_files *f)
{
	while (f->dirty) {
		struct ctf_stream *s = f->dirty;

		make_clean(s);
		put_out(f, s);
	}
}

void ctf_stream_end_packet(struct ctf_files *f, struct ctf_stream *s)
{
	if (!make_clean(s))
		return;
	put_out(f, s);
	/* After a failure no packet is filled again: drop all of them and count their events. */
	if (f->error)
		ctf_files_flush(f);
}

/* ---- room ---------------------------------------------------------------- */

static bool ctf_resize(struct ctf_stream *s, size_t size)
{
	size_t used = (size_t)(s->at - s->buf);
	uint8_t *bigger = realloc(s->buf, size);

	if (!bigger)
		return false;
	s->buf = bigger;
	s->at = bigger + used;
	s->size = size;
	s->limit = used ? bigger + size - SLACK : bigger;
	return true;
}

static bool ctf_begin_packet(struct ctf_files *f, struct ctf_stream *s, uint64_t ts)
{
	if (!s->buf && !ctf_resize(s, FIRST_SIZE))
		return false;
	s->at = s->buf + sizeof(struct ctf_packet);
	s->limit = s->buf + s->size - SLACK;
	s->begin_ts = s->last_ts = ts;
	s->tid = s->next_tid;
	make_dirty(f, s);
	return true;
}

static bool is_begun(const struct ctf_stream *s)
{
	return s->at != s->buf;
}

void ctf_stream_set_thread(struct ctf_files *f, struct ctf_stream *s, uint32_t pid, uint64_t tid)
{
	if (s->pid != pid || (s->next_tid != tid && (size_t)(s->at - s->buf) >= SHORT_PACKET))
		ctf_stream_end_packet(f, s);
	s->pid = pid;
	s->next_tid = tid;
}

static bool has_room(const struct ctf_stream *s, size_t size)
{
	return s->at < s->limit && size <= (size_t)(s->buf + s->size - s->at);
}

/* Doubles up to PACKET_SIZE; a single record may be larger than PACKET_SIZE. */
static bool ctf_enlarge(struct ctf_stream *s, size_t size)
{
	size_t wanted = s->size * 2, needed = (size_t)(s->at - s->buf) + size + SLACK;

	if (wanted > PACKET_SIZE)
		wanted = PACKET_SIZE;
	return ctf_resize(s, wanted > needed ? wanted : needed);
}

static bool ctf_no_memory(struct ctf_files *f)
{
	f->error = f->error ? f->error : -ENOMEM;
	ctf_files_flush(f);
	return false;
}

bool ctf_stream_room(struct ctf_files *f, struct ctf_stream *s, uint64_t ts, size_t size)
{
	if (f->error)
		return false;
	/* Times in a packet have 32 bits: a longer pause begins a new packet. */
	if (is_begun(s) &&
	    (ts - s->last_ts > UINT32_MAX || (!has_room(s, size) && s->size >= PACKET_SIZE)))
		ctf_stream_end_packet(f, s);
	if (f->error)
		return false;
	if (!is_begun(s) && !ctf_begin_packet(f, s, ts))
		return ctf_no_memory(f);
	if (!has_room(s, size) && !ctf_enlarge(s, size))
		return ctf_no_memory(f);
	return true;
}

/* ---- open and close ------------------------------------------------------ */

struct ctf_stream *ctf_stream_new(enum ctf_stream_id id, const char *name)
{
	struct ctf_stream *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->stream_id = id;
	s->lane = UINT32_MAX;
	s->fd = -1;
	strncpy(s->name, name, sizeof(s->name) - 1);
	return s;
}

void ctf_stream_free(struct ctf_files *f, struct ctf_stream *s)
{
	if (!s)
		return;
	close_stream(f, s);
	free(s->buf);
	free(s);
}
