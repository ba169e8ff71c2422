/* SPDX-License-Identifier: MIT */
/* symbol_part.c - look at many symbols of a block before they are decoded. */
#include "memory/format/symbol_part.h"

#include <endian.h>
#include <string.h>

#define HEAP_EVENT_MAX 8u /* bytes of the body */

/*
 * The size of the event at @at if it is an allocation, or the end of one, that unpack_event()
 * accepts; 0: another one, or one that is not of the common form.  A body has a byte and two or
 * four numbers; in so few bytes no number is too large.  The numbers matter for events of the same
 * kinds only, which are all left out.
 */
static inline uint32_t heap_event_size(const uint8_t *at, const uint8_t *end)
{
	uint64_t word, ends, size;

	if (end - at < 3 + 8 || (at[0] != CRAY_EV_ALLOC && at[0] != CRAY_EV_FREE))
		return 0;
	size = at[1];
	if (size < 2 || size > HEAP_EVENT_MAX)
		return 0;
	memcpy(&word, at + 3, sizeof(word));
	ends = ~le64toh(word) & UINT64_C(0x8080808080808080);
	ends &= (UINT64_C(1) << 8 * (size - 1)) - 1;
	/* The bits are 8 apart: their sum is in the highest byte. */
	if ((ends >> 7) * UINT64_C(0x0101010101010101) >> 56 < (at[0] == CRAY_EV_ALLOC ? 4u : 2u))
		return 0;
	return 2 + (uint32_t)size;
}

/* Remove those of @events, a bit each.  Returns how many symbols come before the first other one.
 */
static inline uint32_t symbol_part_remove(struct symbol_part *p, uint64_t events, uint32_t nr,
					  const struct unpack_stream *stream, bool removes)
{
	const uint8_t *at = stream->at;
	uint32_t removed = 0, size;

	p->events = 0;
	p->rest[0] = at;
	for (; events; events &= events - 1) {
		size = removes ? heap_event_size(at, stream->end) : 0;
		if (!size)
			return (uint32_t)__builtin_ctzll(events);
		at += size;
		p->events |= events & (0 - events);
		p->rest[++removed] = at;
	}
	return nr;
}

#if defined(__x86_64__)
#include <immintrin.h>

#define SYMBOL_AVX512 \
	__attribute__((target("avx512f,avx512bw,avx512vbmi2,popcnt,bmi,bmi2"), flatten))

/* The lowest @nr bits. */
static inline uint64_t symbol_bits(uint32_t nr)
{
	return nr < SYMBOL_PART ? (UINT64_C(1) << nr) - 1 : UINT64_MAX;
}

SYMBOL_AVX512 void symbol_part_begin(struct symbol_part *p, const uint8_t *symbol, uint32_t nr,
				     const struct unpack_stream *events, bool removes)
{
	__m512i s = _mm512_maskz_loadu_epi8(symbol_bits(nr), symbol);
	uint64_t longer = _mm512_movepi8_mask(s), takes, is_near, is_event, kept, bits;

	if (longer)
		nr = (uint32_t)__builtin_ctzll(longer);
	is_event = _mm512_cmpeq_epi8_mask(_mm512_and_si512(s, _mm512_set1_epi8(0x7c)),
					  _mm512_set1_epi8(CRAY_EVENT << 2)) &
		   symbol_bits(nr);
	p->nr_symbols = symbol_part_remove(p, is_event, nr, events, removes);
	kept = symbol_bits(p->nr_symbols) & ~p->events;
	p->nr = (uint32_t)__builtin_popcountll(kept);
	p->at = symbol;
	if (p->events) {
		s = _mm512_maskz_compress_epi8(kept, s);
		_mm512_storeu_si512(p->kept, s);
		p->at = p->kept;
	}
	bits = symbol_bits(p->nr);
	takes = _mm512_test_epi8_mask(s, _mm512_set1_epi8(2)) & bits;
	is_near = _mm512_test_epi8_mask(s, _mm512_set1_epi8(1));
	p->is_own = takes & ~is_near;
	p->is_near = takes & is_near;
	p->own = (uint32_t)__builtin_popcountll(p->is_own);
	p->near = (uint32_t)__builtin_popcountll(p->is_near);
}

SYMBOL_AVX512 void symbol_part_values(const struct symbol_part *p, const uint64_t *own,
				      const uint64_t *near, uint64_t value[SYMBOL_PART])
{
	uint32_t i;

	for (i = 0; i < p->nr; i += 8) {
		__mmask8 is_own = (__mmask8)(p->is_own >> i), is_near = (__mmask8)(p->is_near >> i);
		__m512i v = _mm512_maskz_expandloadu_epi64(is_own, own);

		_mm512_storeu_si512(value + i, _mm512_mask_expandloadu_epi64(v, is_near, near));
		own += __builtin_popcount(is_own);
		near += __builtin_popcount(is_near);
	}
}

SYMBOL_AVX512 uint32_t symbol_part_end(const struct symbol_part *p, uint32_t nr,
				       struct unpack_stream *events)
{
	uint32_t at = p->nr_symbols;

	if (nr < p->nr)
		at = (uint32_t)__builtin_ctzll(_pdep_u64(UINT64_C(1) << nr, ~p->events));
	events->at = p->rest[__builtin_popcountll(p->events & symbol_bits(at))];
	return at;
}

bool symbol_part_works(void)
{
	return __builtin_cpu_supports("avx512vbmi2") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}
#else
void symbol_part_begin(struct symbol_part *p, const uint8_t *symbol, uint32_t nr,
		       const struct unpack_stream *events, bool removes)
{
	p->at = symbol;
	p->nr = p->nr_symbols = symbol_part_remove(p, 0, nr, events, removes);
	p->own = p->near = p->nr;
}

uint32_t symbol_part_end(const struct symbol_part *p, uint32_t nr, struct unpack_stream *events)
{
	(void)p;
	(void)events;
	return nr;
}

void symbol_part_values(const struct symbol_part *p, const uint64_t *own, const uint64_t *near,
			uint64_t value[SYMBOL_PART])
{
	(void)p;
	(void)own;
	(void)near;
	(void)value;
}

bool symbol_part_works(void)
{
	return false;
}
#endif
