/* SPDX-License-Identifier: MIT */
/* chrome_writer.c - events in the JSON format of chrome://tracing. */
#include "export/chrome_writer.h"

static void chrome_flush(struct chrome_writer *c)
{
	size_t size;
	const char *text = jw_text(&c->w, &size);

	if (text)
		outfile_put(c->file, text, size);
	jw_text_taken(&c->w);
}

void chrome_writer_begin(struct chrome_writer *c, struct outfile *file, const char *unit)
{
	c->file = file;
	jw_init_buffer(&c->w);
	jw_object_begin(&c->w);
	if (unit)
		jw_field_string(&c->w, "displayTimeUnit", unit);
	jw_key(&c->w, "traceEvents");
	jw_array_begin(&c->w);
}

struct json_writer *chrome_begin_event(struct chrome_writer *c, const char *phase, uint64_t pid,
				       bool has_tid, uint64_t tid)
{
	struct json_writer *w = &c->w;

	c->events++;
	jw_object_begin(w);
	jw_field_string(w, "ph", phase);
	jw_field_u64(w, "pid", pid ? pid : 1);
	if (has_tid)
		jw_field_u64(w, "tid", tid);
	return w;
}

void chrome_put_time(struct json_writer *w, uint64_t ts)
{
	jw_key(w, "ts");
	jw_thousandths(w, ts);
}

void chrome_put_head(struct json_writer *w, const char *name, const char *category, uint64_t ts)
{
	jw_field_string(w, "name", name);
	jw_field_string(w, "cat", category);
	chrome_put_time(w, ts);
}

void chrome_end_event(struct chrome_writer *c)
{
	jw_object_end(&c->w);
	if (c->w.used >= OUTFILE_BUFFER / 2)
		chrome_flush(c);
}

void chrome_put_name(struct chrome_writer *c, const char *what, uint64_t pid, bool has_tid,
		     uint64_t tid, const char *name)
{
	struct json_writer *w = chrome_begin_event(c, "M", pid, has_tid, tid);

	jw_field_string(w, "name", what);
	jw_key(w, "args");
	jw_object_begin(w);
	jw_field_string(w, "name", name);
	jw_object_end(w);
	chrome_end_event(c);
}

void chrome_writer_finish(struct chrome_writer *c)
{
	jw_array_end(&c->w);
	jw_object_end(&c->w);
	jw_newline(&c->w);
	chrome_flush(c);
}
