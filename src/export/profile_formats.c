/* SPDX-License-Identifier: MIT */
/* profile_formats.c - time by stacks, for flamegraph.pl and speedscope. */
#include "export/profile_formats.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/json_writer.h"

/* ---- folded stacks -------------------------------------------------------- */

/* Names are untrusted; a semicolon separates places, a line has one stack. */
static void folded_put_text(struct outfile *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;
		char safe = c == ';' ? ':' : c < 0x20 || c == 0x7f ? '?' : (char)c;

		outfile_put(out, &safe, 1);
	}
}

static void folded_put_stack(struct outfile *out, const struct time_tree *t, uint32_t level)
{
	uint32_t places[TIME_TREE_DEPTH];
	unsigned nr = time_tree_stack(t, level, places), i;
	char text[32];

	for (i = 0; i < nr; i++) {
		const struct time_place *place = &t->places[places[i]];

		if (i)
			outfile_put(out, ";", 1);
		folded_put_text(out, place->name);
		if (!place->file)
			continue;
		outfile_put(out, " (", 2);
		folded_put_text(out, place->file);
		outfile_put(out, text,
			    (size_t)snprintf(text, sizeof(text), ":%" PRIu32 ")", place->line));
	}
	outfile_put(out, text,
		    (size_t)snprintf(text, sizeof(text), " %" PRIu64 "\n",
				     (t->levels[level].ns + 500) / 1000));
}

void profile_put_folded(struct outfile *out, const struct time_tree *t)
{
	size_t i;

	for (i = 1; i < t->nr_levels; i++) {
		if (t->levels[i].ns >= 500)
			folded_put_stack(out, t, (uint32_t)i);
	}
}

/* ---- speedscope ------------------------------------------------------------ */

static void speedscope_put_places(struct json_writer *w, const struct time_tree *t)
{
	size_t i;

	jw_key(w, "shared");
	jw_object_begin(w);
	jw_key(w, "frames");
	jw_array_begin(w);
	for (i = 0; i < time_tree_places(t); i++) {
		jw_object_begin(w);
		jw_field_string(w, "name", t->places[i].name);
		if (t->places[i].file) {
			jw_field_string(w, "file", t->places[i].file);
			jw_field_u64(w, "line", t->places[i].line);
		}
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_object_end(w);
}

static bool speedscope_has(const struct time_level *level, unsigned state)
{
	return level->count && (!state || level->state == state);
}

static void speedscope_put_stacks(struct json_writer *w, const struct time_tree *t, unsigned state)
{
	uint32_t places[TIME_TREE_DEPTH];
	size_t level;

	jw_key(w, "samples");
	jw_array_begin(w);
	for (level = 1; level < t->nr_levels; level++) {
		unsigned nr = time_tree_stack(t, (uint32_t)level, places), i;

		if (!speedscope_has(&t->levels[level], state))
			continue;
		jw_array_begin(w);
		for (i = 0; i < nr; i++)
			jw_u64(w, places[i]);
		jw_array_end(w);
	}
	jw_array_end(w);
}

/* The stacks of a state; 0: all of them. */
static void speedscope_put_profile(struct json_writer *w, const struct time_tree *t, unsigned state,
				   const char *name)
{
	uint64_t all = 0;
	size_t i;

	jw_object_begin(w);
	jw_field_string(w, "type", "sampled");
	jw_field_string(w, "name", name);
	jw_field_string(w, "unit", "nanoseconds");
	jw_field_u64(w, "startValue", 0);
	speedscope_put_stacks(w, t, state);
	jw_key(w, "weights");
	jw_array_begin(w);
	for (i = 1; i < t->nr_levels; i++) {
		if (!speedscope_has(&t->levels[i], state))
			continue;
		jw_u64(w, t->levels[i].ns);
		all += t->levels[i].ns;
	}
	jw_array_end(w);
	jw_field_u64(w, "endValue", all);
	jw_object_end(w);
}

static bool speedscope_has_any(const struct time_tree *t, unsigned state)
{
	size_t i;

	for (i = 1; i < t->nr_levels; i++) {
		if (speedscope_has(&t->levels[i], state))
			return true;
	}
	return false;
}

int profile_put_speedscope(struct outfile *out, const struct time_tree *t,
			   const struct profile_head *head)
{
	struct json_writer w;
	const char *text;
	unsigned state;
	size_t size;

	jw_init_buffer(&w);
	jw_object_begin(&w);
	jw_field_string(&w, "$schema", "https://www.speedscope.app/file-format-schema.json");
	jw_field_string(&w, "exporter", "corotracer");
	jw_field_string(&w, "name", head->name);
	jw_field_u64(&w, "activeProfileIndex", 0);
	speedscope_put_places(&w, t);
	jw_key(&w, "profiles");
	jw_array_begin(&w);
	speedscope_put_profile(&w, t, 0, head->what);
	for (state = 1; state < head->nr_states; state++) {
		if (speedscope_has_any(t, state))
			speedscope_put_profile(&w, t, state, head->states[state]);
	}
	jw_array_end(&w);
	jw_object_end(&w);
	jw_newline(&w);
	text = jw_text(&w, &size);
	if (text)
		outfile_put(out, text, size);
	return jw_release(&w);
}
