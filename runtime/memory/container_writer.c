/* SPDX-License-Identifier: MIT */
/* container_writer.c - write a container: chunks, blocks, index, losses and end. */
#include "container_writer.h"

#include <errno.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "sys.h"

#define SMALL  256u /* chunks up to this size are not compressed */
#define CAUSES 32u  /* entries that are kept for losses without a thread */
#define TAIL_ROOM                                                                               \
	(sizeof(((struct cray_writer *)0)->entries) + sizeof(((struct cray_writer *)0)->lost) + \
	 4096)

/* ---- chunks -------------------------------------------------------------- */

/* Write all parts.  False with errno. */
static bool writer_put_parts(int fd, struct iovec *part, int nr)
{
	struct pollfd wait = { .fd = fd, .events = POLLOUT };

	while (nr) {
		ssize_t n = writev(fd, part, nr);

		if (n < 0 && errno == EAGAIN)
			poll(&wait, 1, -1);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n < 0)
			return false;
		for (; nr && (size_t)n >= part->iov_len; part++, nr--)
			n -= (ssize_t)part->iov_len;
		if (nr) {
			part->iov_base = (uint8_t *)part->iov_base + n;
			part->iov_len -= (size_t)n;
		}
	}
	return true;
}

/* The file ends at @at: a part of a chunk would be corrupt.  Not possible in a pipe. */
static void writer_cut(struct cray_writer *w, uint64_t at)
{
	w->torn = ftruncate(w->fd, (off_t)at) != 0 || lseek(w->fd, (off_t)at, SEEK_SET) < 0;
}

/* Write all parts or nothing. */
static bool writer_put(struct cray_writer *w, struct iovec *part, int nr)
{
	uint64_t size = 0;
	int i;

	for (i = 0; i < nr; i++)
		size += part[i].iov_len;
	if (w->max && w->at + size + TAIL_ROOM > w->max)
		w->capped = true;
	if (cray_writer_refuses(w))
		return false;
	if (w->complete)
		lseek(w->fd, (off_t)w->at, SEEK_SET);
	w->complete = false;
	if (!writer_put_parts(w->fd, part, nr)) {
		w->error = errno;
		writer_cut(w, w->at);
		return false;
	}
	w->at += size;
	return true;
}

static bool writer_put_chunk(struct cray_writer *w, uint16_t type, uint8_t codec,
			     const struct cray_block *head, const void *stored, size_t size,
			     size_t plain)
{
	size_t head_size = head ? sizeof(*head) : 0;
	struct cray_chunk chunk;
	struct iovec parts[] = { { &chunk, sizeof(chunk) },
				 { (void *)(uintptr_t)head, head_size },
				 { (void *)(uintptr_t)stored, size } };

	cray_chunk_seal(&w->crc, &chunk, type, codec, w->number, head, head_size, stored, size,
			plain);
	if (!writer_put(w, parts, 3))
		return false;
	w->number++;
	return true;
}

static bool writer_put_facts(struct cray_writer *w, uint16_t type, const void *bytes, size_t size)
{
	struct cray_maker *m = w->maker;

	if (!m || size <= SMALL)
		return writer_put_chunk(w, type, CRAY_CODEC_NONE, NULL, bytes, size, size);
	cray_maker_press_bytes(m, bytes, size);
	return writer_put_chunk(w, type, m->codec, NULL, m->stored, m->stored_size, size);
}

/* ---- facts, modules, threads --------------------------------------------- */

static void writer_queue(struct cray_queue *q, const void *head, size_t head_size,
			 const void *bytes, size_t size)
{
	if (head_size + size > CRAY_WRITER_QUEUE - q->used)
		return; /* full: later threads have numbers but no names */
	__builtin_memcpy(q->bytes + q->used, head, head_size);
	if (size)
		__builtin_memcpy(q->bytes + q->used + head_size, bytes, size);
	q->used += (uint32_t)(head_size + size);
}

void cray_writer_fact(struct cray_writer *w, uint16_t key, const void *bytes, size_t size)
{
	struct cray_fact head = { .key = key, .size = (uint32_t)size };

	writer_queue(&w->facts, &head, sizeof(head), bytes, size);
}

