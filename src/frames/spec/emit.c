/* SPDX-License-Identifier: MIT */
/* emit.c - fill in the templates for one buffer. */
#include <stdlib.h>
#include <string.h>

#include "frames/spec/frames_abi.h"
#include "frames/spec/emit.h"
#include "frames/spec/template.h"
#include "frames/spec/templates.h"

#define VALUE_SIZE 320

/* State of one output file. */
struct emit_filling {
	const struct emit *e;
	char value[VALUE_SIZE]; /* of the last placeholder */
};

const char *emit_header_suffix(const struct desc *d)
{
	return emit_is_cpp(d) ? ".hh" : ".h";
}

const char *emit_source_suffix(const struct desc *d)
{
	return emit_is_cpp(d) ? ".cc" : ".c";
}

/* ---- placeholders ----------------------------------------------------------- */

static bool emit_has_value(const void *context, const char *word)
{
	const struct desc *d = ((const struct emit_filling *)context)->e->d;
	bool times = emit_has_type(d, DESC_TIME) || emit_has_type(d, DESC_TICKS);
	const struct {
		const char *word;
		bool holds;
	} words[] = {
		{ "c", !emit_is_cpp(d) },
		{ "cpp", emit_is_cpp(d) },
		{ "threads", d->multithread },
		{ "not_threads", !d->multithread },
		{ "counters", emit_has_type(d, DESC_COUNTER) },
		{ "native", !d->has_native_counter || d->native_counter },
		{ "debug", d->has_debug && d->debug },
		{ "resize", d->resize },
		{ "old", d->dialect == DESC_PPT },
		{ "stamps", d->stamps && d->dialect == DESC_SEED },
		{ "times", times },
		{ "timed", times || emit_has_type(d, DESC_COUNTER) },
		{ "ticks", d->time == DESC_COUNTER_CLOCK },
		{ "timespec", d->time == DESC_TIMESPEC },
		{ "timeval", d->time == DESC_TIMEVAL },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (!strcmp(word, words[i].word))
			return words[i].holds;
	}
	return false;
}

static const char *clock_macro(const struct desc *d)
{
	static const char *const names[][2] = {
		{ "realtime", "CLOCK_REALTIME" },
		{ "realtime_coarse", "CLOCK_REALTIME_COARSE" },
		{ "monotonic", "CLOCK_MONOTONIC" },
		{ "monotonic_coarse", "CLOCK_MONOTONIC_COARSE" },
		{ "monotonic_raw", "CLOCK_MONOTONIC_RAW" },
		{ "boottime", "CLOCK_BOOTTIME" },
		{ "proc_cputime", "CLOCK_PROCESS_CPUTIME_ID" },
		{ "thread_cputime", "CLOCK_THREAD_CPUTIME_ID" },
	};
	size_t i;

	for (i = 0; d->clock && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(d->clock, names[i][0]))
			return names[i][1];
	}
	return "CLOCK_MONOTONIC";
}

/* The spec's name goes into a comment and must not end it. */
static const char *emit_spec_name(struct emit_filling *f)
{
	const char *slash = strrchr(f->e->spec, '/'), *from = slash ? slash + 1 : f->e->spec;
	size_t i;

	for (i = 0; from[i] && i < 100; i++) {
		char c = from[i];
		bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			     (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';

		f->value[i] = plain ? c : '_';
	}
	f->value[i] = 0;
	return f->value;
}

static const char *emit_symbol(struct emit_filling *f, const char *kind)
{
	const struct desc *d = f->e->d;

	if (d->dialect == DESC_SEED)
		snprintf(f->value, sizeof(f->value), "__ppt_%s_%s", d->name, kind);
	else
		snprintf(f->value, sizeof(f->value), "_ppt_%s_%s", kind, d->name);
	return f->value;
}

static const char *a_number(struct emit_filling *f, uint32_t number)
{
	snprintf(f->value, sizeof(f->value), "%u", number);
	return f->value;
}

static const char *emit_value(const void *context, const char *word)
{
	struct emit_filling *f = (struct emit_filling *)context;
	const struct desc *d = f->e->d;

	if (!strcmp(word, "file"))
		return f->e->file;
	if (!strcmp(word, "buf") || !strcmp(word, "BUF"))
		return d->name;
	if (!strcmp(word, "generator"))
		return d->generator;
	if (!strcmp(word, "spec"))
		return emit_spec_name(f);
	if (!strcmp(word, "stride"))
		return a_number(f, d->stride);
	if (!strcmp(word, "back"))
		return a_number(f, d->frame_size - 4);
	if (!strncmp(word, "sym_", 4))
		return emit_symbol(f, word + 4);
	if (!strcmp(word, "ASSERT"))
		return emit_is_cpp(d) ? "static_assert" : "_Static_assert";
	if (!strcmp(word, "time_type"))
		return d->time == DESC_TIMEVAL ? "struct timeval" : "struct timespec";
	if (!strcmp(word, "clock"))
		return clock_macro(d);
	if (!strcmp(word, "who"))
		return d->multithread ? "any thread" : "one thread at a time";
	return NULL;
}

/* ---- the description as a literal --------------------------------------------- */

/* Escape everything that an editor, a trigraph or a quote could change. */
static int emit_put_escaped(FILE *out, unsigned char c)
{
	if (c == '"' || c == '\\' || c == '?')
		return fprintf(out, "\\%c", c);
	if (c < ' ' || c >= 0x7f)
		return fprintf(out, "\\%03o", c);
	fputc(c, out);
	return 1;
}

static bool emit_put_json(const struct emit *e, FILE *out)
{
	struct json_writer w;
	const char *text;
	size_t size, i;
	int columns = 0;

	jw_init_buffer(&w);
	desc_to_json(e->d, e->d->dialect, &w);
	text = jw_text(&w, &size);
	for (i = 0; text && i < size; i++) {
		if (!columns)
			fputs("\t\"", out);
		columns += emit_put_escaped(out, (unsigned char)text[i]);
		if (i + 1 < size && (columns >= 84 || (columns >= 60 && text[i] == ','))) {
			fputs("\"\n", out);
			columns = 0;
		}
	}
	fputs("\";\n", out);
	return jw_release(&w) == 0;
}

static bool emit_call(const void *context, const char *word, FILE *out)
{
	const struct emit *e = ((const struct emit_filling *)context)->e;

	if (!strcmp(word, "json"))
		return emit_put_json(e, out);
	if (!strcmp(word, "usage"))
		emit_usage(e, out);
	else if (!strcmp(word, "enums"))
		emit_enums(e, out);
	else if (!strcmp(word, "frames"))
		emit_frames(e, out);
	else if (!strcmp(word, "puts"))
		emit_puts(e, out);
	else if (!strcmp(word, "saves"))
		emit_saves(e, out);
	else
		return false;
	return true;
}

static int emit_fill(const struct emit *e, const unsigned char *text, size_t size, FILE *out)
{
	struct emit_filling f = { .e = e };
	const struct template_host host = { emit_has_value, emit_value, emit_call, &f };

	return template_write((const char *)text, size, &host, out);
}

int emit_header(const struct emit *e, FILE *out)
{
	if (emit_is_cpp(e->d))
		return emit_fill(e, template_ppt_hh, template_ppt_hh_size, out);
	return emit_fill(e, template_ppt_h, template_ppt_h_size, out);
}

int emit_source(const struct emit *e, FILE *out)
{
	return emit_fill(e, template_ppt_c, template_ppt_c_size, out);
}
