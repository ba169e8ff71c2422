/* SPDX-License-Identifier: MIT */
/*
 * layout_json_read.c - parse a description from untrusted JSON.
 *
 * The text comes from another process or a file.  Everything is checked here, so that other code
 * can rely on the description (the invariants are in layout_json.h).  Unknown parts are skipped
 * where possible; contradictions are errors.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "base/text.h"
#include "frames/spec/layout_json.h"

struct layout_reading {
	struct desc *d;
	struct err *err;
	const char *frame; /* current frame, for messages; NULL: none */
	int code;          /* the first error */
};

/* ---- errors --------------------------------------------------------------- */

static bool layout_json_read_refuse(struct layout_reading *r, const char *what)
{
	if (r->code)
		return false;
	if (r->frame)
		r->code = err_set(r->err, -EPROTO, "the description's frame '%s' is invalid: %s",
				  r->frame, what);
	else
		r->code = err_set(r->err, -EPROTO, "the description is invalid: %s", what);
	err_hint(r->err, "it was not written by a generator that we know, or something else "
			 "has written over it");
	return false;
}

static bool layout_json_read_no_memory(struct layout_reading *r)
{
	if (!r->code)
		r->code = err_set(r->err, -ENOMEM, "no memory for a buffer's description");
	return false;
}

static bool layout_json_read_copy(struct layout_reading *r, char **to, const char *text)
{
	free(*to);
	*to = strdup(text);
	return *to || layout_json_read_no_memory(r);
}

/*
 * Letters, digits and underscores.  The existing ppt tool allows letters beyond ASCII;
 * characters that change how the surrounding text is displayed are rejected.
 */
static bool is_name(const char *text)
{
	size_t i;

	if (!text || !*text || (*text >= '0' && *text <= '9') || text_has_unsafe(text))
		return false;
	for (i = 0; text[i]; i++) {
		unsigned char c = (unsigned char)text[i];

		if (i >= DESC_NAME_MAX ||
		    !(c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
		      (c >= 'A' && c <= 'Z') || c >= 0x80))
			return false;
	}
	return true;
}

static bool layout_json_read_copy_name(struct layout_reading *r, char **to, const json_t *value,
				       const char *what)
{
	const char *text = json_string_value(value);

	/* jansson allows no NUL in a string by default. */
	if (!is_name(text))
		return layout_json_read_refuse(r, what);
	return layout_json_read_copy(r, to, text);
}

static bool layout_json_read_get_u32(const json_t *object, const char *key, uint32_t max,
				     uint32_t *out)
{
	const json_t *value = json_object_get(object, key);
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < 0 || (uint64_t)number > max)
		return false;
	*out = (uint32_t)number;
	return true;
}

static const char *get_text(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

/* "" if there is no tag, so that it can be compared. */
static const char *tag_of(const json_t *object)
{
	const char *tag = get_text(object, "tag");

	return tag ? tag : "";
}

static const json_t *layout_json_read_contents(const json_t *object, size_t i)
{
	return json_array_get(json_object_get(object, "contents"), i);
}

/* ---- types ---------------------------------------------------------------- */

static bool type_by_name(const char *name, enum desc_type *type)
{
	int i;

	for (i = 0; name && i < DESC_BYTES; i++) {
		if (!strcmp(name, desc_type_name((enum desc_type)i))) {
			*type = (enum desc_type)i;
			return true;
		}
	}
	return false;
}

/* Parse a type of the existing ppt tool.  *@counter: index of an expanded counter. */
static bool classic_type(const json_t *ty, enum desc_type *type, uint32_t *counter)
{
	const char *tag = tag_of(ty), *word = json_string_value(layout_json_read_contents(ty, 0));

	if (!strcmp(tag, "PIntegral") && word && !strcmp(word, "PPInt"))
		*type = DESC_INT32;
	else if (!strcmp(tag, "PRational") && word && !strcmp(word, "PPDouble"))
		*type = DESC_DOUBLE;
	else if (!strcmp(tag, "PRational") && word && !strcmp(word, "PPFloat"))
		*type = DESC_FLOAT;
	else if (!strcmp(tag, "PTime"))
		*type = DESC_TIME;
	else if (!strcmp(tag, "PCounter"))
		*type = DESC_COUNTER;
	else
		return false;
	if (*type == DESC_COUNTER &&
	    !layout_json_read_get_u32(layout_json_read_contents(ty, 0), "contents", 2, counter))
		*counter = 0;
	return true;
}

/* Read the names of an enum into @values and @nr. */
static bool read_values(struct layout_reading *r, const json_t *object, char **type_name,
			struct desc_enum_value **values, size_t *nr)
{
	const json_t *list = json_object_get(object, "values");
	size_t i, n = json_array_size(list);

	if (!layout_json_read_copy_name(r, type_name, json_object_get(object, "enum"),
					"an enum has no name"))
		return false;
	if (n > DESC_FIELDS_MAX)
		return layout_json_read_refuse(r, "an enum has too many values");
	*values = calloc(n ? n : 1, sizeof(**values));
	if (!*values)
		return layout_json_read_no_memory(r);
	for (i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i), *number = json_array_get(pair, 1);
		json_int_t value = json_integer_value(number);

		if (!json_is_integer(number) || value < INT32_MIN || value > INT32_MAX)
			return layout_json_read_refuse(r, "an enum's value is no 32-bit number");
		if (!layout_json_read_copy_name(r, &(*values)[i].name, json_array_get(pair, 0),
						"an enum's value has no name"))
			return false;
		(*values)[i].value = (int32_t)value;
		*nr = i + 1;
	}
	return true;
}

