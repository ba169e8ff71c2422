/* SPDX-License-Identifier: MIT */
/*
 * layout_json_write.c - write a description as JSON, in the encoding of the existing ppt tool.
 *
 * Its sum types are {"tag": constructor, "contents": value or array}; it ignores unknown keys.
 * So a type that it cannot express is padding to it, with the real type in a key "ext".
 */
#include <string.h>

#include "frames/spec/layout_json.h"

/* True if the existing ppt tool has this type. */
static bool layout_json_write_classic(enum desc_type type, bool is_array)
{
	return !is_array && (type == DESC_INT32 || type == DESC_FLOAT || type == DESC_DOUBLE ||
			     type == DESC_TIME || type == DESC_COUNTER);
}

/* {"tag": tag, "contents": ... */
static void layout_json_write_tagged(struct json_writer *w, const char *tag)
{
	jw_object_begin(w);
	jw_field_string(w, "tag", tag);
	jw_key(w, "contents");
}

static void tagged_pair(struct json_writer *w, const char *tag, const char *first)
{
	layout_json_write_tagged(w, tag);
	jw_array_begin(w);
	jw_string(w, first);
	jw_null(w);
	jw_array_end(w);
	jw_object_end(w);
}

/* Write a type; @counter: index, or -1 for all. */
static void layout_json_write_put_type(struct json_writer *w, enum desc_type type, int counter)
{
	switch (type) {
	case DESC_INT32:
		tagged_pair(w, "PIntegral", "PPInt");
		break;
	case DESC_FLOAT:
		tagged_pair(w, "PRational", "PPFloat");
		break;
	case DESC_DOUBLE:
		tagged_pair(w, "PRational", "PPDouble");
		break;
	case DESC_TIME:
		layout_json_write_tagged(w, "PTime");
		jw_null(w);
		jw_object_end(w);
		break;
	case DESC_COUNTER:
		layout_json_write_tagged(w, "PCounter");
		jw_array_begin(w);
		jw_object_begin(w);
		jw_field_string(w, "tag", counter < 0 ? "NotExpanded" : "Expanded");
		if (counter >= 0)
			jw_field_i64(w, "contents", counter);
		jw_object_end(w);
		jw_null(w);
		jw_array_end(w);
		jw_object_end(w);
		break;
	default:
		tagged_pair(w, "PIntegral", "PPByte");
		break;
	}
}

static void put_classic_member(struct json_writer *w, const char *name, enum desc_type type,
			       bool interval)
{
	jw_object_begin(w);
	jw_field_bool(w, "fmDifferential", interval);
	jw_field_string(w, "fmName", name);
	jw_key(w, "fmType");
	layout_json_write_put_type(w, type, -1);
	jw_object_end(w);
}

static void put_values(struct json_writer *w, const char *type_name,
		       const struct desc_enum_value *values, size_t nr)
{
	size_t i;

	if (type_name)
		jw_field_string(w, "enum", type_name);
	if (!nr)
		return;
	jw_key(w, "values");
	jw_array_begin(w);
	for (i = 0; i < nr; i++) {
		jw_array_begin(w);
		jw_string(w, values[i].name);
		jw_i64(w, values[i].value);
		jw_array_end(w);
	}
	jw_array_end(w);
}

/* ---- fields --------------------------------------------------------------- */

static const char *role_name(enum desc_role role)
{
	return role == DESC_START ? "start" : role == DESC_END ? "end" : "plain";
}

static void put_ext(struct json_writer *w, const struct desc_field *f)
{
	bool foreign = f->role == DESC_FOREIGN;

	jw_key(w, "ext");
	jw_object_begin(w);
	jw_field_string(w, "name", f->name);
	jw_field_string(w, "member", f->member ? f->member : f->name);
	jw_field_string(w, "type",
			foreign ? f->type_name ? f->type_name : "?" : desc_type_name(f->type));
	jw_field_string(w, "role", role_name(f->role));
	jw_field_u64(w, "align", f->align);
	if (f->is_array || f->type == DESC_STRING)
		jw_field_u64(w, "count", f->count);
	if (!foreign)
		put_values(w, f->type_name, f->values, f->nr_values);
	jw_object_end(w);
}

static void put_kind_tag(struct json_writer *w, const char *tag, const char *contents)
{
	layout_json_write_tagged(w, tag);
	jw_string(w, contents);
	jw_object_end(w);
}

static void put_member_kind(struct json_writer *w, const struct desc_field *f)
{
	bool interval = f->role != DESC_PLAIN, counter = f->type == DESC_COUNTER;

	layout_json_write_tagged(w, "LKMember");
	jw_array_begin(w);
	put_classic_member(w, f->member, f->type, interval);
	if (interval) {
		layout_json_write_tagged(w, f->role == DESC_START ? "IntBegin" : "IntEnd");
		jw_array_begin(w);
		jw_u64(w, counter ? f->counter : 0);
		jw_u64(w, counter ? 2 : 1);
		jw_array_end(w);
		jw_object_end(w);
	} else {
		jw_null(w);
	}
	jw_array_end(w);
	jw_object_end(w);
}

