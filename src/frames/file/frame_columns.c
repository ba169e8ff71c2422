/* SPDX-License-Identifier: MIT */
/* frame_columns.c - convert frames to rows of values. */
#include "frames/file/frame_columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/monotonic.h"
#include "base/fmt_double.h"
#include "frames/spec/frames_abi.h"

/* ---- the plan ------------------------------------------------------------ */

static const char *counter_name(const struct recording_info *info, const struct desc_field *f)
{
	return f->type == DESC_COUNTER && f->counter < info->nr_counters
		       ? info->counters[f->counter]
		       : NULL;
}

static bool row_is_time(const struct desc_field *f)
{
	return f->type == DESC_TIME || f->type == DESC_TICKS;
}

/* "NAME", "NAME[counter]"; for a difference "duration" or "delta" replaces "end". */
static char *cell_name(const struct desc_field *f, bool difference, const char *counter)
{
	const char *suffix = !difference ? "" : row_is_time(f) ? "_duration" : "_delta";
	size_t len = strlen(f->name);
	char *name = NULL;
	int rc;

	if (difference && len > 4 && !strcmp(f->name + len - 4, "_end"))
		len -= 4;
	if (counter)
		rc = asprintf(&name, "%.*s%s[%s]", (int)len, f->name, suffix, counter);
	else
		rc = asprintf(&name, "%.*s%s", (int)len, f->name, suffix);
	return rc < 0 ? NULL : name;
}

static uint32_t columns_of(const struct desc_field *f)
{
	return f->type == DESC_STRING ? 1 : f->count;
}

static size_t longest_enum(const struct desc_field *f)
{
	size_t i, longest = 0;

	for (i = 0; i < f->nr_values; i++) {
		size_t len = strlen(f->values[i].name);

		if (len > longest)
			longest = len;
	}
	return longest;
}

/* In JSON a byte may take six characters. */
static size_t value_max(const struct desc_field *f)
{
	size_t text = !f                       ? 0
		      : f->type == DESC_STRING ? f->count
		      : f->type == DESC_ENUM   ? longest_enum(f)
					       : 0;

	return 6 * text + FMT_DOUBLE_MAX + 4;
}

static int make_key(struct row_cell *c)
{
	const struct cell name = cell_text(c->name, strlen(c->name));
	char *at;

	c->json_key = at = malloc(cell_format_max(&name) + 2);
	if (!at)
		return -ENOMEM;
	*at++ = ',';
	at = cell_format(at, &name, CELL_JSON, false);
	*at++ = ':';
	c->json_key_size = (size_t)(at - c->json_key);
	return 0;
}

static int add_cell(struct row_plan *p, char *name, const struct desc_field *f,
		    const struct desc_field *start)
{
	struct row_cell *c = &p->cells[p->nr_cells];

	if (!name)
		return -ENOMEM;
	if (p->nr_cells == 2 * p->frame->nr_fields + 1) { /* a member listed twice */
		free(name);
		return -EBADMSG;
	}
	c->name = name;
	c->field = f;
	c->start = start;
	c->count = f ? columns_of(f) : 1;
	c->is_list = f && f->is_array && f->type != DESC_STRING;
	p->json_max += strlen(name) * 6 + 8 + c->count * (value_max(f) + 1);
	p->nr_cells++;
	return make_key(c);
}

static const struct desc_field *row_start_of(const struct desc_frame *frame,
					     const struct desc_field *end)
{
	size_t i;

	for (i = 0; i < frame->nr_fields; i++) {
		const struct desc_field *f = &frame->fields[i];

		if (f->role == DESC_START && f->member && !strcmp(f->member, end->member) &&
		    f->counter == end->counter && f->type == end->type && f->count == end->count)
			return f;
	}
	return NULL;
}

static bool has_difference(const struct desc_field *f)
{
	return f->role == DESC_END && f->type != DESC_STRING && f->type != DESC_BOOL &&
	       f->type != DESC_ENUM && f->type != DESC_BYTES;
}

static int row_add_field(struct row_plan *p, const struct desc_field *f,
			 const struct recording_info *info)
{
	const char *counter = counter_name(info, f);
	const struct desc_field *start;
	int rc;

	if (f->role != DESC_PLAIN && f->role != DESC_START && f->role != DESC_END)
		return 0;
	if (f->type == DESC_BYTES || !f->member || (f->type == DESC_COUNTER && !counter))
		return 0;
	rc = add_cell(p, cell_name(f, false, counter), f, NULL);
	start = !rc && has_difference(f) ? row_start_of(p->frame, f) : NULL;
	if (start)
		rc = add_cell(p, cell_name(f, true, counter), f, start);
	return rc;
}

/* Counters of a member come in pairs, other fields in memory order. */
static int row_add_member(struct row_plan *p, const char *member, const struct recording_info *info)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < p->frame->nr_fields && !rc; i++) {
		const struct desc_field *f = &p->frame->fields[i];

		if (f->member && !strcmp(f->member, member))
			rc = row_add_field(p, f, info);
	}
	return rc;
}