/* ---- fields --------------------------------------------------------------- */

static bool is_interval_end(const char *role)
{
	return role && !strcmp(role, "end");
}

static bool is_interval_start(const char *role)
{
	return role && !strcmp(role, "start");
}

static bool foreign_field(struct layout_reading *r, struct desc_field *f, const char *type)
{
	f->role = DESC_FOREIGN;
	f->type = DESC_BYTES;
	f->count = f->size;
	f->is_array = true;
	return layout_json_read_copy(r, &f->type_name, type && is_name(type) ? type : "unknown");
}

/* A field of the extension, hidden from older readers. */
static bool ext_field(struct layout_reading *r, struct desc_field *f, const json_t *ext)
{
	const char *type = get_text(ext, "type"), *role = get_text(ext, "role");
	uint32_t one;

	if (!layout_json_read_copy_name(r, &f->name, json_object_get(ext, "name"),
					"a field has no name") ||
	    !layout_json_read_copy_name(r, &f->member, json_object_get(ext, "member"),
					"a field has no member"))
		return false;
	if (layout_json_read_get_u32(ext, "align", 64, &f->align) &&
	    (!f->align || (f->align & (f->align - 1))))
		return layout_json_read_refuse(r, "an alignment is no power of two");
	if (!type_by_name(type, &f->type))
		return foreign_field(r, f, type);
	f->role = is_interval_start(role) ? DESC_START
		  : is_interval_end(role) ? DESC_END
					  : DESC_PLAIN;
	f->is_array = layout_json_read_get_u32(ext, "count", DESC_FRAME_MAX, &f->count) &&
		      f->type != DESC_STRING;
	if (!json_object_get(ext, "count"))
		f->count = 1;
	one = desc_type_size(f->type);
	if (!f->count || (uint64_t)f->count * one != f->size)
		return layout_json_read_refuse(r, "a field's size does not fit its type");
	if (f->type == DESC_ENUM)
		return read_values(r, ext, &f->type_name, &f->values, &f->nr_values);
	return true;
}

/* LKMember [member, null or interval] */
static bool member_field(struct layout_reading *r, struct desc_field *f, const json_t *entry)
{
	const json_t *kind = json_object_get(entry, "_lKind"),
		     *ty = json_object_get(entry, "_lType");
	const json_t *interval = layout_json_read_contents(kind, 1);

	if (!layout_json_read_copy_name(
		    r, &f->member, json_object_get(layout_json_read_contents(kind, 0), "fmName"),
		    "a member has no name"))
		return false;
	if (!classic_type(ty, &f->type, &f->counter))
		return foreign_field(r, f, tag_of(ty));
	f->role = !strcmp(tag_of(interval), "IntBegin") ? DESC_START
		  : !strcmp(tag_of(interval), "IntEnd") ? DESC_END
							: DESC_PLAIN;
	f->count = 1;
	if (f->size != desc_type_size(f->type))
		return layout_json_read_refuse(r, "a field's size does not fit its type");
	return true;
}

