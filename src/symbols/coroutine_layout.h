/* SPDX-License-Identifier: MIT */
/* coroutine_layout.h - read the layout of a coroutine frame and the lines of its suspend points. */
#ifndef SYMBOLS_COROUTINE_LAYOUT_H
#define SYMBOLS_COROUTINE_LAYOUT_H

#include <elfutils/libdwfl.h>

#include "symbols/coroutine_types.h"
#include "symbols/line_index.h"

struct coro_source {
	Dwfl_Module *module;
	struct line_index *lines;
	const char *base; /* the symbol without ".actor" or ".resume" */
};

/* Set what is known of @type: layout, fields and points.  Nothing known is no failure. */
void coro_layout_read(struct coro_type *type, const struct coro_source *source);

/* The type of the frame and the function that resumes it.  False: DWARF has no such type. */
bool coro_layout_dies(const struct coro_type *type, const struct coro_source *source,
		      Dwarf_Die *frame, Dwarf_Die *function);

/* The same for coroutine function @number of @types. */
bool coro_types_dies(struct coro_types *types, size_t number, Dwarf_Die *frame,
		     Dwarf_Die *function);

/* The type of the frame of the coroutine whose resume function is @resume.  False: unknown. */
bool coro_frame_type(const struct coro_source *source, Dwarf_Die *resume, Dwarf_Die *out);

struct coro_field_list {
	struct coro_field *fields;
	size_t nr, room;
};
/* Add the scalars of the struct @frame. */
void coro_fields_read(struct coro_field_list *list, Dwarf_Die *frame);

/* As coro_fields_read(), for the promise alone, at @offset of the frame. */
void coro_promise_fields_read(struct coro_field_list *list, Dwarf_Die *promise, uint32_t offset);

/* Set the points of @type from its code; also the index, if DWARF does not have it. */
void coro_points_read(struct coro_type *type, const struct coro_source *source);

/* The instruction that stores the index of a suspend point. */
struct coro_store {
	uint64_t index;
	uint64_t addr; /* in the process; 0: not found */
	int base;      /* the register that holds the frame's address there; -1: unknown */
	bool is_sure;  /* it certainly stores into the frame */
};

/* Find the store of @store->index, in the same order as coro_points_read().  False: none. */
bool coro_store_find(const struct coro_type *type, const struct coro_source *source,
		     struct coro_store *store);

/* clang: the last store, of any index, in the function that creates the frame.  False: none. */
bool coro_store_find_start(const struct coro_type *type, const struct coro_source *source,
			   struct coro_store *store);

/* Free what @type holds. */
void coro_layout_release(struct coro_type *type);

#endif
