/* SPDX-License-Identifier: MIT */
/* block_maker.c - make a block of the container from a packer: finish and compress it. */
#include "block_maker.h"

#include "sys.h"

/* While the program waits.  Without compression, traces are 3 to 100 times as large. */
#define HURRY_LEVEL (-1)

struct cray_maker *cray_maker_new(int level, const struct cray_zstd *zstd)
{
	struct cray_maker *m = crt_memory(sizeof(*m));

	if (m) {
		m->level = level;
		m->zstd = *zstd;
	}
	return m;
}

void cray_maker_free(struct cray_maker *m)
{
	crt_memory_free(m, sizeof(*m));
}

void cray_maker_finish(struct cray_maker *m, struct cray_pack *p, bool hurry)
{
	m->plain_size = m->stored_size = cray_pack_finish(p, m->plain, &m->head);
	m->stored = m->plain;
	m->codec = CRAY_CODEC_NONE;
	m->block_level = m->level;
	if (hurry && m->level > HURRY_LEVEL)
		m->block_level = m->level ? HURRY_LEVEL : 0;
}

static void maker_compress(struct cray_maker *m, int level)
{
	size_t got;

	if (!m->zstd.context || !level)
		return;
	got = m->zstd.compress(m->zstd.context, m->out, sizeof(m->out), m->stored, m->plain_size,
			       level);
	if (m->zstd.is_error(got) || got >= m->plain_size)
		return;
	m->codec = CRAY_CODEC_ZSTD;
	m->stored = m->out;
	m->stored_size = got;
}

void cray_maker_press(struct cray_maker *m)
{
	maker_compress(m, m->block_level);
}

void cray_maker_press_bytes(struct cray_maker *m, const void *plain, size_t size)
{
	m->plain_size = m->stored_size = size;
	m->stored = plain;
	m->codec = CRAY_CODEC_NONE;
	maker_compress(m, m->level);
}