static bool hidden_field(struct desc_field *f, enum desc_role role)
{
	f->role = role;
	f->type = DESC_UINT32;
	f->count = 1;
	return true;
}

static bool read_kind(struct layout_reading *r, struct desc_field *f, const json_t *entry)
{
	const json_t *kind = json_object_get(entry, "_lKind"), *ext = json_object_get(entry, "ext");
	const char *tag = tag_of(kind), *which = get_text(kind, "contents");

	if (!strcmp(tag, "LKSeqno") && which && !strcmp(which, "FrontSeq"))
		return hidden_field(f, DESC_FRONT_SEQ);
	if (!strcmp(tag, "LKSeqno") && which && !strcmp(which, "BackSeq"))
		return hidden_field(f, DESC_BACK_SEQ);
	if (!strcmp(tag, "LKTypeDescrim"))
		return hidden_field(f, DESC_FRAME_TYPE);
	if (json_is_object(ext))
		return ext_field(r, f, ext);
	if (!strcmp(tag, "LKMember"))
		return member_field(r, f, entry);
	if (strcmp(tag, "LKPadding") != 0)
		return foreign_field(r, f, tag);
	f->role = DESC_PADDING;
	f->type = DESC_BYTES;
	f->count = f->size;
	return true;
}

/* The existing ppt tool gives the three fields of a plain counter the same name. */
static bool name_field(struct layout_reading *r, struct desc_field *f)
{
	char name[DESC_NAME_MAX + 16];
	size_t len;

	if (f->type != DESC_COUNTER || f->role != DESC_PLAIN || strcmp(f->name, f->member) != 0)
		return true;
	len = strlen(f->name);
	if (len + 2 > DESC_NAME_MAX)
		return layout_json_read_refuse(r, "a name is too long");
	memcpy(name, f->name, len);
	name[len] = '_';
	name[len + 1] = (char)('0' + f->counter);
	name[len + 2] = 0;
	return layout_json_read_copy(r, &f->name, name);
}

static bool read_field(struct layout_reading *r, struct desc_field *f, const json_t *entry)
{
	if (!layout_json_read_copy_name(r, &f->name, json_object_get(entry, "_lName"),
					"a field has no name"))
		return false;
	if (!layout_json_read_get_u32(entry, "_lOffset", DESC_FRAME_MAX, &f->offset) ||
	    !layout_json_read_get_u32(entry, "_lSize", DESC_FRAME_MAX, &f->size) || !f->size)
		return layout_json_read_refuse(r, "a field has no place");
	if (!layout_json_read_get_u32(entry, "_lAlignment", 64, &f->align) || !f->align)
		f->align = 1;
	return read_kind(r, f, entry) && name_field(r, f);
}

/* ---- frames --------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool all_different(struct layout_reading *r, const char **names, size_t nr, const char *what)
{
	size_t i;

	qsort(names, nr, sizeof(*names), by_name);
	for (i = 1; i < nr; i++) {
		if (!strcmp(names[i - 1], names[i]))
			return layout_json_read_refuse(r, what);
	}
	return true;
}

static bool check_names(struct layout_reading *r, const struct desc_frame *f)
{
	const char **names = calloc(f->nr_fields, sizeof(*names));
	size_t i;
	bool ok;

	if (!names)
		return layout_json_read_no_memory(r);
	for (i = 0; i < f->nr_fields; i++)
		names[i] = f->fields[i].name;
	ok = all_different(r, names, f->nr_fields, "two fields have the same name");
	free(names);
	return ok;
}

/* Check that hidden fields are at their offsets, and that no fields overlap. */
static bool layout_json_read_check_places(struct layout_reading *r, const struct desc_frame *f,
					  bool has_type)
{
	size_t i, last = f->nr_fields - 1;
	uint32_t end = 0;

	for (i = 0; i <= last; i++) {
		const struct desc_field *field = &f->fields[i];
		enum desc_role want = i == 0               ? DESC_FRONT_SEQ
				      : i == last          ? DESC_BACK_SEQ
				      : i == 1 && has_type ? DESC_FRAME_TYPE
							   : DESC_PLAIN;
		bool hidden = field->role <= DESC_BACK_SEQ;

		if (want <= DESC_BACK_SEQ ? field->role != want || field->size != 4 : hidden)
			return layout_json_read_refuse(r,
						       "its hidden fields are not in their places");
		if (field->offset < end)
			return layout_json_read_refuse(r, "two fields overlap");
		end = field->offset + field->size;
	}
	if (f->fields[0].offset != 0 || (has_type && f->fields[1].offset != 4))
		return layout_json_read_refuse(r, "its hidden fields are not in their places");
	return true;
}

