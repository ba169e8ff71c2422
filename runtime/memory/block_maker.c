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

void cray_maker_press(struct cray_maker *m, const void *plain, size_t size, int level)
{
	size_t got = m->zstd.compress(m->zstd.context, m->out, sizeof(m->out), plain, size, level);

	if (m->zstd.is_error(got) || got >= size)
		return;
	m->codec = CRAY_CODEC_ZSTD;
	m->stored = m->out;
	m->stored_size = got;
}

/*
 * While the program waits, compress only large blocks, and blocks of mostly equal symbols, which
 * compress in almost no time.
 */
static bool maker_is_worth_it(const struct cray_pack *p, size_t plain)
{
	size_t symbols = (size_t)(p->symbol - p->symbols), zeros = 0, i;

	for (i = 0; i < 64; i++)
		zeros += p->symbols[symbols * i / 64] == 0;
	return zeros >= 56 || plain > p->nr_accesses + p->nr_accesses / 2;
}

void cray_maker_make(struct cray_maker *m, struct cray_pack *p, bool hurry)
{
	m->plain_size = m->stored_size = cray_pack_finish(p, m->plain, &m->head);
	m->stored = m->plain;
	m->codec = CRAY_CODEC_NONE;
	if (m->zstd.context && (!hurry || maker_is_worth_it(p, m->plain_size)))
		cray_maker_press(m, m->plain, m->plain_size, hurry ? HURRY_LEVEL : m->level);
}
