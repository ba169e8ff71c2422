/* SPDX-License-Identifier: MIT */
/* block_maker.c - make a block of the container from a packer: finish and compress it. */
#include "block_maker.h"

#include "sys.h"

/*
 * While the program waits.  Where accesses depend on random data, repetitions are short: searching
 * for them takes three times as long as coding symbols by their frequency, and saves 30 %.  One
 * block of TRY_EVERY is searched, and shows which kind it is.
 */
#define HURRY_LEVEL 1
#define NO_SEARCH   (-131072) /* the lowest level of zstd */
#define TRY_EVERY   16u
#define RANDOM_FROM 10u /* in 1/100 of the size */

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
	m->hurry = hurry;
}

static void maker_take(struct cray_maker *m, size_t got)
{
	if (m->zstd.is_error(got) || got >= m->plain_size)
		return;
	m->codec = CRAY_CODEC_ZSTD;
	m->stored = m->out;
	m->stored_size = got;
}

static void maker_compress(struct cray_maker *m, int level)
{
	if (m->zstd.context && level)
		maker_take(m, m->zstd.compress(m->zstd.context, m->out, sizeof(m->out), m->stored,
					       m->plain_size, level));
}

/* Code bytes by their frequency, without a search for repetitions.  False: not possible. */
static bool maker_code_bytes(struct cray_maker *m)
{
	const struct cray_zstd *z = &m->zstd;

	if (!z->context || !z->set || !z->compress2 ||
	    z->is_error(z->set(z->context, CRAY_ZSTD_LEVEL, NO_SEARCH)) ||
	    z->is_error(z->set(z->context, CRAY_ZSTD_LITERALS, 1)))
		return false;
	maker_take(m, z->compress2(z->context, m->out, sizeof(m->out), m->stored, m->plain_size));
	return true;
}

void cray_maker_press(struct cray_maker *m)
{
	int level = m->hurry && m->level > HURRY_LEVEL ? HURRY_LEVEL : m->level;
	bool tries = m->hurry && m->turn++ % TRY_EVERY == 0;

	if (m->hurry && !tries && m->random && level && maker_code_bytes(m))
		return;
	maker_compress(m, level);
	if (tries)
		m->random = m->stored_size > m->plain_size / 100 * RANDOM_FROM;
}

void cray_maker_press_bytes(struct cray_maker *m, const void *plain, size_t size)
{
	m->plain_size = m->stored_size = size;
	m->stored = plain;
	m->codec = CRAY_CODEC_NONE;
	maker_compress(m, m->level);
}