static bool layout_json_read_member(struct layout_reading *r, struct desc_member *m,
				    const json_t *entry)
{
	const json_t *old = json_object_get(entry, "contents");
	uint32_t ignored;

	m->count = 1;
	if (json_is_object(old)) { /* FMemberElem */
		m->interval = json_is_true(json_object_get(old, "fmDifferential"));
		if (!classic_type(json_object_get(old, "fmType"), &m->type, &ignored))
			m->type = DESC_BYTES;
		return layout_json_read_copy_name(r, &m->name, json_object_get(old, "fmName"),
						  "a member has no name");
	}
	if (!layout_json_read_copy_name(r, &m->name, json_object_get(entry, "name"),
					"a member has no name"))
		return false;
	m->interval = json_is_true(json_object_get(entry, "interval"));
	if (!type_by_name(get_text(entry, "type"), &m->type))
		m->type = DESC_BYTES;
	if (layout_json_read_get_u32(entry, "count", DESC_FRAME_MAX, &m->count))
		m->is_array = m->type != DESC_STRING;
	if (m->type == DESC_ENUM)
		return read_values(r, entry, &m->type_name, &m->values, &m->nr_values);
	return true;
}

static bool layout_json_read_members(struct layout_reading *r, struct desc_frame *f,
				     const json_t *object)
{
	const json_t *list = json_object_get(object, "_flExt");
	size_t i, nr;

	if (!json_is_array(list))
		list = json_object_get(json_object_get(object, "_flFrame"), "_frameElements");
	nr = json_array_size(list);
	if (nr > DESC_FIELDS_MAX)
		return layout_json_read_refuse(r, "it has too many members");
	f->members = calloc(nr ? nr : 1, sizeof(*f->members));
	if (!f->members)
		return layout_json_read_no_memory(r);
	for (i = 0; i < nr; i++) {
		f->nr_members = i + 1;
		if (!layout_json_read_member(r, &f->members[i], json_array_get(list, i)))
			return false;
	}
	return true;
}

static bool read_frame(struct layout_reading *r, struct desc_frame *f, const json_t *object,
		       bool has_type)
{
	const json_t *layout = json_object_get(object, "_flLayout");
	size_t i, nr = json_array_size(layout);

	if (!layout_json_read_copy_name(r, &f->name, json_object_get(object, "_flName"),
					"a frame has no name"))
		return false;
	r->frame = f->name;
	if (nr < (has_type ? 3 : 2) || nr > DESC_FIELDS_MAX)
		return layout_json_read_refuse(r, "it has no layout, or one that is too long");
	f->fields = calloc(nr, sizeof(*f->fields));
	if (!f->fields)
		return layout_json_read_no_memory(r);
	for (i = 0; i < nr; i++) {
		f->nr_fields = i + 1;
		if (!read_field(r, &f->fields[i], json_array_get(layout, i)))
			return false;
	}
	if (!layout_json_read_check_places(r, f, has_type) || !check_names(r, f) ||
	    !layout_json_read_members(r, f, object))
		return false;
	r->frame = NULL;
	return true;
}

/*
 * A single frame may have a type field too: a program that wants to be read by the existing
 * decoder claims two.
 */
static bool claims_type(const json_t *frames)
{
	const json_t *layout = json_object_get(json_array_get(frames, 0), "_flLayout");
	const json_t *kind = json_object_get(json_array_get(layout, 1), "_lKind");

	return !strcmp(tag_of(kind), "LKTypeDescrim");
}

static bool check_frames(struct layout_reading *r)
{
	struct desc *d = r->d;
	const char **names = calloc(d->nr_frames, sizeof(*names));
	const struct desc_field *back;
	bool ok = true;
	size_t i;

	if (!names)
		return layout_json_read_no_memory(r);
	for (i = 0; ok && i < d->nr_frames; i++) {
		names[i] = d->frames[i].name;
		back = &d->frames[i].fields[d->frames[i].nr_fields - 1];
		if (!i)
			d->frame_size = back->offset + back->size;
		ok = back->offset + back->size == d->frame_size ||
		     layout_json_read_refuse(r, "its frames are of different sizes");
	}
	if (ok && (d->frame_size > DESC_FRAME_MAX || d->frame_size % 4))
		ok = layout_json_read_refuse(r, "its frames have an impossible size");
	ok = ok && all_different(r, names, d->nr_frames, "two frames have the same name");
	free(names);
	return ok;
}

