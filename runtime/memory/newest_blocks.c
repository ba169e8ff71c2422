/* SPDX-License-Identifier: MIT */
/* newest_blocks.c - the newest blocks of a trace, in memory until the file is completed. */
#include "newest_blocks.h"

#include "sys.h"

#define SEQS 65536u /* threads whose blocks are numbered */

/* In front of the stored bytes of each block. */
struct newest_head {
	uint32_t stored_size, plain_size, codec, reserved;
	struct cray_block block;
};

bool cray_newest_open(struct cray_newest *n, uint64_t size)
{
	static const struct cray_zstd none;

	n->size = size;
	n->kept = crt_memory(size);
	n->seqs = crt_memory(SEQS * sizeof(*n->seqs));
	n->maker = cray_maker_new(0, &none);
	if (n->kept && n->seqs && n->maker)
		return true;
	cray_newest_close(n);
	return false;
}

void cray_newest_close(struct cray_newest *n)
{
	crt_memory_free(n->kept, n->size);
	crt_memory_free(n->seqs, SEQS * sizeof(*n->seqs));
	cray_maker_free(n->maker);
	*n = (struct cray_newest){ 0 };
}

/* The bytes from position @at on, until the end of kept[]; at most @size. */
static uint64_t newest_until_end(const struct cray_newest *n, uint64_t at, uint64_t size)
{
	uint64_t left = n->size - at % n->size;

	return size < left ? size : left;
}

static void newest_put(struct cray_newest *n, const void *bytes, uint64_t size)
{
	uint64_t first = newest_until_end(n, n->newest, size);

	__builtin_memcpy(n->kept + n->newest % n->size, bytes, first);
	__builtin_memcpy(n->kept, (const uint8_t *)bytes + first, size - first);
	n->newest += size;
}

static void newest_get(const struct cray_newest *n, uint64_t at, void *bytes, uint64_t size)
{
	uint64_t first = newest_until_end(n, at, size);

	__builtin_memcpy(bytes, n->kept + at % n->size, first);
	__builtin_memcpy((uint8_t *)bytes + first, n->kept, size - first);
}

/* A block is overwritten; the gaps in it are lost with it. */
static void newest_lose(struct cray_writer *w, const struct cray_block *b)
{
	cray_writer_lost(w, b->thread, CRAY_GAP_RING, b->nr_accesses);
	w->end.lost += b->lost;
	w->end.left_out += b->left_out;
}

void cray_newest_keep(struct cray_newest *n, struct cray_writer *w, const struct cray_maker *m)
{
	struct newest_head head = { .stored_size = (uint32_t)m->stored_size,
				    .plain_size = (uint32_t)m->plain_size,
				    .codec = m->codec,
				    .block = m->head },
			   old;

	if (sizeof(head) + m->stored_size > n->size) {
		newest_lose(w, &m->head);
		return;
	}
	while (n->newest + sizeof(head) + m->stored_size - n->oldest > n->size) {
		newest_get(n, n->oldest, &old, sizeof(old));
		newest_lose(w, &old.block);
		n->oldest += sizeof(old) + old.stored_size;
	}
	newest_put(n, &head, sizeof(head));
	newest_put(n, m->stored, m->stored_size);
}

static bool newest_write(struct cray_newest *n, struct cray_writer *w)
{
	struct cray_maker *m = n->maker;
	struct newest_head head;
	uint64_t at;

	if (!cray_writer_restart(w))
		return false;
	__builtin_memset(n->seqs, 0, SEQS * sizeof(*n->seqs));
	for (at = n->oldest; at < n->newest; at += sizeof(head) + m->stored_size) {
		newest_get(n, at, &head, sizeof(head));
		newest_get(n, at + sizeof(head), m->out, head.stored_size);
		m->head = head.block;
		m->codec = (uint8_t)head.codec;
		m->plain_size = head.plain_size;
		m->stored_size = head.stored_size;
		m->stored = m->out;
		/* Overwritten blocks are counted as lost, and must not appear as missing. */
		if (m->head.thread < SEQS)
			m->head.thread_seq = n->seqs[m->head.thread]++;
		if (!cray_writer_block(w, m))
			return false;
	}
	return true;
}

bool cray_newest_complete(struct cray_newest *n, struct cray_writer *w)
{
	uint64_t lost = w->end.lost, left_out = w->end.left_out;
	bool good = newest_write(n, w);

	good = cray_writer_tail(w) && good;
	/* The gaps of these blocks count again when the file is written again. */
	w->end.lost = lost;
	w->end.left_out = left_out;
	return good;
}
