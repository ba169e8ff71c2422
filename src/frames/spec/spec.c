/* SPDX-License-Identifier: MIT */
/*
 * spec.c - parse a spec.
 *
 * This file has the grammar; spec_lex.c has the tokens, spec_names.c the names.  The first error
 * ends the parse, with its location: duplicate names, text after the last frame.
 */
#include "frames/spec/spec.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frames/spec/frames_abi.h"
#include "frames/spec/spec_lex.h"
#include "frames/spec/spec_names.h"

struct spec_enum {
	char name[SPEC_NAME_MAX + 1];
	const char *where;
	struct desc_enum_value *values;
	size_t nr_values;
};

struct parser {
	struct desc *d;
	struct lexer lex;
	/* Options that were given. */
	bool has_emit, has_buffer, has_time, has_runtime, has_resize, overriding;
	struct spec_enum *enums;
	size_t nr_enums;
	struct spec_symbols symbols;
};

/* ---- helpers -------------------------------------------------------------------- */

static bool spec_semicolon(struct parser *p)
{
	if (p->overriding) {
		if (lex_is_sign(&p->lex, ";"))
			lex_advance(&p->lex);
		return p->lex.token == TOKEN_END || lex_expected(&p->lex, "the end of the option");
	}
	return lex_take_sign(&p->lex, ";", "';'");
}

static bool set_text(struct parser *p, char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	return *to || lex_no_memory(&p->lex);
}

/* ---- options ---------------------------------------------------------------- */

static bool spec_boolean(struct parser *p, bool *out)
{
	*out = lex_is_word(&p->lex, "true") || lex_is_word(&p->lex, "True");
	if (!*out && !lex_is_word(&p->lex, "false") && !lex_is_word(&p->lex, "False"))
		return lex_expected(&p->lex, "true or false");
	return lex_advance(&p->lex);
}

static bool spec_once(struct parser *p, bool *has, const char *what, const char *where)
{
	if (*has && !p->overriding)
		return lex_fail_at(&p->lex, where, "%s was said before", what);
	*has = true;
	return true;
}

static bool clock_name(struct parser *p)
{
	/* The existing ppt tool accepts only the misspelling "monotonic_course". */
	static const char *const words[][2] = {
		{ "realtime", "realtime" },
		{ "realtime_coarse", "realtime_coarse" },
		{ "realtime_course", "realtime_coarse" },
		{ "monotonic", "monotonic" },
		{ "monotonic_coarse", "monotonic_coarse" },
		{ "monotonic_course", "monotonic_coarse" },
		{ "monotonic_raw", "monotonic_raw" },
		{ "boottime", "boottime" },
		{ "proc_cputime", "proc_cputime" },
		{ "thread_cputime", "thread_cputime" },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (lex_is_word(&p->lex, words[i][0]))
			return set_text(p, &p->d->clock, words[i][1]) && lex_advance(&p->lex);
	}
	lex_expected(&p->lex, "a clock");
	return lex_hint(&p->lex,
			"realtime, realtime_coarse, monotonic, monotonic_coarse, monotonic_raw, "
			"boottime, proc_cputime or thread_cputime");
}

static bool option_time(struct parser *p, const char *where)
{
	if (!spec_once(p, &p->has_time, "the time's representation", where))
		return false;
	if (lex_is_word(&p->lex, "timeval")) {
		p->d->time = DESC_TIMEVAL;
		return lex_advance(&p->lex);
	}
	if (lex_is_word(&p->lex, "counter")) {
		p->d->time = DESC_COUNTER_CLOCK;
		return lex_advance(&p->lex);
	}
	if (!lex_is_word(&p->lex, "timespec"))
		return lex_expected(&p->lex, "timespec, timeval or counter");
	p->d->time = DESC_TIMESPEC;
	return lex_advance(&p->lex) && clock_name(p);
}

static bool option_runtime(struct parser *p, const char *where)
{
	if (!lex_is_word(&p->lex, "multithread"))
		return lex_expected(&p->lex, "multithread");
	if (!spec_once(p, &p->has_runtime, "multithread", where))
		return false;
	return lex_advance(&p->lex) && spec_boolean(p, &p->d->multithread);
}