static bool read_frames(struct layout_reading *r, const json_t *frames)
{
	size_t i, nr = json_array_size(frames);
	bool has_type = nr > 1 || claims_type(frames);

	if (!nr || nr > DESC_FRAMES_MAX)
		return layout_json_read_refuse(r,
					       nr ? "it has too many frames" : "it has no frames");
	r->d->frames = calloc(nr, sizeof(*r->d->frames));
	if (!r->d->frames)
		return layout_json_read_no_memory(r);
	for (i = 0; i < nr; i++) {
		r->d->nr_frames = i + 1;
		if (!read_frame(r, &r->d->frames[i], json_array_get(frames, i), has_type))
			return false;
	}
	return check_frames(r);
}

/* ---- the emit, and the rest ----------------------------------------------- */

static bool read_clock(struct layout_reading *r, const char *constructor)
{
	static const char *const words[][2] = {
		{ "Realtime", "realtime" },
		{ "RealtimeCoarse", "realtime_coarse" },
		{ "Monotonic", "monotonic" },
		{ "MonotonicCoarse", "monotonic_coarse" },
		{ "MonotonicRaw", "monotonic_raw" },
		{ "Boottime", "boottime" },
		{ "ProcessCputimeId", "proc_cputime" },
		{ "ThreadCputimeId", "thread_cputime" },
	};
	const char prefix[] = "ETimeClock";
	size_t i;

	if (constructor && !strncmp(constructor, prefix, sizeof(prefix) - 1)) {
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			if (!strcmp(constructor + sizeof(prefix) - 1, words[i][0]))
				return layout_json_read_copy(r, &r->d->clock, words[i][1]);
		}
	}
	return layout_json_read_refuse(r, "its clock is unknown");
}

static bool read_options(struct layout_reading *r, const json_t *options)
{
	size_t i;

	for (i = 0; i < json_array_size(options); i++) {
		const json_t *option = json_array_get(options, i);
		bool value = json_is_true(json_object_get(option, "contents"));

		if (!strcmp(tag_of(option), "EDebug")) {
			r->d->has_debug = true;
			r->d->debug = value;
		} else if (!strcmp(tag_of(option), "ENativeCounter")) {
			r->d->has_native_counter = true;
			r->d->native_counter = value;
		}
	}
	return true;
}

static bool read_emit(struct layout_reading *r, const json_t *emit)
{
	const json_t *buffer = json_object_get(emit, "_eBuffer");
	const json_t *time = json_object_get(emit, "_eTimeRep");
	const json_t *slots = json_object_get(buffer, "ebMinElements");
	const char *language = get_text(emit, "_eLanguage");
	struct desc *d = r->d;

	if (!layout_json_read_copy_name(r, &d->name, json_object_get(buffer, "ebName"),
					"the buffer has no name"))
		return false;
	if (json_is_integer(slots) && json_integer_value(slots) >= 0) {
		d->has_min_slots = true;
		d->min_slots = (uint64_t)json_integer_value(slots);
	}
	if (!layout_json_read_copy(r, &d->language,
				   language && !strcmp(language, "ELangC") ? "C" : "C++"))
		return false;
	d->multithread = json_is_true(
		json_object_get(json_object_get(emit, "_eRuntime"), "erMultithread"));
	d->time = DESC_TIMESPEC;
	if (!strcmp(tag_of(time), "ETimeVal"))
		d->time = DESC_TIMEVAL;
	else if (strcmp(tag_of(time), "ETimeSpec") != 0)
		return layout_json_read_refuse(r, "its time is unknown");
	else if (!read_clock(r, get_text(time, "contents")))
		return false;
	return read_options(r, json_object_get(emit, "_eOptions"));
}

