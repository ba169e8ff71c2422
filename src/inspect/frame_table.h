/* SPDX-License-Identifier: MIT */
/*
 * frame_table.h - the coroutine frames found in a process, and which of them an address is in.
 *
 * Frames are sorted by address.  A hash table from pages to frames answers for the hundreds of
 * millions of words of a large process whether they point into a frame.
 */
#ifndef INSPECT_FRAME_TABLE_H
#define INSPECT_FRAME_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum frame_state {
	FRAME_SUSPENDED,
	FRAME_FINISHED, /* at its final suspend point, not destroyed */
	FRAME_RUNNING,  /* a thread runs it */
	FRAME_INVALID,  /* changed while it was read, or not a frame */
};

#define FRAME_NONE UINT32_MAX

/* More than programs have; memory full of forged frames must not fill ours. */
#define FRAMES_MAX (1u << 22)

struct coro_frame {
	uint64_t addr;
	uint32_t size;
	uint32_t type;   /* number of the coroutine function */
	uint32_t index;  /* resume index */
	uint32_t parent; /* the frame that awaits this one; FRAME_NONE: none */
	uint32_t other;  /* while parents are searched: a second candidate */
	uint32_t links;  /* hash of the pointers in the promise: the same in both reads */
	uint32_t outer;  /* the frame whose memory contains this one; FRAME_NONE: none */
	uint32_t stack;  /* 1 + number of its stack: this frame and its parents; 0: not yet known */
	uint8_t state;   /* enum frame_state */
	uint8_t nr_candidates;
	uint8_t depth;    /* number of frames around it */
	bool is_read;     /* the index is known */
	bool needs_proof; /* the parent must hold a pointer back */
	bool is_proven, is_other_proven;
	bool is_on_path;       /* while stacks are resolved */
	bool has_child;        /* it awaits another frame */
	bool has_changed;      /* between the two reads */
	bool is_checked;       /* while stacks are dropped */
	bool is_reached;       /* a pointer to it was found */
	bool is_doubtful;      /* not reached; a pointer is in what may not be a frame */
	bool is_allocated;     /* in a block that the allocator has given out; false: unknown */
	bool is_block;         /* ... and is all of that block: not a part of a pool */
	bool has_guessed_size; /* DWARF does not have it */
};

/* All zero: an empty table. */
struct frame_table {
	struct coro_frame *frames;
	size_t nr, room;
	uint64_t low, high; /* from the first frame to the end of the last */
	struct frame_page *pages;
	size_t nr_pages; /* a power of two, or 0 */
	bool is_full;    /* there were more than FRAMES_MAX frames */
};

/* 0; -ENOMEM; -E2BIG: the table has FRAMES_MAX frames. */
int frame_table_add(struct frame_table *t, const struct coro_frame *frame);

/* Sort the frames by address; none may be added after it. */
void frame_table_sort(struct frame_table *t);

/* Make the index; sizes must not change after it.  0 or -ENOMEM. */
int frame_table_seal(struct frame_table *t);

/* The frame that contains @addr, or FRAME_NONE. */
uint32_t frame_table_find(const struct frame_table *t, uint64_t addr);

/* The first frame at or after @addr; t->nr: none. */
size_t frame_table_from(const struct frame_table *t, uint64_t addr);

/* Empty the table and keep its memory: frames may be added again. */
void frame_table_clear(struct frame_table *t);

void frame_table_release(struct frame_table *t);

#endif