static bool is_declared(const struct desc_frame *frame, const char *member)
{
	size_t i;

	for (i = 0; i < frame->nr_members; i++) {
		if (!strcmp(frame->members[i].name, member))
			return true;
	}
	return false;
}

static int add_members(struct row_plan *p, const struct recording_info *info)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < p->frame->nr_members && !rc; i++)
		rc = row_add_member(p, p->frame->members[i].name, info);
	/* A header may have the layout without the members. */
	for (i = 0; i < p->frame->nr_fields && !rc; i++) {
		const struct desc_field *f = &p->frame->fields[i];

		if (f->member && !is_declared(p->frame, f->member))
			rc = row_add_field(p, f, info);
	}
	return rc;
}

int row_plan_init(struct row_plan *p, const struct desc *d, unsigned type,
		  const struct recording_info *info)
{
	int rc;

	memset(p, 0, sizeof(*p));
	p->frame = &d->frames[type];
	p->micro = d->time == DESC_TIMEVAL;
	p->delta_ns = info->delta_s * (int64_t)NS_PER_SEC;
	p->clock = info->clock;
	p->json_max = 256 + 6 * strlen(p->frame->name);
	p->cells = calloc(2 * p->frame->nr_fields + 1, sizeof(*p->cells));
	if (!p->cells)
		return -ENOMEM;
	rc = add_cell(p, strdup("ppt_seqno"), NULL, NULL);
	if (!rc)
		rc = add_members(p, info);
	if (rc < 0)
		row_plan_release(p);
	return rc;
}

void row_plan_release(struct row_plan *p)
{
	while (p->nr_cells) {
		free(p->cells[--p->nr_cells].name);
		free(p->cells[p->nr_cells].json_key);
	}
	free(p->cells);
	p->cells = NULL;
}

/* ---- values -------------------------------------------------------------- */

#define RAW(type, from)                            \
	({                                         \
		type raw_;                         \
		memcpy(&raw_, from, sizeof(raw_)); \
		raw_;                              \
	})

static void set_signed(struct cell *v, int64_t i)
{
	v->kind = CELL_SIGNED;
	v->i = i;
}

static void set_unsigned(struct cell *v, uint64_t u)
{
	v->kind = CELL_UNSIGNED;
	v->u = u;
}

/* Nanoseconds, in wrapping arithmetic: the values are untrusted. */
static bool row_get_time(const struct row_plan *p, enum desc_type type, const uint8_t *at,
			 uint64_t *ns)
{
	uint64_t seconds, rest;

	if (type == DESC_TICKS) {
		uint64_t ticks = RAW(uint64_t, at);
		double since;

		*ns = ticks;
		if (!ticks || !p->clock.known)
			return ticks != 0;
		since = (double)(int64_t)(ticks - p->clock.ticks) * p->clock.ns_per_tick;
		if (!(since > -9e18 && since < 9e18))
			return false;
		*ns = p->clock.ns + (uint64_t)(int64_t)since + (uint64_t)p->delta_ns;
		return true;
	}
	seconds = RAW(uint64_t, at);
	rest = RAW(uint64_t, at + 8);
	*ns = seconds * NS_PER_SEC + rest * (p->micro ? 1000 : 1) + (uint64_t)p->delta_ns;
	return seconds || rest;
}

/* Returns false if it was not measured. */
static bool get_counter(const uint8_t *at, uint64_t *value)
{
	*value = RAW(uint64_t, at);
	return *value != PPT_COUNTER_NONE;
}

static void get_difference(const struct row_plan *p, const struct row_cell *c, const uint8_t *start,
			   const uint8_t *end, struct cell *v)
{
	uint64_t from, to;

	switch (c->field->type) {
	case DESC_TIME:
	case DESC_TICKS:
		if (row_get_time(p, c->field->type, start, &from) &&
		    row_get_time(p, c->field->type, end, &to))
			set_signed(v, (int64_t)(to - from));
		break;
	case DESC_COUNTER:
		if (get_counter(start, &from) && get_counter(end, &to))
			set_signed(v, (int64_t)(to - from));
		break;
	case DESC_FLOAT:
		v->kind = CELL_FLOAT;
		v->f = RAW(float, end) - RAW(float, start);
		break;
	case DESC_DOUBLE:
		v->kind = CELL_DOUBLE;
		v->d = RAW(double, end) - RAW(double, start);
		break;
	case DESC_INT8:
	case DESC_UINT8:
		set_signed(v, (c->field->type == DESC_INT8)
				      ? RAW(int8_t, end) - RAW(int8_t, start)
				      : RAW(uint8_t, end) - RAW(uint8_t, start));
		break;
	case DESC_INT16:
		set_signed(v, RAW(int16_t, end) - RAW(int16_t, start));
		break;
	case DESC_UINT16:
		set_signed(v, RAW(uint16_t, end) - RAW(uint16_t, start));
		break;
	case DESC_INT32:
		set_signed(v, (int64_t)RAW(int32_t, end) - RAW(int32_t, start));
		break;
	case DESC_UINT32:
		set_signed(v, (int64_t)RAW(uint32_t, end) - RAW(uint32_t, start));
		break;
	default:
		set_signed(v, (int64_t)(RAW(uint64_t, end) - RAW(uint64_t, start)));
		break;
	}
}

