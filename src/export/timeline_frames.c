/* SPDX-License-Identifier: MIT */
/* timeline_frames.c - frames of a trace as instants of their coroutines. */
#include "export/timeline_frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "export/timeline_marks.h"
#include "export/timeline_tracks.h"
#include "trace/json_line.h"

#define FRAME_FIELDS_MAX 256

struct kept_frame {
	uint64_t ts, pid, tid, probe_id, ticket, lost;
	uint32_t buffer, type; /* numbers in names */
	size_t fields, size;   /* in text */
	bool is_late;
};

struct timeline_frames {
	struct kept_frame *kept;
	size_t nr, room, drawn; /* frames before drawn are on a track */
	bool is_sorted;
	struct bytes text;
	struct strtab names; /* of buffers and types */
	struct timeline_name *types;
	size_t nr_types;
	struct timeline_field fields[FRAME_FIELDS_MAX];
	char *lists[FRAME_FIELDS_MAX]; /* text of arrays, until the instant is drawn */
};

/* ---- keep ---------------------------------------------------------------- */

static bool kept_make_room(struct timeline_frames *fr)
{
	size_t room = fr->room ? 2 * fr->room : 1024;
	struct kept_frame *kept;

	if (fr->nr < fr->room)
		return true;
	kept = realloc(fr->kept, room * sizeof(*kept));
	if (!kept)
		return false;
	fr->kept = kept;
	fr->room = room;
	return true;
}

static bool kept_name(struct timeline_frames *fr, const char *text, uint32_t *number)
{
	int64_t n = strtab_intern(&fr->names, text ? text : "");

	*number = (uint32_t)n;
	return n >= 0;
}

int timeline_add_frame(struct timeline *tl, const struct trace_frame *f)
{
	struct timeline_frames *fr = tl->frames;
	struct kept_frame *k;

	if (!timeline_is_time(f->ts))
		return 0;
	if (!fr)
		fr = tl->frames = calloc(1, sizeof(*fr));
	if (!fr || !kept_make_room(fr))
		return -ENOMEM;
	k = &fr->kept[fr->nr];
	*k = (struct kept_frame){
		.ts = f->ts,
		.pid = f->pid,
		.tid = f->tid,
		.probe_id = f->probe_id,
		.ticket = f->ticket,
		.lost = f->type ? 0 : f->lost,
		.fields = fr->text.size,
		.size = f->fields ? strlen(f->fields) : 0,
		.is_late = f->is_late,
	};
	if (!kept_name(fr, f->buffer, &k->buffer) || !kept_name(fr, f->type, &k->type) ||
	    (k->size && !bytes_put(&fr->text, f->fields, k->size)))
		return -ENOMEM;
	fr->is_sorted &= !fr->nr || fr->kept[fr->nr - 1].ts <= k->ts;
	fr->nr++;
	return 0;
}

static int kept_compare(const void *a, const void *b)
{
	const struct kept_frame *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->ticket < y->ticket ? -1 : x->ticket > y->ticket;
}

/* ---- draw ---------------------------------------------------------------- */

/* The name of the instant; each type has one. */
static struct timeline_name *kept_type_name(struct timeline *tl, uint32_t number)
{
	struct timeline_frames *fr = tl->frames;
	struct timeline_name *types;
	size_t nr = number + (size_t)1;

	if (nr > fr->nr_types) {
		types = realloc(fr->types, nr * sizeof(*types));
		if (!types)
			return NULL;
		memset(types + fr->nr_types, 0, (nr - fr->nr_types) * sizeof(*types));
		fr->types = types;
		fr->nr_types = nr;
	}
	if (!fr->types[number].id)
		fr->types[number] = (struct timeline_name){
			.id = ++tl->next_name,
			.text = strtab_text(&fr->names, number),
		};
	return &fr->types[number];
}