void cray_writer_module(struct cray_writer *w, const void *module_and_path, size_t size)
{
	struct cray_module m;

	if (size < sizeof(m))
		return;
	__builtin_memcpy(&m, module_and_path, sizeof(m));
	if (m.path_size <= size - sizeof(m))
		writer_queue(&w->modules, module_and_path, sizeof(m) + m.path_size, NULL, 0);
}

void cray_writer_thread(struct cray_writer *w, const struct cray_thread *thread, const char *name)
{
	struct cray_thread t = *thread;
	size_t size = name ? crt_length(name) : 0;

	t.name_size = (uint32_t)(size < CRAY_NAME_MAX ? size : CRAY_NAME_MAX);
	writer_queue(&w->threads, &t, sizeof(t), name, t.name_size);
	if (w->threads.used - w->threads.written > CRAY_WRITER_QUEUE / 2)
		cray_writer_flush(w);
}

void cray_writer_stack(struct cray_writer *w, uint64_t number, const void *frames, size_t size)
{
	struct cray_stack s = { .number = (uint32_t)number,
				.nr_frames = (uint32_t)(size / sizeof(uint64_t)) };

	if (!number || number > UINT32_MAX || s.nr_frames > CRAY_FRAMES_MAX)
		return;
	writer_queue(&w->stacks, &s, sizeof(s), frames, s.nr_frames * sizeof(uint64_t));
	if (w->stacks.used - w->stacks.written > CRAY_WRITER_QUEUE / 2)
		cray_writer_flush(w);
}

static bool writer_flush_queue(struct cray_writer *w, uint16_t type, struct cray_queue *q)
{
	if (q->used > q->written &&
	    !writer_put_facts(w, type, q->bytes + q->written, q->used - q->written))
		return false;
	q->written = q->used;
	if (!w->rewrites)
		q->used = q->written = 0;
	return true;
}

bool cray_writer_flush(struct cray_writer *w)
{
	return writer_flush_queue(w, CRAY_INFO, &w->facts) &&
	       writer_flush_queue(w, CRAY_MODULES, &w->modules) &&
	       writer_flush_queue(w, CRAY_THREADS, &w->threads) &&
	       writer_flush_queue(w, CRAY_STACKS, &w->stacks);
}

/* ---- losses -------------------------------------------------------------- */

static struct cray_lost *writer_find_lost(struct cray_writer *w, uint32_t thread, uint32_t cause,
					  bool known)
{
	uint32_t i;

	for (i = 0; i < w->nr_lost; i++) {
		struct cray_lost *l = &w->lost[i];

		if (l->thread == thread && l->cause == cause && (l->count != 0) == known)
			return l;
	}
	return NULL;
}

void cray_writer_lost(struct cray_writer *w, uint32_t thread, uint32_t cause, uint64_t count)
{
	struct cray_lost *l = writer_find_lost(w, thread, cause, count != 0);

	if (!l && w->nr_lost >= CRAY_WRITER_LOST - 2 * CAUSES) { /* count it without a thread */
		thread = ~0u;
		l = writer_find_lost(w, thread, cause, count != 0);
	}
	if (!l && w->nr_lost < CRAY_WRITER_LOST) {
		l = &w->lost[w->nr_lost++];
		*l = (struct cray_lost){ .thread = thread, .cause = cause };
	}
	if (l)
		l->count += count;
	if (cause < CRAY_GAP_SAMPLED)
		w->end.lost += count;
	else
		w->end.left_out += count;
}

bool cray_writer_lost_unknown(const struct cray_writer *w)
{
	uint32_t i;

	for (i = 0; i < w->nr_lost; i++) {
		if (w->lost[i].count == 0)
			return true;
	}
	return false;
}

uint32_t cray_writer_refuses(const struct cray_writer *w)
{
	if (w->capped)
		return CRAY_GAP_CAP;
	return w->error ? CRAY_GAP_DISK : 0;
}

/* ---- blocks -------------------------------------------------------------- */

static bool writer_put_index(struct cray_writer *w)
{
	uint64_t at = w->at;

	if (!w->index.nr)
		return true;
	if (!writer_put_facts(w, CRAY_INDEX, &w->index,
			      sizeof(w->index) + w->index.nr * sizeof(w->entries[0])))
		return false;
	w->index.previous = at;
	w->index.nr = 0;
	return true;
}

