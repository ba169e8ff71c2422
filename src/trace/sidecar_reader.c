/* SPDX-License-Identifier: MIT */
/*
 * sidecar_reader.c - read the sidecar of a trace.
 *
 * Trust
 *   The input is not trusted: the file may be written by a newer tool, damaged, or forged.
 *   A field that is missing or has another type keeps its default, and the rest of the record is
 *   used.
 */
#include "trace/sidecar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fmt.h"
#include "trace/json_line.h"
#include "trace/schema_event.h"
#include "base/io.h"

/* ---- types --------------------------------------------------------------- */

struct sidecar_type {
	enum trace_item_type type;
	uint8_t kind; /* of an event */
};

/* Finds the type called the first @size bytes of @name.  False: unknown. */
static bool sidecar_find_type(const char *name, size_t size, struct sidecar_type *out)
{
	int kind = trace_kind_from_name(name, size);
	unsigned i;

	if (kind > TRACE_RESUME) {
		*out = (struct sidecar_type){ TRACE_ITEM_EVENT, (uint8_t)kind };
		return true;
	}
	for (i = 0; i < NR_TRACE_ITEM_TYPES; i++) {
		if (schema[i].name && !strncmp(schema[i].name, name, size) &&
		    !schema[i].name[size]) {
			*out = (struct sidecar_type){ .type = (enum trace_item_type)i };
			return true;
		}
	}
	return false;
}

/* ---- fields -------------------------------------------------------------- */

/* The words of the command line; a word that is not a string becomes an empty one. */
static bool get_command(struct sidecar_reader *r, const json_t *value, struct sidecar_run *run)
{
	size_t i, nr = json_array_size(value);

	if (!json_is_array(value))
		return false;
	r->command = calloc(nr + 1, sizeof(*r->command));
	if (!r->command) {
		r->no_memory = true;
		return false;
	}
	for (i = 0; i < nr; i++) {
		const char *word = json_string_value(json_array_get(value, i));

		r->command[i] = word ? word : "";
	}
	run->command = r->command;
	run->nr_command = nr;
	return true;
}

/* By name; a reason also by number if its writer is newer and has more reasons. */
static bool sidecar_get_word(const struct schema_field *f, const json_t *value, void *record)
{
	const char *name = json_string_value(value);
	uint64_t number = 0;
	int known = -1;

	if (name && f->type == SCHEMA_STATE)
		known = trace_state_from_name(name) ? trace_state_from_name(name) : -1;
	else if (name)
		known = trace_reason_from_name(name);
	if (known < 0 && (name || f->type == SCHEMA_STATE || !json_u64(value, &number)))
		return false;
	return schema_set_number(f, record, known < 0 ? number : (uint64_t)known);
}

static bool sidecar_get_name(const json_t *value, struct trace_event *ev)
{
	size_t size = json_string_length(value);

	if (!json_is_string(value) || size > UINT32_MAX)
		return false;
	ev->name = json_string_value(value);
	ev->name_size = (uint32_t)size;
	return true;
}

/* False: the value has the wrong type and the field counts as missing. */
static bool get_field(struct sidecar_reader *r, const struct schema_field *f, const json_t *value,
		      void *record)
{
	void *out = (char *)record + f->offset;
	uint64_t number;

	switch ((enum schema_type)f->type) {
	case SCHEMA_BOOL:
		return schema_set_number(f, record, json_is_true(value)) && json_is_boolean(value);
	case SCHEMA_TEXT:
		*(const char **)out = json_string_value(value); /* NULL if it is not a string */
		return json_is_string(value);
	case SCHEMA_COMMAND:
		return get_command(r, value, record);
	case SCHEMA_REASON:
	case SCHEMA_STATE:
		return sidecar_get_word(f, value, record);
	case SCHEMA_NAME:
		return sidecar_get_name(value, record);
	default:
		if (!json_u64(value, &number) || !schema_set_number(f, record, number))
			return false;
		schema_mark_reported(f, record);
		return true;
	}
}

static void sidecar_get_item(struct sidecar_reader *r, const json_t *object,
			     struct trace_item *item)
{
	const struct schema_field *f = schema[item->type].fields, *end = f + schema[item->type].nr;
	size_t known = 1; /* the type */

	for (; f < end; f++) {
		const json_t *value = f->key ? json_object_get(object, f->key) : NULL;

		if (!value)
			continue;
		known++;
		if (!json_is_null(value) && !get_field(r, f, value, schema_record_of(item)))
			r->stats.bad_fields++;
	}
	r->stats.unknown_keys += json_object_size(object) - known;
}

