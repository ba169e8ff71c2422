/* SPDX-License-Identifier: MIT */
/* profile_message.c - time by stacks, as the message that pprof reads. */
#include <errno.h>
#include <string.h>
#include <zlib.h>

#include "export/profile_formats.h"

/* Fields of profile.proto. */
enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME = 9,
	PROFILE_DURATION = 10,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};

#define MESSAGE_WINDOW (15 + 16) /* the largest window, with a gzip header */

struct message_writer {
	const struct time_tree *tree;
	const struct profile_head *head;
	struct proto out;
	struct strtab strings; /* number 0 is the empty string */
};

static uint64_t message_string(struct message_writer *w, const char *text)
{
	int64_t number = strtab_intern(&w->strings, text);

	if (number < 0 && !w->out.error)
		w->out.error = -ENOMEM;
	return number < 0 ? 0 : (uint64_t)number;
}

static void message_sample_type(struct message_writer *w, const char *type, const char *unit)
{
	uint64_t type_number = message_string(w, type), unit_number = message_string(w, unit);

	proto_begin(&w->out, PROFILE_SAMPLE_TYPE);
	proto_u64(&w->out, 1, type_number);
	proto_u64(&w->out, 2, unit_number);
	proto_end(&w->out);
}

/* Locations are listed with the highest place first; they have the numbers of the places + 1. */
static void message_sample(struct message_writer *w, uint32_t number)
{
	const struct time_level *level = &w->tree->levels[number];
	uint32_t places[TIME_TREE_DEPTH];
	unsigned nr = time_tree_stack(w->tree, number, places);
	uint64_t key = message_string(w, "state"), state = 0;

	if (level->state && level->state < w->head->nr_states)
		state = message_string(w, w->head->states[level->state]);
	proto_begin(&w->out, PROFILE_SAMPLE);
	while (nr)
		proto_u64(&w->out, 1, places[--nr] + UINT64_C(1));
	proto_u64(&w->out, 2, level->count);
	proto_u64(&w->out, 2, level->ns);
	if (state) {
		proto_begin(&w->out, 3);
		proto_u64(&w->out, 1, key);
		proto_u64(&w->out, 2, state);
		proto_end(&w->out);
	}
	proto_end(&w->out);
}

static void message_place(struct message_writer *w, size_t number)
{
	const struct time_place *place = &w->tree->places[number];
	uint64_t name = message_string(w, place->name);
	uint64_t file = message_string(w, place->file ? place->file : "");

	proto_begin(&w->out, PROFILE_LOCATION);
	proto_u64(&w->out, 1, number + 1);
	proto_begin(&w->out, 4); /* a line, in a function */
	proto_u64(&w->out, 1, number + 1);
	proto_u64(&w->out, 2, place->line);
	proto_end(&w->out);
	proto_end(&w->out);
	proto_begin(&w->out, PROFILE_FUNCTION);
	proto_u64(&w->out, 1, number + 1);
	proto_u64(&w->out, 2, name);
	proto_u64(&w->out, 3, name);
	proto_u64(&w->out, 4, file);
	proto_end(&w->out);
}

static void message_write(struct message_writer *w)
{
	const struct time_tree *t = w->tree;
	size_t i;

	message_string(w, "");
	message_sample_type(w, w->head->what, "count");
	message_sample_type(w, "time", "nanoseconds");
	for (i = 1; i < t->nr_levels; i++) {
		if (t->levels[i].count)
			message_sample(w, (uint32_t)i);
	}
	for (i = 0; i < time_tree_places(t); i++)
		message_place(w, i);
	proto_u64(&w->out, PROFILE_TIME, w->head->start_realtime);
	proto_u64(&w->out, PROFILE_DURATION, w->head->duration_ns);
	proto_u64(&w->out, PROFILE_COMMENT, message_string(w, w->head->name));
	proto_u64(&w->out, PROFILE_DEFAULT_TYPE, message_string(w, "time"));
	for (i = 0; i < w->strings.nr; i++)
		proto_string(&w->out, PROFILE_STRING, strtab_text(&w->strings, i),
			     strlen(strtab_text(&w->strings, i)));
}

static int message_compress(struct outfile *out, const struct proto *message)
{
	unsigned char piece[16384];
	z_stream z = { .next_in = message->buf, .avail_in = (uInt)message->used };
	int rc;

	if (message->used > UINT32_MAX ||
	    deflateInit2(&z, 6, Z_DEFLATED, MESSAGE_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = piece;
		z.avail_out = sizeof(piece);
		rc = deflate(&z, Z_FINISH);
		outfile_put(out, piece, sizeof(piece) - z.avail_out);
	} while (rc == Z_OK);
	deflateEnd(&z);
	return rc == Z_STREAM_END ? 0 : -ENOMEM;
}

int profile_put_pprof(struct outfile *out, const struct time_tree *t,
		      const struct profile_head *head)
{
	struct message_writer w = { .tree = t, .head = head };
	int rc;

	message_write(&w);
	rc = w.out.error ? w.out.error : message_compress(out, &w.out);
	proto_release(&w.out);
	strtab_release(&w.strings);
	return rc;
}
