/* SPDX-License-Identifier: MIT */
/* test_symbol_part.c - symbols that are looked at together are those one by one. */
#include "check.h"
#include "memory/format/symbol_part.h"
#include "memory/format/unpack_stream.h"

#define EVENTS 80u

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return *state >> 11;
}

/* A block: symbols, and the events of those that are some. */
struct block {
	uint8_t *symbol, *event;
	uint32_t nr;
	size_t size;
};

/* An event of any kind, mostly an allocation or its end; its body may lack bytes. */
static size_t put_event(uint64_t *state, uint8_t *at)
{
	uint8_t code = CRAY_EV_ALLOC + (uint8_t)(next_random(state) % 2);
	size_t size = 5 + next_random(state) % 4, i;

	if (next_random(state) % 40 == 0)
		code = (uint8_t)(next_random(state) % 12);
	if (next_random(state) % 20 == 0)
		size = next_random(state) % 12;
	at[0] = code;
	at[1] = (uint8_t)size;
	for (i = 0; i < size; i++)
		at[2 + i] = (uint8_t)(next_random(state) & (next_random(state) % 4 ? 0x7f : 0xff));
	return 2 + size;
}

/* In memory of just the size: to read past its end is a fault. */
static struct block some_block(uint64_t *state, uint32_t nr, uint32_t one_in)
{
	uint8_t events[EVENTS * 16];
	struct block b = { .symbol = malloc(nr + 1), .nr = nr };
	uint32_t i;

	for (i = 0; i < nr; i++) {
		b.symbol[i] = (uint8_t)(next_random(state) % 0x80);
		if (b.symbol[i] >> 2 == CRAY_EVENT)
			b.symbol[i] = 0;
		if (next_random(state) % one_in == 0) {
			b.symbol[i] = CRAY_EVENT << 2;
			b.size += put_event(state, events + b.size);
		} else if (next_random(state) % 500 == 0) {
			b.symbol[i] = 0x80;
		}
	}
	b.event = malloc(b.size + 1);
	memcpy(b.event, events, b.size);
	return b;
}

/* True if unpack_event() accepts it as an allocation or the end of one.  Passes over it. */
static bool is_heap_event(struct unpack_stream *s)
{
	struct unpack_stream body;
	uint64_t size, v;
	uint8_t code, ticket;

	if (!unpack_byte(s, &code) || !unpack_varint(s, &size) || size > (size_t)(s->end - s->at))
		return false;
	body = (struct unpack_stream){ s->at, s->at + size };
	s->at += size;
	if ((code != CRAY_EV_ALLOC && code != CRAY_EV_FREE) || !unpack_byte(&body, &ticket) ||
	    !unpack_varint(&body, &v) || !unpack_varint(&body, &v))
		return false;
	return code == CRAY_EV_FREE ||
	       (unpack_varint(&body, &v) && unpack_varint(&body, &v) && v <= UINT32_MAX);
}

/* Every number of symbols that may be passed over. */
static void ends_are_right(const struct symbol_part *p, const struct block *b, uint32_t *removed)
{
	struct unpack_stream events, one = { b->event, b->event + b->size };
	uint32_t i, kept = 0, own = 0, near = 0;

	for (i = 0; i < p->nr_symbols; i++) {
		if (b->symbol[i] >> 2 == CRAY_EVENT) {
			CHECK(is_heap_event(&one));
			++*removed;
			continue;
		}
		events = (struct unpack_stream){ b->event, b->event + b->size };
		CHECK_EQ(symbol_part_end(p, kept, &events), i);
		CHECK(events.at == one.at);
		CHECK_EQ(p->at[kept], b->symbol[i]);
		CHECK(b->symbol[i] < 0x80);
		own += (b->symbol[i] & 3) == CRAY_OWN;
		near += (b->symbol[i] & 3) == CRAY_NEAR;
		kept++;
	}
	CHECK_EQ(p->nr, kept);
	CHECK_EQ(p->own, own);
	CHECK_EQ(p->near, near);
	events = (struct unpack_stream){ b->event, b->event + b->size };
	CHECK_EQ(symbol_part_end(p, kept, &events), p->nr_symbols);
	CHECK(events.at == one.at);
}

/* Each symbol that takes a value has the next one of its stream. */
static void values_are_right(const struct symbol_part *p)
{
	uint64_t *own = malloc((p->own + 1) * sizeof(*own)), value[SYMBOL_PART];
	uint64_t *near = malloc((p->near + 1) * sizeof(*near)), i, owns = 0, nears = 0;

	for (i = 0; i < p->own; i++)
		own[i] = 1000 + i;
	for (i = 0; i < p->near; i++)
		near[i] = 2000 + i;
	symbol_part_values(p, own, near, value);
	for (i = 0; i < p->nr; i++) {
		bool is_own = (p->at[i] & 3) == CRAY_OWN, is_near = (p->at[i] & 3) == CRAY_NEAR;

		CHECK_EQ(p->is_own >> i & 1, is_own);
		CHECK_EQ(p->is_near >> i & 1, is_near);
		if (is_own)
			CHECK_EQ(value[i], 1000 + owns++);
		if (is_near)
			CHECK_EQ(value[i], 2000 + nears++);
	}
	free(own);
	free(near);
}

static void part_is_right(const struct block *b, bool removes, uint32_t *removed)
{
	const struct unpack_stream events = { b->event, b->event + b->size };
	struct symbol_part p;
	uint32_t before = *removed;

	symbol_part_begin(&p, b->symbol, b->nr, &events, removes);
	CHECK(p.nr_symbols <= b->nr);
	if (p.nr_symbols < b->nr) /* the reason to stop there */
		CHECK(b->symbol[p.nr_symbols] >= 0x80 ||
		      b->symbol[p.nr_symbols] >> 2 == CRAY_EVENT);
	ends_are_right(&p, b, removed);
	values_are_right(&p);
	CHECK(removes || *removed == before);
}

static void parts_are_right(void)
{
	uint64_t state = 1;
	uint32_t nr, i, removed = 0, all = 0;

	for (nr = 0; nr <= SYMBOL_PART; nr++) {
		for (i = 0; i < 300; i++) {
			struct block b = some_block(&state, nr, 2 + i % 30);

			part_is_right(&b, true, &removed);
			part_is_right(&b, false, &removed);
			all += nr;
			free(b.symbol);
			free(b.event);
		}
	}
	CHECK(removed > all / 100);
}

int main(void)
{
	if (!symbol_part_works())
		SKIP("the processor has no AVX-512 VBMI2");
	RUN(parts_are_right);
	return 0;
}