/* ---- our own form -------------------------------------------------------- */

/*
 * Events may be as many as transitions, so events in the form of sidecar_writer.c are read
 * without a tree: a flat object, members in the order of the table, names without escapes.
 * Other lines take the general path.  Every line ends with a newline followed by slack, so no
 * step checks for the end of the line.
 */
static const char head[] = "{\"type\":\"";

/* *@behind is the text after the type.  False: the line needs the general path. */
static bool type_of_ours(const struct line *line, struct sidecar_type *type, const char **behind)
{
	const char *p = line->text + sizeof(head) - 1, *end;

	if (line->too_long || line->size < sizeof(head) ||
	    memcmp(line->text, head, sizeof(head) - 1) != 0)
		return false;
	/* The line ends with a newline. */
	for (end = p; *end >= 'a' && *end <= 'z'; end++)
		;
	*behind = end + 1;
	return *end == '"' && sidecar_find_type(p, (size_t)(end - p), type);
}

static const char *scan_number(const char *p, uint64_t max, uint64_t *out)
{
	bool is_hex = !strncmp(p, "\"0x", 3);

	p = is_hex ? scan_hex16(p + 3, out) : scan_u64(p, out);
	if (!p || *out > max || (is_hex && *p != '"'))
		return NULL;
	return p + is_hex;
}

/* A string without escapes. */
static const char *scan_plain(const char *p, const char **text, size_t *size)
{
	if (*p++ != '"')
		return NULL;
	*text = p;
	while (*p != '"') {
		unsigned char c = (unsigned char)*p++;

		if (c < ' ' || c >= 0x7f || c == '\\')
			return NULL;
	}
	*size = (size_t)(p - *text);
	return p + 1;
}

static const char *scan_reason(const char *p, uint8_t *out)
{
	char name[16];
	const char *text;
	uint64_t number;
	size_t size;
	int known;

	if (*p != '"') {
		p = scan_number(p, UINT8_MAX, &number);
		*out = p ? (uint8_t)number : 0;
		return p;
	}
	p = scan_plain(p, &text, &size);
	if (!p || size >= sizeof(name))
		return NULL;
	memcpy(name, text, size);
	name[size] = '\0';
	known = trace_reason_from_name(name);
	*out = known < 0 ? 0 : (uint8_t)known;
	return known < 0 ? NULL : p;
}

static const char *scan_name(const char *p, struct trace_event *ev)
{
	size_t size = 0;

	p = scan_plain(p, &ev->name, &size);
	ev->name_size = (uint32_t)size; /* a line is shorter than 2^32 bytes */
	return p;
}

static inline const char *scan_field(const char *p, const struct schema_field *f,
				     struct trace_event *ev)
{
	uint64_t number;

	switch ((enum schema_type)f->type) {
	case SCHEMA_REASON:
		return scan_reason(p, &ev->reason);
	case SCHEMA_NAME:
		return scan_name(p, ev);
	case SCHEMA_BOOL:
		schema_set_number(f, ev, 1);
		return strncmp(p, "true", 4) != 0 ? NULL : p + 4;
	default:
		p = scan_number(p, UINT64_MAX, &number);
		schema_mark_reported(f, ev);
		return p && schema_set_number(f, ev, number) ? p : NULL;
	}
}

/* False: the line has another form, and *@ev is undefined. */
static bool sidecar_parse_ours(const struct line *line, const char *p, struct trace_event *ev)
{
	size_t i;

	trace_event_init(ev);
	SCHEMA_UNROLL
	for (i = 0; i < SCHEMA_EVENT_FIELDS; i++) {
		const struct schema_field *f = &schema_event_fields[i];

		if (!f->key || memcmp(p, f->member, f->member_size) != 0)
			continue;
		p = scan_field(p + f->member_size, f, ev);
		if (!p)
			return false;
	}
	return *p == '}' && p + 1 == line->text + line->size;
}

/* ---- lines --------------------------------------------------------------- */

static void forget_item(struct sidecar_reader *r)
{
	json_decref(r->object);
	r->object = NULL;
	free(r->command);
	r->command = NULL;
}

/* Reserved for the totals; not counted as unknown. */
static bool is_room(const char *name)
{
	return !strcmp(name, "room");
}

