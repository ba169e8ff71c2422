/* SPDX-License-Identifier: MIT */
/* block_maker.c - make a block of the container from a packer: finish and compress it. */
#include "block_maker.h"

#include "sys.h"

#define HURRY_LEVEL (-3)

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

/*
 * While the program waits, compress only large blocks, and blocks of mostly equal symbols, which
 * compress in almost no time.  The samples are not evenly spaced: a loop of the program can have
 * the same period, and all its exceptions would be sampled.
 */
static bool maker_is_worth_it(const struct cray_pack *p, size_t plain)
{
	size_t symbols = (size_t)(p->symbol - p->symbols), zeros = 0;
	uint32_t i;

	for (i = 0; i < 64; i++)
		zeros += p->symbols[(uint64_t)(i * UINT32_C(0x9E3779B1)) * symbols >> 32] == 0;
	return zeros >= 56 || plain > p->nr_accesses + p->nr_accesses / 2;
}

void cray_maker_finish(struct cray_maker *m, struct cray_pack *p, bool hurry)
{
	m->plain_size = m->stored_size = cray_pack_finish(p, m->plain, &m->head);
	m->stored = m->plain;
	m->codec = CRAY_CODEC_NONE;
	m->block_level = m->level;
	if (hurry && m->level)
		m->block_level = maker_is_worth_it(p, m->plain_size) ? HURRY_LEVEL : 0;
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
