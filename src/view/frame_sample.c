/* SPDX-License-Identifier: MIT */
/* frame_sample.c - frames of a trace for the page. */
#include "view/frame_sample.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_writer.h"
#include "base/io.h"

struct sampled_frame {
	uint64_t ts, tid, probe_id;
	char *text; /* type, buffer and fields, each terminated */
};

static char *sample_copy_text(const struct trace_frame *f)
{
	const char *fields = f->fields ? f->fields : "{}", *buffer = f->buffer ? f->buffer : "";
	size_t type_size = strlen(f->type) + 1, buffer_size = strlen(buffer) + 1;
	size_t fields_size = strlen(fields) + 1;
	char *text = malloc(type_size + buffer_size + fields_size);

	if (!text)
		return NULL;
	memcpy(text, f->type, type_size);
	memcpy(text + type_size, buffer, buffer_size);
	memcpy(text + type_size + buffer_size, fields, fields_size);
	return text;
}

static void sample_halve(struct frame_sample *s)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		if (i % 2)
			free(s->frames[i].text);
		else
			s->frames[i / 2] = s->frames[i];
	}
	s->nr = (s->nr + 1) / 2;
	s->step *= 2;
}

static bool sample_make_room(struct frame_sample *s)
{
	size_t room = s->room ? 2 * s->room : 64;
	struct sampled_frame *frames;

	if (s->nr < s->room)
		return true;
	frames = realloc(s->frames, room * sizeof(*frames));
	if (!frames)
		return false;
	s->frames = frames;
	s->room = room;
	return true;
}

int frame_sample_add(struct frame_sample *s, const struct trace_frame *f)
{
	struct sampled_frame *kept;

	if (!f->type) {
		s->lost += f->lost;
		return 0;
	}
	if (!s->step)
		s->step = 1;
	if (s->of++ % s->step)
		return 0;
	if (s->nr == VIEW_FRAMES_MAX) {
		sample_halve(s);
		if ((s->of - 1) % s->step)
			return 0;
	}
	if (!sample_make_room(s))
		return -ENOMEM;
	kept = &s->frames[s->nr];
	*kept = (struct sampled_frame){ f->ts, f->tid, f->probe_id, sample_copy_text(f) };
	if (!kept->text)
		return -ENOMEM;
	s->nr++;
	return 0;
}

void frame_sample_release(struct frame_sample *s)
{
	while (s->nr)
		free(s->frames[--s->nr].text);
	free(s->frames);
	*s = (struct frame_sample){ 0 };
}

static void sample_put(struct json_writer *j, const struct sampled_frame *f, uint64_t origin)
{
	const char *buffer = f->text + strlen(f->text) + 1, *fields = buffer + strlen(buffer) + 1;
	char id[24];

	snprintf(id, sizeof(id), "%" PRIu64, f->probe_id);
	jw_object_begin(j);
	jw_field_i64(j, "ts", (int64_t)(f->ts - origin));
	jw_field_string(j, "id", f->probe_id ? id : "");
	jw_field_u64(j, "tid", f->tid);
	jw_field_string(j, "frame", f->text);
	jw_field_string(j, "buffer", buffer);
	jw_field_string(j, "fields", fields);
	jw_object_end(j);
}

int frame_sample_write(const struct frame_sample *s, uint64_t origin, struct bytes *out)
{
	char *text = NULL;
	size_t size = 0, i;
	FILE *file = open_memstream(&text, &size);
	struct json_writer j;

	if (!file)
		return -ENOMEM;
	jw_init_file(&j, file);
	jw_object_begin(&j);
	jw_field_u64(&j, "of", s->of);
	jw_field_u64(&j, "lost", s->lost);
	jw_key(&j, "frames");
	jw_array_begin(&j);
	for (i = 0; i < s->nr; i++)
		sample_put(&j, &s->frames[i], origin);
	jw_array_end(&j);
	jw_object_end(&j);
	if (io_end_memory(file, &text) == 0)
		bytes_add(out, text, size);
	else
		out->error = -ENOMEM;
	free(text);
	return out->error;
}