static bool read_tags(struct layout_reading *r, const json_t *tags)
{
	size_t i, nr = json_array_size(tags);

	if (nr > DESC_FIELDS_MAX)
		return layout_json_read_refuse(r, "it has too many tags");
	r->d->tags = calloc(nr ? nr : 1, sizeof(*r->d->tags));
	if (!r->d->tags)
		return layout_json_read_no_memory(r);
	for (i = 0; i < nr; i++) {
		const json_t *pair = json_array_get(tags, i);
		const char *key = json_string_value(json_array_get(pair, 0));
		const char *value = json_string_value(json_array_get(pair, 1));

		if (!key || !value)
			return layout_json_read_refuse(r, "a tag is no pair of texts");
		r->d->nr_tags = i + 1;
		if (!layout_json_read_copy(r, &r->d->tags[i].key, key) ||
		    !layout_json_read_copy(r, &r->d->tags[i].value, value))
			return false;
	}
	return true;
}

/* The existing generator's stride is the size of its first class, which the compiler rounds up. */
static uint32_t old_stride(const struct desc *d)
{
	const struct desc_frame *first = &d->frames[0];
	size_t i;

	for (i = 0; i < first->nr_fields; i++) {
		enum desc_type type = first->fields[i].type;

		if (type == DESC_DOUBLE || type == DESC_TIME || type == DESC_COUNTER)
			return (d->frame_size + 7) & ~UINT32_C(7);
	}
	return d->frame_size;
}

static bool layout_json_read_metadata(struct layout_reading *r, const json_t *meta)
{
	const char *generator = get_text(meta, "generator"), *time = get_text(meta, "time");
	const char *dialect = get_text(meta, "dialect");
	struct desc *d = r->d;

	d->stride = old_stride(d);
	if (!json_is_object(meta))
		return true;
	if (generator && !layout_json_read_copy(r, &d->generator, generator))
		return false;
	if (dialect)
		d->dialect = !strcmp(dialect, "seed") ? DESC_SEED : DESC_PPT;
	d->resize = json_is_true(json_object_get(meta, "resize"));
	d->extended = json_is_true(json_object_get(meta, "extended"));
	d->stamps = d->extended && json_is_true(json_object_get(meta, "stamps"));
	if (time && !strcmp(time, "counter"))
		d->time = DESC_COUNTER_CLOCK;
	if (json_object_get(meta, "stride") &&
	    (!layout_json_read_get_u32(meta, "stride", 2 * DESC_FRAME_MAX, &d->stride) ||
	     d->stride < d->frame_size || d->stride % 4))
		return layout_json_read_refuse(r, "its stride is impossible");
	return true;
}

static bool layout_json_read_all(struct layout_reading *r, const json_t *root)
{
	const json_t *buffer = json_object_get(root, "buffer"), *holder = buffer ? buffer : root;
	const json_t *tags = json_object_get(root, "tags"), *meta;
	const json_t *emit = json_object_get(holder, "emit");
	const char *abi = get_text(root, "abi");

	if (!json_is_object(root) || !json_is_object(emit))
		return layout_json_read_refuse(r, "it has no emit");
	r->d->dialect = buffer ? DESC_SEED : DESC_PPT;
	if (!layout_json_read_copy(r, &r->d->abi, abi ? abi : "1.0.0") || !read_emit(r, emit) ||
	    !read_frames(r, json_object_get(holder, "frames")))
		return false;
	if (!json_array_size(tags))
		tags = json_object_get(emit, "_eTags");
	meta = json_object_get(root, buffer ? "metadata" : "corotracer");
	return read_tags(r, tags) && layout_json_read_metadata(r, meta);
}

int desc_from_object(struct desc *d, const void *json, struct err *err)
{
	struct layout_reading r = { .d = d, .err = err };

	memset(d, 0, sizeof(*d));
	if (layout_json_read_all(&r, json))
		return 0;
	desc_release(d);
	return r.code;
}

int desc_from_json(struct desc *d, const char *text, size_t size, struct err *err)
{
	json_error_t where;
	json_t *root;
	int rc;

	memset(d, 0, sizeof(*d));
	if (size > DESC_JSON_MAX)
		return err_set(err, -E2BIG, "a description of %zu bytes is too long", size);
	root = json_parse(text, size, 0, &where, &rc);
	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory to parse a description");
	if (!root) {
		rc = err_set(err, -EPROTO, "the description is not JSON: %s at byte %d", where.text,
			     where.position);
		err_hint(err, "it was not written by a generator that we know");
		return rc;
	}
	rc = desc_from_object(d, root, err);
	json_decref(root);
	return rc;
}
