/* SPDX-License-Identifier: MIT */
/*
 * described_frames.h - the described objects (described_types.h) in the frames of C++ coroutines.
 *
 * An object is a variable of the coroutine, the awaiter of a co_await, or a member of one of them.
 * gcc numbers the awaiters, so the one of the current co_await is known.
 */
#ifndef SYMBOLS_DESCRIBED_FRAMES_H
#define SYMBOLS_DESCRIBED_FRAMES_H

#include "symbols/coroutine_types.h"
#include "symbols/described_types.h"

#define SCOPE_RANGES_MAX 8

/* Where a variable exists. */
struct guard_scope {
	bool is_known;
	uint32_t line;      /* of its declaration */
	unsigned nr_ranges; /* of its block; 0: the whole function */
	struct {
		uint64_t start, end;
	} ranges[SCOPE_RANGES_MAX];
	unsigned depth, serial; /* gcc: of its block; 0: unknown */
};

struct described_member {
	const struct described_type *type;
	uint32_t offset;  /* in the frame, or in what the pointer points to */
	uint32_t pointer; /* offset of the pointer in the frame */
	bool is_pointer;  /* the frame has the address of the awaiter */
	int64_t awaiter;  /* gcc: number of the co_await; -1: not an awaiter, or unknown */
	bool is_awaiter;  /* a temporary of a co_await */
	struct guard_scope scope;
};

/* gcc: the block of a variable, counted in the order of the source. */
struct frame_block {
	unsigned depth, serial;
	int64_t awaiter; /* number of the co_await whose awaiter it contains; -1: none */
};

struct described_frame {
	struct described_member *waits;
	size_t nr_waits;
	struct described_member *guards;
	size_t nr_guards;
	struct frame_block *blocks;
	size_t nr_blocks;
};

struct described_frames;

/* Both must outlive it.  NULL: no memory. */
struct described_frames *described_frames_new(struct coro_types *coroutines,
					      const struct type_rules *rules);

/* The described objects in frames of coroutine function @number. */
const struct described_frame *described_frames_get(struct described_frames *frames, size_t number);

enum guard_life {
	GUARD_DEAD,
	GUARD_UNSURE,
	GUARD_ALIVE,
};

/* Whether the variable is constructed and not destroyed at @point. */
enum guard_life described_member_life(const struct described_frame *frame,
				      const struct described_member *member,
				      const struct coro_point *point, bool is_gcc);

/* gcc: the number of the co_await at @point; -1: unknown. */
int64_t described_point_awaiter(const struct coro_point *point, bool is_gcc);

/* Accepts NULL. */
void described_frames_free(struct described_frames *frames);

#endif
