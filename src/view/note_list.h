/* SPDX-License-Identifier: MIT */
/*
 * note_list.h - notes that a reader of the page wrote: at a time, about a range, a coroutine, or
 * both.
 *
 * The page saves them as JSON (docs/view-format.md, notes), or in a copy of itself; the next page
 * of the same trace has them again.  They are text of others: read with bounds, never markup.
 */
#ifndef VIEW_NOTE_LIST_H
#define VIEW_NOTE_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"

#define NOTES_MAX      5000u
#define NOTE_TEXT_MAX  16000u /* bytes */
#define NOTES_SIZE_MAX ((size_t)32 << 20)

struct view_note {
	bool has_from, has_to; /* without a begin: about the coroutine; without an end: a moment */
	int64_t from, to;      /* ns since the list's origin */
	char *id;              /* of the coroutine; "" if there is none */
	char *text;
	char *made; /* when it was written, as the page says it; may be "" */
};

/* All zero is empty. */
struct note_list {
	struct view_note *all;
	size_t nr, room;
	uint64_t origin; /* CLOCK_MONOTONIC */
	size_t dropped;  /* entries that cannot be notes, or too many */
};

/* Notes of the JSON text @text; @path is for messages.  0 or a negative errno. */
int note_list_parse(struct note_list *n, const char *path, const char *text, size_t size,
		    struct err *err);

/* The same from a file: notes that the page saved, or a page with notes. */
int note_list_read(struct note_list *n, const char *path, struct err *err);

/* Notes whose time is not between @first and @last (CLOCK_MONOTONIC). */
size_t note_list_outside(const struct note_list *n, uint64_t first, uint64_t last);

/* Append the section "notes", with times since @origin.  0 or -ENOMEM. */
int note_list_write(const struct note_list *n, const char *trace, uint64_t origin,
		    struct bytes *out);

void note_list_release(struct note_list *n);

#endif