static void get_enum(const struct desc_field *f, int32_t value, struct cell *v)
{
	size_t i;

	for (i = 0; i < f->nr_values; i++) {
		if (f->values[i].value != value)
			continue;
		v->kind = CELL_TEXT;
		v->text = f->values[i].name;
		v->size = strlen(v->text);
		return;
	}
	set_signed(v, value);
}

static void row_get_plain(const struct row_plan *p, const struct desc_field *f, const uint8_t *at,
			  struct cell *v)
{
	switch (f->type) {
	case DESC_INT8:
		set_signed(v, RAW(int8_t, at));
		break;
	case DESC_INT16:
		set_signed(v, RAW(int16_t, at));
		break;
	case DESC_INT32:
		set_signed(v, RAW(int32_t, at));
		break;
	case DESC_INT64:
		set_signed(v, RAW(int64_t, at));
		break;
	case DESC_UINT8:
		set_unsigned(v, RAW(uint8_t, at));
		break;
	case DESC_UINT16:
		set_unsigned(v, RAW(uint16_t, at));
		break;
	case DESC_UINT32:
		set_unsigned(v, RAW(uint32_t, at));
		break;
	case DESC_UINT64:
		set_unsigned(v, RAW(uint64_t, at));
		break;
	case DESC_COUNTER: {
		uint64_t value;

		if (get_counter(at, &value))
			set_unsigned(v, value);
		break;
	}
	case DESC_BOOL:
		v->kind = CELL_BOOL;
		v->u = RAW(uint8_t, at) != 0;
		break;
	case DESC_FLOAT:
		v->kind = CELL_FLOAT;
		v->f = RAW(float, at);
		break;
	case DESC_DOUBLE:
		v->kind = CELL_DOUBLE;
		v->d = RAW(double, at);
		break;
	case DESC_TIME:
	case DESC_TICKS: {
		uint64_t ns;

		if (row_get_time(p, f->type, at, &ns))
			set_signed(v, (int64_t)ns);
		break;
	}
	case DESC_ENUM:
		get_enum(f, RAW(int32_t, at), v);
		break;
	case DESC_STRING:
		v->kind = CELL_TEXT;
		v->text = (const char *)at;
		v->size = strnlen(v->text, f->count);
		break;
	default:
		break;
	}
}

void row_get(const struct row_plan *p, const struct row_cell *c, uint32_t i, const uint8_t *image,
	     uint64_t ticket, struct cell *v)
{
	size_t step;

	v->kind = CELL_NULL;
	if (!c->field) {
		set_unsigned(v, ticket);
		return;
	}
	step = (size_t)i * desc_type_size(c->field->type);
	if (c->start)
		get_difference(p, c, image + c->start->offset + step,
			       image + c->field->offset + step, v);
	else
		row_get_plain(p, c->field, image + c->field->offset + step, v);
}

/* ---- columns ------------------------------------------------------------- */

size_t row_columns(const struct row_plan *p)
{
	size_t c, nr = 0;

	for (c = 0; c < p->nr_cells; c++)
		nr += p->cells[c].count;
	return nr;
}

const char *row_column_name(const struct row_cell *c, uint32_t i, char *buf, size_t size)
{
	if (!c->is_list)
		return c->name;
	snprintf(buf, size, "%s[%u]", c->name, i);
	return buf;
}

static char *row_put(char *at, const char *text, size_t size)
{
	memcpy(at, text, size);
	return at + size;
}

/* The cells from @first on, each with a comma before it.  An array stays one. */
static char *row_put_cells(const struct row_plan *p, size_t first, const uint8_t *image,
			   uint64_t ticket, char *at)
{
	struct cell v;
	size_t c;
	uint32_t i;

	for (c = first; c < p->nr_cells; c++) {
		const struct row_cell *cell = &p->cells[c];

		at = row_put(at, cell->json_key, cell->json_key_size);
		if (cell->is_list)
			*at++ = '[';
		for (i = 0; i < cell->count; i++) {
			if (i)
				*at++ = ',';
			row_get(p, cell, i, image, ticket, &v);
			at = cell_format(at, &v, CELL_JSON, false);
		}
		if (cell->is_list)
			*at++ = ']';
	}
	return at;
}

char *row_jsonl(const struct row_plan *p, const uint8_t *image, uint64_t ticket, char *at)
{
	struct cell v = cell_text(p->frame->name, strlen(p->frame->name));

	at = row_put(at, "{\"frame\":", 9);
	at = cell_format(at, &v, CELL_JSON, false);
	at = row_put_cells(p, 0, image, ticket, at);
	return row_put(at, "}\n", 2);
}

char *row_fields(const struct row_plan *p, const uint8_t *image, char *at)
{
	char *start = at;

	/* The first cell is the sequence number; the first comma becomes the brace. */
	at = row_put_cells(p, 1, image, 0, at);
	if (at == start)
		at++;
	*start = '{';
	*at++ = '}';
	return at;
}