static bool is_ext(const struct desc_field *f)
{
	if (f->role == DESC_FOREIGN)
		return true;
	return (f->role == DESC_PLAIN || f->role == DESC_START || f->role == DESC_END) &&
	       !layout_json_write_classic(f->type, f->is_array);
}

static void layout_json_write_put_kind(struct json_writer *w, const struct desc *d,
				       const struct desc_field *f)
{
	if (f->role == DESC_FRONT_SEQ) {
		put_kind_tag(w, "LKSeqno", "FrontSeq");
	} else if (f->role == DESC_BACK_SEQ) {
		put_kind_tag(w, "LKSeqno", "BackSeq");
	} else if (f->role == DESC_FRAME_TYPE) {
		layout_json_write_tagged(w, "LKTypeDescrim");
		jw_u64(w, d->nr_frames);
		jw_object_end(w);
	} else if (f->role == DESC_PADDING || is_ext(f)) {
		layout_json_write_tagged(w, "LKPadding");
		jw_u64(w, f->size);
		jw_object_end(w);
	} else {
		put_member_kind(w, f);
	}
}

static void layout_json_write_put_field(struct json_writer *w, const struct desc *d,
					const struct desc_field *f)
{
	bool hidden = f->role == DESC_FRONT_SEQ || f->role == DESC_BACK_SEQ ||
		      f->role == DESC_FRAME_TYPE;

	jw_object_begin(w);
	jw_field_string(w, "_lName", f->name);
	jw_field_u64(w, "_lOffset", f->offset);
	jw_field_u64(w, "_lSize", f->size);
	jw_field_u64(w, "_lAlignment", is_ext(f) ? 1 : f->align);
	jw_key(w, "_lType");
	if (is_ext(f) || f->role == DESC_PADDING)
		layout_json_write_put_type(w, DESC_BYTES, -1);
	else
		layout_json_write_put_type(w, hidden ? DESC_INT32 : f->type, (int)f->counter);
	jw_key(w, "_lKind");
	layout_json_write_put_kind(w, d, f);
	if (is_ext(f))
		put_ext(w, f);
	jw_object_end(w);
}

/* ---- frames --------------------------------------------------------------- */

static void put_ext_members(struct json_writer *w, const struct desc_frame *f)
{
	size_t i;

	jw_key(w, "_flExt");
	jw_array_begin(w);
	for (i = 0; i < f->nr_members; i++) {
		const struct desc_member *m = &f->members[i];

		jw_object_begin(w);
		jw_field_string(w, "name", m->name);
		jw_field_string(w, "type", desc_type_name(m->type));
		jw_field_bool(w, "interval", m->interval);
		if (m->is_array || m->type == DESC_STRING)
			jw_field_u64(w, "count", m->count);
		put_values(w, m->type_name, m->values, m->nr_values);
		jw_object_end(w);
	}
	jw_array_end(w);
}

static void layout_json_write_put_frame(struct json_writer *w, const struct desc *d,
					const struct desc_frame *f)
{
	bool all_classic = true;
	size_t i;

	jw_object_begin(w);
	jw_field_string(w, "_flName", f->name);
	jw_key(w, "_flFrame");
	jw_object_begin(w);
	jw_field_string(w, "_frameName", f->name);
	jw_key(w, "_frameElements");
	jw_array_begin(w);
	for (i = 0; i < f->nr_members; i++) {
		const struct desc_member *m = &f->members[i];

		if (!layout_json_write_classic(m->type, m->is_array)) {
			all_classic = false;
			continue;
		}
		layout_json_write_tagged(w, "FMemberElem");
		put_classic_member(w, m->name, m->type, m->interval);
		jw_object_end(w);
	}
	jw_array_end(w);
	jw_object_end(w);
	jw_key(w, "_flLayout");
	jw_array_begin(w);
	for (i = 0; i < f->nr_fields; i++)
		layout_json_write_put_field(w, d, &f->fields[i]);
	jw_array_end(w);
	if (!all_classic)
		put_ext_members(w, f);
	jw_object_end(w);
}

/* ---- the emit ------------------------------------------------------------- */

static void put_tags(struct json_writer *w, const struct desc *d)
{
	size_t i;

	jw_array_begin(w);
	for (i = 0; i < d->nr_tags; i++) {
		jw_array_begin(w);
		jw_string(w, d->tags[i].key);
		jw_string(w, d->tags[i].value);
		jw_array_end(w);
	}
	jw_array_end(w);
}