static bool option_buffer(struct parser *p, const char *where)
{
	if (!lex_is_word(&p->lex, "resize"))
		return lex_expected(&p->lex, "resize");
	if (!spec_once(p, &p->has_resize, "resize", where) || !lex_advance(&p->lex))
		return false;
	if (!lex_is_word(&p->lex, "on") && !lex_is_word(&p->lex, "off"))
		return lex_expected(&p->lex, "on or off");
	p->d->resize = lex_is_word(&p->lex, "on");
	return lex_advance(&p->lex);
}

/* A word, a number or a quoted text; empty before ';'. */
static bool tag_text(struct parser *p, char **out)
{
	if (p->lex.token == TOKEN_SIGN || p->lex.token == TOKEN_END) {
		*out = strdup("");
		return *out || lex_no_memory(&p->lex);
	}
	if (memchr(p->lex.start, 0, p->lex.len))
		return lex_fail_at(&p->lex, p->lex.start, "a tag does not hold a NUL");
	*out = strndup(p->lex.start, p->lex.len);
	return (*out || lex_no_memory(&p->lex)) && lex_advance(&p->lex);
}

static bool option_tag(struct parser *p)
{
	struct desc_tag *tags = lex_grow(&p->lex, p->d->tags, p->d->nr_tags, sizeof(*tags));

	if (!tags)
		return false;
	p->d->tags = tags;
	tags += p->d->nr_tags++;
	if (!tag_text(p, &tags->key) || !tag_text(p, &tags->value)) {
		/* The tag is in the list, so desc_release() frees it. */
		return false;
	}
	return true;
}

static bool spec_option(struct parser *p)
{
	const char *where = p->lex.start;

	if (lex_is_word(&p->lex, "time"))
		return lex_advance(&p->lex) && option_time(p, where);
	if (lex_is_word(&p->lex, "runtime"))
		return lex_advance(&p->lex) && option_runtime(p, where);
	if (lex_is_word(&p->lex, "buffer"))
		return lex_advance(&p->lex) && option_buffer(p, where);
	if (lex_is_word(&p->lex, "tag"))
		return lex_advance(&p->lex) && option_tag(p);
	if (lex_is_word(&p->lex, "native_counter")) {
		p->d->has_native_counter = true;
		return lex_advance(&p->lex) && spec_boolean(p, &p->d->native_counter);
	}
	if (lex_is_word(&p->lex, "debug")) {
		p->d->has_debug = true;
		return lex_advance(&p->lex) && spec_boolean(p, &p->d->debug);
	}
	lex_expected(&p->lex, "an option");
	return lex_hint(&p->lex,
			"time, runtime multithread, buffer resize, native_counter, debug or tag");
}

/* ---- header lines ------------------------------------------------------------ */

static bool spec_emit(struct parser *p, const char *where)
{
	if (!spec_once(p, &p->has_emit, "the language", where))
		return false;
	if (!lex_is_word(&p->lex, "C") && !lex_is_word(&p->lex, "C++"))
		return lex_expected(&p->lex, "C or C++");
	return set_text(p, &p->d->language, lex_is_word(&p->lex, "C") ? "C" : "C++") &&
	       lex_advance(&p->lex) && spec_semicolon(p);
}

static bool spec_buffer(struct parser *p, const char *where)
{
	char text[SPEC_NAME_MAX + 1];

	if (!spec_once(p, &p->has_buffer, "the buffer", where) ||
	    !spec_name(&p->lex, text, "the buffer's name") || !set_text(p, &p->d->name, text))
		return false;
	if (lex_is_word(&p->lex, "default"))
		return lex_advance(&p->lex) && spec_semicolon(p);
	p->d->has_min_slots = true;
	return lex_number(&p->lex, 1, PPT_SLOTS_MAX, "the buffer's size", &p->d->min_slots) &&
	       spec_semicolon(p);
}

static const struct spec_enum *find_enum(const struct parser *p)
{
	size_t i;

	for (i = 0; i < p->nr_enums; i++) {
		if (lex_is_word(&p->lex, p->enums[i].name))
			return &p->enums[i];
	}
	return NULL;
}

