/* SPDX-License-Identifier: MIT */
/* profile_folded.c - a profile as folded stacks and for speedscope. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/json_writer.h"
#include "inspect/profile_files.h"

/* Levels of a stack, outermost first.  The caller frees it; NULL: no memory. */
static uint32_t *profile_stack_levels(const struct wait_profile *p, const struct profile_stack *s)
{
	uint32_t depth = wait_profile_level_at(p, s->level)->depth, level = s->level;
	uint32_t *levels = calloc(depth, sizeof(*levels));

	for (; levels && level; level = wait_profile_level_at(p, level)->parent)
		levels[--depth] = level;
	return levels;
}

/* ---- folded stacks -------------------------------------------------------------------- */

/* Names are untrusted; a semicolon separates frames, a line has one stack. */
static void folded_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		fputc(c == ';' ? ':' : c < 0x20 || c == 0x7f ? '?' : c, out);
	}
}

int profile_write_folded(const struct profile_run *run, FILE *out)
{
	const struct wait_profile *p = run->profile;
	size_t i;

	for (i = 0; i < p->nr_stacks; i++) {
		const struct profile_stack *s = &p->stacks[i];
		uint32_t *levels = profile_stack_levels(p, s), k;

		if (!levels)
			return -ENOMEM;
		for (k = 0; k < wait_profile_level_at(p, s->level)->depth; k++) {
			const struct profile_place *place = wait_profile_place_at(p, levels[k]);

			folded_text(out, place->function);
			if (place->file) {
				fputs(" (", out);
				folded_text(out, place->file);
				fprintf(out, ":%" PRIu32 ")", place->line);
			}
			fputc(';', out);
		}
		fprintf(out, "[%s] %" PRIu64 "\n", profile_state_name(s->state),
			s->samples * p->period_ns / 1000);
		free(levels);
	}
	return 0;
}

/* ---- speedscope ------------------------------------------------------------------------- */

/* Frames: the places, then the states. */
static void speedscope_frames(const struct wait_profile *p, struct json_writer *w)
{
	size_t i;

	jw_key(w, "shared");
	jw_object_begin(w);
	jw_key(w, "frames");
	jw_array_begin(w);
	for (i = 0; i < p->nr_places; i++) {
		jw_object_begin(w);
		jw_field_string(w, "name", p->places[i].function);
		if (p->places[i].file) {
			jw_field_string(w, "file", p->places[i].file);
			jw_field_u64(w, "line", p->places[i].line);
		}
		jw_object_end(w);
	}
	for (i = 0; i < PROFILE_STATES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "[%s]", profile_state_name((enum profile_state)i));
		jw_object_begin(w);
		jw_field_string(w, "name", name);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_object_end(w);
}

static void speedscope_sample(const struct wait_profile *p, const struct profile_stack *s,
			      struct json_writer *w)
{
	uint32_t *levels = profile_stack_levels(p, s), k;

	jw_array_begin(w);
	for (k = 0; levels && k < wait_profile_level_at(p, s->level)->depth; k++)
		jw_u64(w, wait_profile_level_at(p, levels[k])->place - 1);
	jw_u64(w, p->nr_places + (unsigned)s->state);
	jw_array_end(w);
	free(levels);
}

/* The stacks of a state; PROFILE_STATES: all of them. */
static void speedscope_profile(const struct wait_profile *p, struct json_writer *w,
			       enum profile_state state, const char *name)
{
	uint64_t all = 0;
	size_t i;

	jw_object_begin(w);
	jw_field_string(w, "type", "sampled");
	jw_field_string(w, "name", name);
	jw_field_string(w, "unit", "nanoseconds");
	jw_field_u64(w, "startValue", 0);
	jw_key(w, "samples");
	jw_array_begin(w);
	for (i = 0; i < p->nr_stacks; i++) {
		if (state == PROFILE_STATES || p->stacks[i].state == state)
			speedscope_sample(p, &p->stacks[i], w);
	}
	jw_array_end(w);
	jw_key(w, "weights");
	jw_array_begin(w);
	for (i = 0; i < p->nr_stacks; i++) {
		if (state != PROFILE_STATES && p->stacks[i].state != state)
			continue;
		jw_u64(w, p->stacks[i].samples * p->period_ns);
		all += p->stacks[i].samples * p->period_ns;
	}
	jw_array_end(w);
	jw_field_u64(w, "endValue", all);
	jw_object_end(w);
}

int profile_write_speedscope(const struct profile_run *run, FILE *out)
{
	const struct wait_profile *p = run->profile;
	struct json_writer w;
	int state;

	jw_init_file(&w, out);
	jw_object_begin(&w);
	jw_field_string(&w, "$schema", "https://www.speedscope.app/file-format-schema.json");
	jw_field_string(&w, "exporter", "corotracer");
	jw_field_string(&w, "name", run->name);
	jw_field_u64(&w, "activeProfileIndex", 0);
	speedscope_frames(p, &w);
	jw_key(&w, "profiles");
	jw_array_begin(&w);
	speedscope_profile(p, &w, PROFILE_STATES, "tasks");
	for (state = 0; state < PROFILE_STATES; state++) {
		if (p->samples[state])
			speedscope_profile(p, &w, (enum profile_state)state,
					   profile_state_name((enum profile_state)state));
	}
	jw_array_end(&w);
	jw_object_end(&w);
	jw_newline(&w);
	return jw_release(&w);
}
