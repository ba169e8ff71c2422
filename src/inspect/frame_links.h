/* SPDX-License-Identifier: MIT */
/*
 * frame_links.h - which frame awaits which.
 *
 * A coroutine that is awaited keeps the handle of the one that awaits it in its promise.  A handle
 * in the promise may also be a link of a queue: where several qualify, and for plain pointers, the
 * other frame must hold a pointer back, outside its promise.
 */
#ifndef INSPECT_FRAME_LINKS_H
#define INSPECT_FRAME_LINKS_H

#include "inspect/frame_table.h"
#include "process/process_image.h"
#include "symbols/coroutine_types.h"

/*
 * Read every frame: its index and its parent.  Frames whose contents make no sense become
 * FRAME_INVALID.  0 or -ENOMEM.
 */
int frame_links_read(const struct process_image *image, struct coro_types *types,
		     struct frame_table *table);

/*
 * Read every frame again: one that has changed becomes FRAME_INVALID.  Returns the number of those,
 * or -ENOMEM.
 */
int64_t frame_links_check(const struct process_image *image, struct coro_types *types,
			  struct frame_table *table);

/* Call @visit with the bytes of every frame that can be read. */
typedef void (*frame_visitor)(void *arg, uint32_t number, const uint8_t *bytes, size_t size);
int frame_table_visit(const struct process_image *image, const struct frame_table *table,
		      frame_visitor visit, void *arg);

#endif