static bool enum_value(struct parser *p, struct spec_enum *e, int64_t *next)
{
	struct desc_enum_value *values = lex_grow(&p->lex, e->values, e->nr_values,
						  sizeof(*values));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->lex.start;
	uint64_t value;
	bool minus;
	size_t i;

	if (!values)
		return false;
	e->values = values;
	if (!spec_name(&p->lex, text, "a name or '}'"))
		return false;
	for (i = 0; i < e->nr_values; i++) {
		if (!strcmp(values[i].name, text))
			return lex_fail_at(&p->lex, where, "'%s' is in this enum before", text);
	}
	values[e->nr_values].name = strdup(text);
	if (!values[e->nr_values].name)
		return lex_no_memory(&p->lex);
	e->nr_values++;
	if (!spec_symbol_add(&p->symbols, &p->lex, where, e->name, text))
		return false;
	if (lex_is_sign(&p->lex, "=")) {
		if (!lex_advance(&p->lex))
			return false;
		minus = lex_is_sign(&p->lex, "-");
		if (minus && !lex_advance(&p->lex))
			return false;
		where = p->lex.start;
		if (!lex_number(&p->lex, 0, (uint64_t)INT32_MAX + minus, "an enum's value", &value))
			return false;
		*next = minus ? -(int64_t)value : (int64_t)value;
	}
	if (*next > INT32_MAX)
		return lex_fail_at(&p->lex, where, "this value does not fit into 32 bits");
	values[e->nr_values - 1].value = (int32_t)(*next)++;
	return true;
}

static bool spec_enumeration(struct parser *p)
{
	struct spec_enum *e = lex_grow(&p->lex, p->enums, p->nr_enums, sizeof(*e));
	int64_t next = 0;

	if (!e)
		return false;
	p->enums = e;
	if (find_enum(p))
		return lex_fail_at(&p->lex, p->lex.start, "there is an enum of this name before");
	e += p->nr_enums++;
	e->where = p->lex.start;
	if (!spec_name(&p->lex, e->name, "the enum's name") || !lex_take_sign(&p->lex, "{", "'{'"))
		return false;
	do {
		if (lex_is_sign(&p->lex, "}"))
			break;
		if (e->nr_values >= 1000)
			return lex_fail_at(&p->lex, p->lex.start,
					   "an enum with more than 1000 values");
		if (!enum_value(p, e, &next))
			return false;
	} while (lex_is_sign(&p->lex, ",") && lex_advance(&p->lex));
	if (!e->nr_values)
		return lex_fail_at(&p->lex, p->lex.start, "an enum without values");
	return lex_take_sign(&p->lex, "}", "',' or '}'") && spec_semicolon(p);
}

/* ---- frames ------------------------------------------------------------------ */

static bool member_type(struct parser *p, struct desc_member *m, const struct spec_enum **e)
{
	static const struct {
		const char *word;
		enum desc_type type;
	} words[] = {
		{ "int", DESC_INT32 },       { "float", DESC_FLOAT },   { "double", DESC_DOUBLE },
		{ "counter", DESC_COUNTER }, { "int8", DESC_INT8 },     { "int16", DESC_INT16 },
		{ "int32", DESC_INT32 },     { "int64", DESC_INT64 },   { "uint8", DESC_UINT8 },
		{ "uint16", DESC_UINT16 },   { "uint32", DESC_UINT32 }, { "uint64", DESC_UINT64 },
		{ "uint", DESC_UINT32 },     { "bool", DESC_BOOL },     { "string", DESC_STRING },
	};
	size_t i;

	if (lex_is_word(&p->lex, "time")) {
		m->type = p->d->time == DESC_COUNTER_CLOCK ? DESC_TICKS : DESC_TIME;
		return lex_advance(&p->lex);
	}
	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (lex_is_word(&p->lex, words[i].word)) {
			m->type = words[i].type;
			return lex_advance(&p->lex);
		}
	}
	if (!lex_is_word(&p->lex, "enum")) {
		lex_expected(&p->lex, "a type");
		return lex_hint(
			&p->lex,
			"int, uint, int8 to int64, uint8 to uint64, float, double, bool, time, "
			"counter, string NAME[N] or enum NAME");
	}
	m->type = DESC_ENUM;
	if (!lex_advance(&p->lex))
		return false;
	*e = find_enum(p);
	if (!*e)
		return lex_expected(&p->lex, "an enum that was declared before");
	return lex_advance(&p->lex);
}

static bool copy_enum(struct parser *p, struct desc_member *m, const struct spec_enum *e)
{
	size_t i;

	if (!set_text(p, &m->type_name, e->name))
		return false;
	m->values = calloc(e->nr_values, sizeof(*m->values));
	if (!m->values)
		return lex_no_memory(&p->lex);
	for (i = 0; i < e->nr_values; i++) {
		m->values[i].value = e->values[i].value;
		m->values[i].name = strdup(e->values[i].name);
		if (!m->values[i].name)
			return lex_no_memory(&p->lex);
		m->nr_values = i + 1;
	}
	return true;
}