static const char *clock_constructor(const struct desc *d)
{
	static const char *const names[][2] = {
		{ "realtime", "ETimeClockRealtime" },
		{ "realtime_coarse", "ETimeClockRealtimeCoarse" },
		{ "monotonic", "ETimeClockMonotonic" },
		{ "monotonic_coarse", "ETimeClockMonotonicCoarse" },
		{ "monotonic_raw", "ETimeClockMonotonicRaw" },
		{ "boottime", "ETimeClockBoottime" },
		{ "proc_cputime", "ETimeClockProcessCputimeId" },
		{ "thread_cputime", "ETimeClockThreadCputimeId" },
	};
	size_t i;

	for (i = 0; d->clock && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(d->clock, names[i][0]))
			return names[i][1];
	}
	return "ETimeClockMonotonic";
}

static void layout_json_write_put_time(struct json_writer *w, const struct desc *d)
{
	jw_key(w, "_eTimeRep");
	jw_object_begin(w);
	if (d->time == DESC_TIMEVAL) {
		jw_field_string(w, "tag", "ETimeVal");
	} else {
		jw_field_string(w, "tag", "ETimeSpec");
		jw_field_string(w, "contents", clock_constructor(d));
	}
	jw_object_end(w);
}

static void put_option(struct json_writer *w, const char *tag, bool value)
{
	layout_json_write_tagged(w, tag);
	jw_bool(w, value);
	jw_object_end(w);
}

static void put_emit(struct json_writer *w, const struct desc *d)
{
	jw_key(w, "emit");
	jw_object_begin(w);
	jw_key(w, "_eBuffer");
	jw_object_begin(w);
	jw_field_string(w, "ebName", d->name);
	if (d->has_min_slots)
		jw_field_u64(w, "ebMinElements", d->min_slots);
	else
		jw_field_null(w, "ebMinElements");
	jw_object_end(w);
	jw_field_string(w, "_eLanguage", !strcmp(d->language, "C") ? "ELangC" : "ELangCpp");
	layout_json_write_put_time(w, d);
	jw_key(w, "_eRuntime");
	jw_object_begin(w);
	jw_field_bool(w, "erMultithread", d->multithread);
	jw_object_end(w);
	jw_key(w, "_eTags");
	put_tags(w, d);
	jw_key(w, "_eOptions");
	jw_array_begin(w);
	if (d->has_native_counter)
		put_option(w, "ENativeCounter", d->native_counter);
	if (d->has_debug)
		put_option(w, "EDebug", d->debug);
	jw_array_end(w);
	jw_object_end(w);
}

static void put_frames(struct json_writer *w, const struct desc *d)
{
	size_t i;

	jw_key(w, "frames");
	jw_array_begin(w);
	for (i = 0; i < d->nr_frames; i++)
		layout_json_write_put_frame(w, d, &d->frames[i]);
	jw_array_end(w);
}

static void put_target(struct json_writer *w)
{
	jw_key(w, "target");
	jw_object_begin(w);
	jw_field_u64(w, "tDouble", 8);
	jw_field_u64(w, "tFloat", 4);
	jw_field_u64(w, "tInt", 4);
	jw_field_u64(w, "tTime", 16);
	jw_field_u64(w, "tCounter", 8);
	jw_field_u64(w, "tPadTo", 4);
	jw_field_u64(w, "tCounterCount", 3);
	jw_object_end(w);
}

/* Data that the base protocol leaves to the generator's version. */
static void put_metadata(struct json_writer *w, const struct desc *d)
{
	static const char *const times[] = { "timeval", "timespec", "counter" };

	jw_object_begin(w);
	if (d->generator)
		jw_field_string(w, "generator", d->generator);
	jw_field_string(w, "dialect", d->dialect == DESC_SEED ? "seed" : "ppt");
	jw_field_u64(w, "frame_size", d->frame_size);
	jw_field_u64(w, "stride", d->stride);
	jw_field_bool(w, "resize", d->resize);
	jw_field_string(w, "time", times[d->time]);
	jw_field_bool(w, "extended", d->extended);
	jw_field_bool(w, "stamps", d->stamps && d->dialect == DESC_SEED);
	jw_object_end(w);
}

void desc_to_json(const struct desc *d, enum desc_dialect dialect, struct json_writer *w)
{
	jw_object_begin(w);
	jw_field_string(w, "abi", d->abi);
	if (dialect == DESC_SEED) {
		jw_key(w, "buffer");
		jw_object_begin(w);
	}
	put_emit(w, d);
	put_frames(w, d);
	if (dialect == DESC_SEED)
		jw_object_end(w);
	put_target(w);
	jw_key(w, "tags");
	if (dialect == DESC_SEED) {
		put_tags(w, d);
		jw_key(w, "metadata");
		put_metadata(w, d);
	} else {
		/*
		 * Empty, because the existing reader cannot parse what it writes for non-empty
		 * ones.
		 */
		jw_array_begin(w);
		jw_array_end(w);
		jw_key(w, "metadata");
		jw_array_begin(w);
		jw_array_end(w);
		jw_key(w, "corotracer");
		put_metadata(w, d);
	}
	jw_object_end(w);
}
