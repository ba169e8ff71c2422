/* SPDX-License-Identifier: MIT */
/*
 * symbol_part.h - look at many symbols of a block before they are decoded.
 *
 * A program that allocates memory has an event every few accesses.  If the reader leaves these
 * events out, they change nothing that accesses depend on: their symbols are removed, and the
 * accesses before and after them are decoded together.
 */
#ifndef MEMORY_FORMAT_SYMBOL_PART_H
#define MEMORY_FORMAT_SYMBOL_PART_H

#include "memory/format/block_unpack.h"

#define SYMBOL_PART 64u

struct symbol_part {
	const uint8_t *at;        /* symbols that are no events */
	uint32_t nr;              /* of them; any may be of an unknown site */
	uint32_t nr_symbols;      /* of the block: @nr and the events among them */
	uint32_t own, near;       /* values that the @nr take of each stream, at most */
	uint64_t events;          /* which symbols of the block are events: a bit each */
	uint64_t is_own, is_near; /* which of the @nr take a value; only if symbol_part_works() */
	uint8_t kept[SYMBOL_PART];
	const uint8_t *rest[SYMBOL_PART + 1]; /* of the stream, by the events before */
};

/* True if the host has the vector unit for this. */
bool symbol_part_works(void);

/*
 * Look at up to @nr symbols, SYMBOL_PART at most, as far as they are of one byte.  @events: that
 * stream; allocations and their ends are removed if @removes.
 */
void symbol_part_begin(struct symbol_part *p, const uint8_t *symbol, uint32_t nr,
		       const struct unpack_stream *events, bool removes);

/*
 * The values that the symbols take of @own and @near: one for each, any value if it takes none.
 * There are as many as they take.  Only if symbol_part_works().
 */
void symbol_part_values(const struct symbol_part *p, const uint64_t *own, const uint64_t *near,
			uint64_t value[SYMBOL_PART]);

/*
 * Pass over @nr of the symbols that are no events, and over the events before the next one.
 * Returns how many symbols of the block that are.
 */
uint32_t symbol_part_end(const struct symbol_part *p, uint32_t nr, struct unpack_stream *events);

#endif