static bool spec_length(struct parser *p, struct desc_member *m, const char *where)
{
	uint64_t count;

	m->count = 1;
	if (!lex_is_sign(&p->lex, "[")) {
		if (m->type != DESC_STRING)
			return true;
		lex_fail_at(&p->lex, where, "a string has a length");
		return lex_hint(&p->lex, "string path[32];");
	}
	if (m->type == DESC_TIME || m->type == DESC_TICKS || m->type == DESC_COUNTER)
		return lex_fail_at(&p->lex, p->lex.start,
				   "arrays of times or counters are not supported");
	if (m->interval)
		return lex_fail_at(&p->lex, p->lex.start,
				   "an interval has a start and an end, not a length");
	if (!lex_advance(&p->lex) || !lex_number(&p->lex, 1, 65536, "a length", &count))
		return false;
	m->count = (uint32_t)count;
	m->is_array = m->type != DESC_STRING;
	return lex_take_sign(&p->lex, "]", "']'");
}

/* The names that @m takes in its frame, by index; NULL after the last. */
static const char *spec_name_of(const struct desc_member *m, unsigned i,
				char buf[DESC_NAME_MAX + 32])
{
	static const char *const interval[] = { "_start", "_end" };
	bool timed = m->type == DESC_TIME || m->type == DESC_TICKS || m->type == DESC_COUNTER;
	unsigned ends = m->interval ? 2 : 1, fields = m->type == DESC_COUNTER ? 3 * ends : ends;

	if (i < fields && m->type == DESC_COUNTER)
		snprintf(buf, DESC_NAME_MAX + 32, "%s_%u%s", m->name, i / ends,
			 m->interval ? interval[i % 2] : "");
	else if (i < fields)
		snprintf(buf, DESC_NAME_MAX + 32, "%s%s", m->name, m->interval ? interval[i] : "");
	else if (timed && i < fields + ends)
		snprintf(buf, DESC_NAME_MAX + 32, "snapshot_%s%s", m->name,
			 m->interval ? interval[i - fields] : "");
	else
		return NULL;
	return buf;
}

/* Check that no name of @m collides with an earlier member or with generated code. */
static bool names_free(struct parser *p, const struct desc_frame *f, const char *where)
{
	const struct desc_member *m = &f->members[f->nr_members - 1];
	char mine[DESC_NAME_MAX + 32], theirs[DESC_NAME_MAX + 32];
	unsigned i, k;
	size_t j;

	for (i = 0; spec_name_of(m, i, mine); i++) {
		if (!strcmp(mine, "save") || !strcmp(mine, "save_"))
			return lex_fail_at(&p->lex, where, "'save' is what frames are saved with");
		if (!strcmp(mine, f->name) && !strcmp(p->d->language, "C++"))
			return lex_fail_at(&p->lex, where,
					   "a member is not called like its class in C++");
		if (!strcmp(mine, "attached") || !strcmp(mine, "now_"))
			return lex_fail_at(&p->lex, where, "'%s' is the name of a function", mine);
		for (j = 0; j + 1 < f->nr_members; j++) {
			for (k = 0; spec_name_of(&f->members[j], k, theirs); k++) {
				if (strcmp(mine, theirs) != 0)
					continue;
				if (!strcmp(m->name, f->members[j].name))
					return lex_fail_at(&p->lex, where,
							   "'%s' is in this frame before", m->name);
				return lex_fail_at(&p->lex, where, "'%s' and '%s' both become '%s'",
						   f->members[j].name, m->name, mine);
			}
		}
	}
	return true;
}

static bool add_snapshots(struct parser *p, const struct desc_frame *f, const char *where)
{
	char text[DESC_NAME_MAX + 32];
	unsigned i;

	for (i = 0; spec_name_of(&f->members[f->nr_members - 1], i, text); i++) {
		if (!strncmp(text, "snapshot_", 9) &&
		    !spec_symbol_add(&p->symbols, &p->lex, where, f->name, text))
			return false;
	}
	return true;
}