static void writer_note_block(struct cray_writer *w, const struct cray_block *b, uint64_t at)
{
	w->entries[w->index.nr++] = (struct cray_entry){
		.offset = at,
		.thread = b->thread,
		.nr_records = b->nr_records,
		.order_first = b->order_first,
		.time_first_ns = b->time_first_ns,
	};
	w->end.nr_blocks++;
	w->end.nr_records += b->nr_records;
	w->end.nr_accesses += b->nr_accesses;
	w->end.lost += b->lost;
	w->end.left_out += b->left_out;
	if (w->index.nr == CRAY_WRITER_INDEX && !writer_put_index(w))
		w->index.nr = 0; /* only the index is lost: readers find blocks without it */
}

bool cray_writer_block(struct cray_writer *w, const struct cray_maker *m)
{
	const struct cray_block *b = &m->head;
	uint64_t at;

	if (cray_writer_flush(w)) {
		at = w->at;
		if (writer_put_chunk(w, CRAY_BLOCK, m->codec, b, m->stored, m->stored_size,
				     m->plain_size)) {
			writer_note_block(w, b, at);
			return true;
		}
	}
	if (b->nr_accesses + b->lost)
		cray_writer_lost(w, b->thread, cray_writer_refuses(w), b->nr_accesses + b->lost);
	w->end.left_out += b->left_out;
	return false;
}

bool cray_writer_copy(struct cray_writer *w, const struct cray_chunk *chunk,
		      const struct cray_block *head, const void *stored)
{
	bool is_block = chunk->type == CRAY_BLOCK;
	uint64_t at;

	if (!cray_writer_flush(w))
		return false;
	at = w->at;
	if (!writer_put_chunk(w, chunk->type, chunk->codec, is_block ? head : NULL, stored,
			      chunk->stored, chunk->plain))
		return false;
	if (is_block)
		writer_note_block(w, head, at);
	return true;
}

/* ---- begin and end ------------------------------------------------------- */

static bool writer_put_header(struct cray_writer *w)
{
	struct iovec part = { &w->header, sizeof(w->header) };

	return writer_put(w, &part, 1);
}

bool cray_writer_begin(struct cray_writer *w, int fd, uint16_t codec, uint64_t flags,
		       uint64_t start_ns, uint64_t start_wall_ns)
{
	w->fd = fd;
	cray_crc_init(&w->crc);
	cray_file_seal(&w->crc, &w->header, codec, flags, start_ns, start_wall_ns);
	return writer_put_header(w);
}

bool cray_writer_restart(struct cray_writer *w)
{
	w->error = 0;
	writer_cut(w, 0);
	if (w->torn) {
		w->error = errno;
		return false;
	}
	w->at = 0;
	w->number = 0;
	w->index = (struct cray_index){ 0 };
	w->facts.written = w->modules.written = w->threads.written = w->stacks.written = 0;
	w->end.nr_blocks = w->end.nr_records = w->end.nr_accesses = 0;
	return writer_put_header(w) && cray_writer_flush(w);
}

static bool writer_put_tail(struct cray_writer *w)
{
	struct cray_foot foot;
	struct iovec part = { &foot, sizeof(foot) };
	uint64_t end_at;

	if (w->nr_lost && !writer_put_facts(w, CRAY_LOST, w->lost, w->nr_lost * sizeof(w->lost[0])))
		return false;
	if (!writer_put_index(w))
		return false;
	end_at = w->at;
	w->end.time_ns = crt_now();
	if (!writer_put_facts(w, CRAY_END, &w->end, sizeof(w->end)))
		return false;
	cray_foot_seal(&w->crc, &foot, w->index.previous, end_at);
	return writer_put(w, &part, 1);
}

bool cray_writer_tail(struct cray_writer *w)
{
	uint64_t at, max = w->max;
	struct cray_index index;
	bool capped = w->capped, good;
	int error = w->error;
	uint32_t number;

	/* Below the cap there is room for the tail; on a full disk the tail may still fit. */
	w->error = 0;
	w->capped = false;
	w->max = 0;
	good = !w->torn && cray_writer_flush(w);
	/* What was written until here stays; the next block, if any, overwrites the rest. */
	number = w->number;
	index = w->index;
	at = w->at;
	good = good && writer_put_tail(w);
	w->size = w->at;
	w->at = at;
	w->number = number;
	w->index = index;
	w->max = max;
	w->capped = capped;
	w->error = error ? error : w->error;
	w->complete = good;
	if (!good && !w->torn)
		writer_cut(w, at);
	return good;
}