static bool sidecar_is_wanted(const struct sidecar_reader *r, enum trace_item_type type)
{
	return !r->wanted || r->wanted & 1u << type;
}

/* True: the line is an item, stored in *@item. */
static bool parse_any(struct sidecar_reader *r, const struct line *line, bool has_begun,
		      struct trace_item *item)
{
	struct sidecar_type type;
	const char *name;
	int rc = 0;

	r->object = line->too_long ? NULL : json_line_parse(line->text, line->size, &rc);
	r->no_memory = rc == -ENOMEM;
	if (r->no_memory)
		return false;
	name = json_string_value(json_object_get(r->object, "type"));
	if (!name) {
		r->stats.garbage++;
		r->stats.damaged += has_begun;
		return false;
	}
	if (!sidecar_find_type(name, strlen(name), &type)) {
		r->stats.unknown_types += !is_room(name);
		return false;
	}
	if (!sidecar_is_wanted(r, type.type))
		return false;
	trace_item_init(item, type.type);
	if (type.type == TRACE_ITEM_EVENT)
		item->event.kind = type.kind;
	sidecar_get_item(r, r->object, item);
	return true;
}

static bool sidecar_parse(struct sidecar_reader *r, const struct line *line,
			  struct trace_item *item)
{
	struct sidecar_type type;
	const char *behind;
	bool known = type_of_ours(line, &type, &behind);

	if (known && !sidecar_is_wanted(r, type.type))
		return false;
	if (known && type.type == TRACE_ITEM_EVENT &&
	    sidecar_parse_ours(line, behind, &item->event)) {
		item->type = TRACE_ITEM_EVENT;
		item->event.kind = type.kind;
		return true;
	}
	return parse_any(r, line, known, item);
}

int sidecar_take_line(struct sidecar_reader *r, const struct line *line, struct trace_item *item)
{
	bool is_item;

	if (r->object)
		forget_item(r);
	r->stats.lines++;
	if (line_is_blank(line))
		return 0;
	is_item = sidecar_parse(r, line, item);
	if (r->no_memory)
		return -ENOMEM;
	r->stats.records += is_item;
	return is_item;
}

void sidecar_forget(struct sidecar_reader *r)
{
	forget_item(r);
}

int sidecar_next(struct sidecar_reader *r, struct trace_item *item, struct err *err)
{
	struct line line;
	int rc;

	while ((rc = lines_next(&r->lines, &line, err)) > 0) {
		rc = sidecar_take_line(r, &line, item);
		if (rc < 0)
			return err_set(err, rc, "no memory to parse line %" PRIu64 " of '%s'",
				       r->stats.lines, r->lines.name);
		if (rc > 0)
			return 1;
	}
	forget_item(r);
	return rc;
}

/* ---- open and close ------------------------------------------------------ */

int sidecar_reader_open(struct sidecar_reader *r, const char *path, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return lines_open(&r->lines, path, SIDECAR_LINE_MAX, err);
}

int sidecar_reader_open_fd(struct sidecar_reader *r, int fd, const char *name, struct err *err)
{
	memset(r, 0, sizeof(*r));
	return lines_open_fd(&r->lines, fd, name, SIDECAR_LINE_MAX, err);
}

void sidecar_reader_close(struct sidecar_reader *r)
{
	forget_item(r);
	lines_close(&r->lines);
}

/* ---- one that grows --------------------------------------------------------- */

static bool sidecar_begins(const char *line, const char *type)
{
	return !strncmp(line, head, sizeof(head) - 1) &&
	       !strncmp(line + sizeof(head) - 1, type, strlen(type));
}

bool sidecar_final_end(int fd, uint64_t *end)
{
	char tail[SIDECAR_ROOM_SIZE + 1] = "";
	const char *last;
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_size < SIDECAR_ROOM_SIZE ||
	    io_pread(fd, tail, SIDECAR_ROOM_SIZE, st.st_size - SIDECAR_ROOM_SIZE) !=
		    SIDECAR_ROOM_SIZE ||
	    tail[SIDECAR_ROOM_SIZE - 1] != '\n')
		return false;
	*end = (uint64_t)st.st_size - SIDECAR_ROOM_SIZE;
	if (sidecar_begins(tail, "room\""))
		return true;
	/* The totals have replaced the room: the file is complete. */
	last = memrchr(tail, '\n', SIDECAR_ROOM_SIZE - 1);
	*end = (uint64_t)st.st_size;
	return last && sidecar_begins(last + 1, "totals\"");
}