/* One of the names after a type; *@like has the type. */
static bool one_member(struct parser *p, struct desc_frame *f, const struct desc_member *like,
		       const struct spec_enum *e)
{
	struct desc_member *m = lex_grow(&p->lex, f->members, f->nr_members, sizeof(*m));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->lex.start;

	if (!m)
		return false;
	f->members = m;
	m += f->nr_members;
	m->type = like->type;
	m->interval = like->interval;
	if (f->nr_members >= 400)
		return lex_fail_at(&p->lex, where, "a frame with more than 400 members");
	if (!spec_name(&p->lex, text, "a name"))
		return false;
	m->name = strdup(text);
	if (!m->name)
		return lex_no_memory(&p->lex);
	f->nr_members++;
	if (e && !copy_enum(p, m, e))
		return false;
	return names_free(p, f, where) && add_snapshots(p, f, where) && spec_length(p, m, where);
}

static bool spec_member(struct parser *p, struct desc_frame *f)
{
	struct desc_member like = { 0 };
	const struct spec_enum *e = NULL;
	const char *where;

	like.interval = lex_is_word(&p->lex, "interval");
	if (like.interval && !lex_advance(&p->lex))
		return false;
	where = p->lex.start;
	if (!member_type(p, &like, &e))
		return false;
	if (like.interval &&
	    (like.type == DESC_STRING || like.type == DESC_BOOL || like.type == DESC_ENUM)) {
		lex_fail_at(&p->lex, where, "intervals of this type are not supported");
		return lex_hint(&p->lex, "an interval is of numbers, times or counters");
	}
	if (!one_member(p, f, &like, e))
		return false;
	while (lex_is_sign(&p->lex, ",")) {
		if (!lex_advance(&p->lex) || !one_member(p, f, &like, e))
			return false;
	}
	return lex_take_sign(&p->lex, ";", "',' or ';'");
}

static bool spec_frame(struct parser *p)
{
	struct desc_frame *f = lex_grow(&p->lex, p->d->frames, p->d->nr_frames, sizeof(*f));
	char text[SPEC_NAME_MAX + 1];
	const char *where = p->lex.start;
	size_t i;

	if (!f)
		return false;
	p->d->frames = f;
	if (p->d->nr_frames >= DESC_FRAMES_MAX)
		return lex_fail_at(&p->lex, where, "more than %d frames", DESC_FRAMES_MAX);
	if (!spec_name(&p->lex, text, "the frame's name"))
		return false;
	for (i = 0; i < p->d->nr_frames; i++) {
		if (!strcmp(f[i].name, text))
			return lex_fail_at(&p->lex, where, "there is a frame '%s' before", text);
	}
	for (i = 0; i < p->nr_enums; i++) {
		if (!strcmp(p->enums[i].name, text))
			return lex_fail_at(&p->lex, where, "there is an enum '%s' before", text);
	}
	if (!spec_type_name_free(&p->lex, p->d, text, where) ||
	    !spec_symbol_add(&p->symbols, &p->lex, where, text, "save") ||
	    !spec_symbol_add(&p->symbols, &p->lex, where, text, "save_"))
		return false;
	f += p->d->nr_frames;
	f->name = strdup(text);
	if (!f->name)
		return lex_no_memory(&p->lex);
	p->d->nr_frames++;
	if (!lex_take_sign(&p->lex, "{", "'{'"))
		return false;
	while (!lex_is_sign(&p->lex, "}")) {
		if (p->lex.token == TOKEN_END)
			return lex_expected(&p->lex, "a member or '}'");
		if (!spec_member(p, f))
			return false;
	}
	return lex_advance(&p->lex);
}

/* ---- the file ----------------------------------------------------------------- */

static bool spec_header(struct parser *p)
{
	const char *where = p->lex.start;

	if (lex_is_word(&p->lex, "emit"))
		return lex_advance(&p->lex) && spec_emit(p, where);
	if (lex_is_word(&p->lex, "buffer"))
		return lex_advance(&p->lex) && spec_buffer(p, where);
	if (lex_is_word(&p->lex, "enum"))
		return lex_advance(&p->lex) && spec_enumeration(p);
	if (lex_is_word(&p->lex, "option"))
		return lex_advance(&p->lex) && spec_option(p) && spec_semicolon(p);
	lex_expected(&p->lex, "emit, buffer, option, enum or frame");
	if (lex_is_sign(&p->lex, ";"))
		lex_hint(&p->lex, "no ';' goes behind a frame's '}'");
	return false;
}

static bool spec_late(struct parser *p)
{
	lex_fail_at(&p->lex, p->lex.start, "'%.*s' comes before the first frame", (int)p->lex.len,
		    p->lex.start);
	return false;
}