/* False: omitted, because it was not measured. */
static bool kept_cell(struct timeline_frames *fr, size_t nr, const json_t *value, struct cell *c)
{
	if (json_is_null(value))
		return false;
	if (json_is_boolean(value))
		*c = (struct cell){ .kind = CELL_BOOL, .u = json_is_true(value) };
	else if (json_is_integer(value))
		*c = (struct cell){ .kind = CELL_SIGNED, .i = json_integer_value(value) };
	else if (json_is_real(value))
		*c = (struct cell){ .kind = CELL_DOUBLE, .d = json_real_value(value) };
	else if (json_is_string(value))
		*c = cell_text(json_string_value(value), json_string_length(value));
	else {
		fr->lists[nr] = json_dumps(value, JSON_COMPACT);
		if (!fr->lists[nr])
			return false;
		*c = cell_text(fr->lists[nr], strlen(fr->lists[nr]));
	}
	return true;
}

/* The fields of @object, in their order, as arguments of the mark. */
static void kept_set_fields(struct timeline_frames *fr, json_t *object, struct timeline_mark *m)
{
	const char *key;
	json_t *value;

	m->fields = fr->fields;
	json_object_foreach(object, key, value)
	{
		if (m->nr_fields == FRAME_FIELDS_MAX)
			break;
		fr->fields[m->nr_fields].key = key;
		if (kept_cell(fr, m->nr_fields, value, &fr->fields[m->nr_fields].value))
			m->nr_fields++;
	}
}

static void kept_forget_fields(struct timeline_frames *fr, const struct timeline_mark *m)
{
	unsigned i;

	for (i = 0; i < m->nr_fields; i++) {
		free(fr->lists[i]);
		fr->lists[i] = NULL;
	}
}

/* That of the coroutine if there is one in the trace, of the thread, or of the process. */
static struct timeline_track *kept_track(struct timeline *tl, const struct kept_frame *k)
{
	struct timeline_coro *co = NULL;
	int64_t process, thread;

	if (k->probe_id)
		co = coro_table_find(&tl->coros, k->probe_id, TRACE_NO_STATION);
	if (co)
		return &co->track;
	process = tracks_process(tl, k->pid);
	if (process < 0 || !k->tid)
		return process < 0 ? NULL : &tl->processes[process].track;
	thread = tracks_thread(tl, k->tid, (uint32_t)process);
	return thread < 0 ? NULL : &tl->threads[thread].track;
}

static int kept_draw(struct timeline *tl, const struct kept_frame *k)
{
	struct timeline_frames *fr = tl->frames;
	struct timeline_track *track = kept_track(tl, k);
	struct timeline_mark m;
	json_t *object = NULL;
	int rc;

	if (!track)
		return -ENOMEM;
	mark_init(tl, &m, WORD_FRAMES_LOST, CATEGORY_FRAME);
	arg_text(&m, KEY_BUFFER, strtab_text(&fr->names, k->buffer));
	if (k->lost) {
		arg_number(&m, KEY_LOST, k->lost);
	} else {
		m.name = kept_type_name(tl, k->type);
		if (!m.name)
			return -ENOMEM;
		arg_number(&m, KEY_TICKET, k->ticket);
		arg_if(&m, KEY_THREAD, k->tid);
		arg_true(&m, KEY_TIME_UNKNOWN, k->is_late);
		object = json_line_parse((const char *)fr->text.data + k->fields, k->size, &rc);
		if (json_is_object(object))
			kept_set_fields(fr, object, &m);
	}
	if (k->ts > track->last_ts)
		track->last_ts = k->ts;
	tl->view->instant(tl->view, track, track->last_ts, &m);
	kept_forget_fields(fr, &m);
	json_decref(object);
	tl->frames_drawn += !k->lost;
	return 0;
}

int timeline_draw_frames(struct timeline *tl, uint64_t ts)
{
	struct timeline_frames *fr = tl->frames;
	int rc = 0;

	if (!fr)
		return 0;
	if (!fr->is_sorted)
		qsort(fr->kept + fr->drawn, fr->nr - fr->drawn, sizeof(*fr->kept), kept_compare);
	fr->is_sorted = true;
	while (!rc && fr->drawn < fr->nr && fr->kept[fr->drawn].ts < ts)
		rc = kept_draw(tl, &fr->kept[fr->drawn++]);
	return rc;
}

void timeline_release_frames(struct timeline *tl)
{
	struct timeline_frames *fr = tl->frames;

	if (!fr)
		return;
	free(fr->kept);
	free(fr->types);
	bytes_release(&fr->text);
	strtab_release(&fr->names);
	free(fr);
	tl->frames = NULL;
}
