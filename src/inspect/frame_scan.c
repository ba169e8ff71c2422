/* SPDX-License-Identifier: MIT */
/*
 * frame_scan.c - find coroutine frames in the memory of a process.
 *
 * A frame begins with the addresses of its resume and destroy functions.  Freed frames are not
 * found: malloc overwrites both words.
 */
#include "inspect/frame_scan.h"

#include <errno.h>
#include <string.h>

#include "inspect/heap_walk.h"

/* Size of a frame that DWARF does not describe. */
#define FRAME_SIZE_GUESS 256

struct frame_scanner {
	struct process_image *image;
	struct coro_types *types;
	struct frame_table *table;
	uint64_t low, span; /* of code addresses */
	/* The last word of the previous piece: a pair may cross pieces. */
	uint64_t last_addr, last_word;
};

/* Spilled registers on a stack can look like a frame. */
static bool scan_is_stack(const struct frame_scanner *s, const struct image_range *range)
{
	size_t i;

	if (range->path && !strncmp(range->path, "[stack", 6))
		return true;
	for (i = 0; i < s->image->nr_threads; i++) {
		uint64_t sp = s->image->threads[i].sp;

		if (sp >= range->start && sp < range->end)
			return true;
	}
	return false;
}

static int scan_add(struct frame_scanner *s, uint64_t addr, uint64_t resume, uint64_t destroy)
{
	int64_t type = coro_types_find(s->types, resume, destroy);
	struct coro_frame frame;
	uint32_t size;

	if (type < 0)
		return 0;
	size = coro_types_get(s->types, (size_t)type)->size;
	frame = (struct coro_frame){
		.addr = addr,
		.size = size ? size : FRAME_SIZE_GUESS,
		.type = (uint32_t)type,
		.parent = FRAME_NONE,
		.has_guessed_size = !size,
		.state = resume ? FRAME_SUSPENDED : FRAME_FINISHED,
	};
	return frame_table_add(s->table, &frame);
}

static int scan_piece(void *arg, const struct image_range *range, uint64_t addr, const void *data,
		      size_t size)
{
	struct frame_scanner *s = arg;
	const uint64_t *words = data;
	uint64_t before = s->last_addr + 8 == addr ? s->last_word : 1;
	size_t nr = size / sizeof(*words), i;
	int rc;

	if (!nr || scan_is_stack(s, range))
		return 0;
	for (i = 0; i < nr; i++) {
		uint64_t word = words[i];

		if (word - s->low <= s->span && (before - s->low <= s->span || !before)) {
			rc = scan_add(s, addr + i * 8 - 8, before, word);
			if (rc < 0)
				return rc;
		}
		before = word;
	}
	s->last_addr = addr + (nr - 1) * 8;
	s->last_word = before;
	return 0;
}

int frame_scan(struct process_image *image, struct coro_types *types, struct frame_table *table,
	       struct err *err)
{
	struct frame_scanner s = { .image = image, .types = types, .table = table };
	uint64_t high;
	int rc = 0;

	coro_types_bounds(types, &s.low, &high);
	s.span = high - s.low;
	if (coro_types_count(types))
		rc = image_visit(image, scan_piece, &s);
	if (rc == -E2BIG)
		rc = 0; /* the table says so */
	frame_table_sort(table);
	if (!rc && heap_walk_frames(image, table) < 0)
		rc = -ENOMEM;
	if (!rc)
		rc = frame_table_seal(table);
	if (rc == -ESRCH || rc == -ESTALE)
		return err_set(err, rc, "cannot read process %d: it %s", (int)image->pid,
			       rc == -ESRCH ? "has ended" : "has executed another program");
	return rc < 0 ? err_set(err, rc, "no memory for the coroutines of process %d",
				(int)image->pid)
		      : 0;
}