static bool spec_file(struct parser *p)
{
	size_t i;

	if (!lex_advance(&p->lex))
		return false;
	while (p->lex.token != TOKEN_END && !lex_is_word(&p->lex, "frame")) {
		if (!spec_header(p))
			return false;
	}
	if (!p->has_emit) {
		lex_fail_at(&p->lex, p->lex.start, "the language is missing");
		return lex_hint(&p->lex, "emit C; or emit C++;");
	}
	if (p->lex.token == TOKEN_END)
		return lex_fail_at(&p->lex, p->lex.start, "no frames");
	for (i = 0; i < p->nr_enums; i++) {
		if (!spec_type_name_free(&p->lex, p->d, p->enums[i].name, p->enums[i].where))
			return false;
	}
	while (p->lex.token != TOKEN_END) {
		if (lex_is_word(&p->lex, "emit") || lex_is_word(&p->lex, "buffer") ||
		    lex_is_word(&p->lex, "option") || lex_is_word(&p->lex, "enum"))
			return spec_late(p);
		if (!lex_is_word(&p->lex, "frame")) {
			lex_expected(&p->lex, "frame or the end");
			if (lex_is_sign(&p->lex, ";"))
				lex_hint(&p->lex, "no ';' goes behind a frame's '}'");
			return false;
		}
		if (!lex_advance(&p->lex) || !spec_frame(p))
			return false;
	}
	return spec_symbols_differ(&p->symbols, &p->lex, p->d);
}

static void names_release(struct parser *p)
{
	size_t i, j;

	for (i = 0; i < p->nr_enums; i++) {
		for (j = 0; j < p->enums[i].nr_values; j++)
			free(p->enums[i].values[j].name);
		free(p->enums[i].values);
	}
	free(p->enums);
	spec_symbols_release(&p->symbols);
}

int spec_parse(struct desc *d, const char *text, size_t size, struct spec_error *error)
{
	struct parser p = {
		.d = d,
		.lex = { .error = error,
			 .text = text,
			 .end = text + size,
			 .at = text,
			 .start = text },
	};

	memset(d, 0, sizeof(*d));
	memset(error, 0, sizeof(*error));
	d->time = DESC_TIMESPEC;
	d->extended = d->stamps = true;
	if (!set_text(&p, &d->abi, PPT_ABI) || !set_text(&p, &d->name, "unlisted") ||
	    !set_text(&p, &d->language, "C") || !set_text(&p, &d->clock, "monotonic"))
		p.lex.code = -ENOMEM;
	else if (size > SPEC_SIZE_MAX)
		lex_fail_at(&p.lex, text, "a spec of more than %u bytes", SPEC_SIZE_MAX);
	else
		spec_file(&p);
	names_release(&p);
	if (p.lex.code)
		desc_release(d);
	return p.lex.code;
}

/* The option applies to the time members of all frames. */
static void retype_times(struct desc *d)
{
	size_t i, j;

	for (i = 0; i < d->nr_frames; i++) {
		for (j = 0; j < d->frames[i].nr_members; j++) {
			enum desc_type *type = &d->frames[i].members[j].type;

			if (*type == DESC_TIME || *type == DESC_TICKS)
				*type = d->time == DESC_COUNTER_CLOCK ? DESC_TICKS : DESC_TIME;
		}
	}
}

int spec_override(struct desc *d, const char *words, struct spec_error *error)
{
	struct parser p = {
		.d = d,
		.lex = { .error = error,
			 .text = words,
			 .at = words,
			 .start = words,
			 .end = words + strlen(words) },
		.overriding = true,
	};

	memset(error, 0, sizeof(*error));
	if (lex_advance(&p.lex) && spec_option(&p))
		spec_semicolon(&p);
	retype_times(d);
	return p.lex.code;
}

int spec_add_tag(struct desc *d, const char *key, const char *value)
{
	struct desc_tag *tags = reallocarray(d->tags, d->nr_tags + 1, sizeof(*tags));

	if (!tags)
		return -ENOMEM;
	d->tags = tags;
	tags[d->nr_tags].key = strdup(key);
	tags[d->nr_tags].value = strdup(value);
	d->nr_tags++;
	return tags[d->nr_tags - 1].key && tags[d->nr_tags - 1].value ? 0 : -ENOMEM;
}
