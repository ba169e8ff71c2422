/* SPDX-License-Identifier: MIT */
/* block_maker.c - make a block of the container from a packer: finish and compress it. */
#include "block_maker.h"

#include "sys.h"

/*
 * Where accesses depend on random data, repetitions are short: searching for them takes three times
 * as long as coding bytes by their frequency.  In the addresses it finds nothing then, and in the
 * symbols it saves a quarter, which is given up only while the program waits.  One block of
 * TRY_EVERY is compressed both ways and shows which parts are of this kind.
 */
#define HURRY_LEVEL 1
#define NO_SEARCH   (-131072) /* the lowest level of zstd */
#define TRY_EVERY   16u
#define RANDOM_FROM 10u  /* in 1/100 of the size */
#define WORTH       32u  /* a search that saves less than 1/32 is not worth it */
#define PART_LEAST  256u /* smaller parts have no frame of their own */

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

/* Compress with a search for repetitions.  Returns the size; 0: it failed. */
static size_t maker_search(struct cray_maker *m, uint8_t *to, size_t room, const uint8_t *from,
			   size_t size, int level)
{
	size_t got = m->zstd.compress(m->zstd.context, to, room, from, size, level);

	return m->zstd.is_error(got) ? 0 : got;
}

/* The same, coding bytes by their frequency only.  0: not possible. */
static size_t maker_code(struct cray_maker *m, uint8_t *to, size_t room, const uint8_t *from,
			 size_t size)
{
	const struct cray_zstd *z = &m->zstd;
	size_t got;

	if (!z->set || !z->compress2 ||
	    z->is_error(z->set(z->context, CRAY_ZSTD_LEVEL, NO_SEARCH)) ||
	    z->is_error(z->set(z->context, CRAY_ZSTD_LITERALS, 1)))
		return 0;
	got = z->compress2(z->context, to, room, from, size);
	return z->is_error(got) ? 0 : got;
}

/* Compress a part, and with @tries find out of which kind it is. */
static size_t maker_press_part(struct cray_maker *m, struct cray_maker_part *part, uint8_t *to,
			       size_t room, const uint8_t *from, size_t size, bool tries)
{
	int level = m->hurry && m->level > HURRY_LEVEL ? HURRY_LEVEL : m->level;
	size_t coded = 0, searched;

	if (tries || part->is_coding || (m->hurry && part->random))
		coded = maker_code(m, to, room, from, size);
	if (coded && !tries)
		return coded;
	searched = maker_search(m, to, room, from, size, level);
	if (tries) {
		part->random = searched > size / 100 * RANDOM_FROM;
		/* Not the symbols, parts[0]: their repetitions differ from block to block. */
		part->is_coding = part != m->parts && coded && coded <= searched + searched / WORTH;
	}
	return searched;
}

/* Where the parts of the finished block begin, and where the last one ends. */
static void maker_split(const struct cray_maker *m, size_t *at)
{
	struct cray_streams s;
	uint32_t i;

	__builtin_memcpy(&s, m->plain, sizeof(s));
	at[0] = 0;
	at[1] = sizeof(s) + s.symbols + s.sites;
	at[2] = at[1] + s.own;
	at[3] = m->plain_size;
	for (i = 1; i < CRAY_MAKER_PARTS; i++) {
		if (at[i + 1] - at[i] < PART_LEAST)
			at[i] = at[i + 1];
	}
}

static void maker_take(struct cray_maker *m, size_t size)
{
	if (!size || size >= m->plain_size)
		return;
	m->codec = CRAY_CODEC_ZSTD;
	m->stored = m->out;
	m->stored_size = size;
}

void cray_maker_press(struct cray_maker *m)
{
	size_t at[CRAY_MAKER_PARTS + 1], used = 0, got;
	bool tries = m->turn++ % TRY_EVERY == 0;
	uint32_t i;

	if (!m->zstd.context || !m->level)
		return;
	maker_split(m, at);
	for (i = 0; i < CRAY_MAKER_PARTS; i++) {
		if (at[i] == at[i + 1])
			continue;
		got = maker_press_part(m, &m->parts[i], m->out + used, sizeof(m->out) - used,
				       m->plain + at[i], at[i + 1] - at[i], tries);
		if (!got)
			return;
		used += got;
	}
	maker_take(m, used);
}

void cray_maker_press_bytes(struct cray_maker *m, const void *plain, size_t size)
{
	m->plain_size = m->stored_size = size;
	m->stored = plain;
	m->codec = CRAY_CODEC_NONE;
	if (m->zstd.context && m->level)
		maker_take(m, maker_search(m, m->out, sizeof(m->out), plain, size, m->level));
}
