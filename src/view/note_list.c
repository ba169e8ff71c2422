/* SPDX-License-Identifier: MIT */
/* note_list.c - notes that a reader of the page wrote. */
#include "view/note_list.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "base/json_writer.h"
#include "page/section_read.h"

#define NOTE_TIME_MAX 9007199254740992.0 /* exact in a double */

/* ---- parsing -------------------------------------------------------------------------- */

/* A time, or null.  False: neither. */
static bool note_time(const json_t *value, bool *has, int64_t *ns)
{
	double time = json_number_value(value);

	*has = value && !json_is_null(value);
	*ns = 0;
	if (!*has)
		return true;
	if (!json_is_number(value) || !(fabs(time) < NOTE_TIME_MAX))
		return false;
	*ns = (int64_t)time;
	return true;
}

static bool note_is_id(const char *text)
{
	size_t size = text ? strlen(text) : 21;

	return size <= 20 && strspn(text, "0123456789") == size;
}

/* False: cannot be a note. */
static bool note_take(const json_t *value, struct view_note *note)
{
	const char *text = json_string_value(json_object_get(value, "text"));
	const char *id = json_string_value(json_object_get(value, "id"));
	const char *made = json_string_value(json_object_get(value, "made"));

	if (!note_time(json_object_get(value, "from"), &note->has_from, &note->from) ||
	    !note_time(json_object_get(value, "to"), &note->has_to, &note->to))
		return false;
	if (note->has_to && (!note->has_from || note->to < note->from))
		return false;
	if (!text || !*text || strlen(text) > NOTE_TEXT_MAX || (id && !note_is_id(id)))
		return false;
	if (!note->has_from && !(id && *id))
		return false;
	note->text = strdup(text);
	note->id = strdup(id ? id : "");
	note->made = strdup(made && strlen(made) <= 40 ? made : "");
	return true;
}

static void note_release(struct view_note *note)
{
	free(note->text);
	free(note->id);
	free(note->made);
}

static int note_list_add(struct note_list *n, const json_t *value)
{
	struct view_note note = { .text = NULL };

	if (n->nr == NOTES_MAX || !note_take(value, &note)) {
		n->dropped++;
		return 0;
	}
	if (n->nr == n->room) {
		size_t room = n->room ? n->room * 2 : 32;
		struct view_note *all = reallocarray(n->all, room, sizeof(*all));

		n->all = all ? all : n->all;
		n->room = all ? room : n->room;
	}
	if (n->nr == n->room || !note.text || !note.id || !note.made) {
		note_release(&note);
		return -ENOMEM;
	}
	n->all[n->nr++] = note;
	return 0;
}

static int notes_bad(const char *path, const char *why, struct err *err)
{
	err_set(err, -EINVAL, "'%s' has no notes: %s", path, why);
	err_hint(err, "the view Notes of the page saves them");
	return -EINVAL;
}

static int notes_take(struct note_list *n, const char *path, const json_t *root, struct err *err)
{
	const char *origin = json_string_value(json_object_get(root, "origin"));
	const json_t *all = json_object_get(root, "notes"), *value;
	size_t i;

	if (json_integer_value(json_object_get(root, "format")) != 1 || !json_is_array(all))
		return notes_bad(path, "it is not of format 1", err);
	if (!origin || !*origin || !note_is_id(origin))
		return notes_bad(path, "its times have no origin", err);
	n->origin = strtoull(origin, NULL, 10);
	for (i = 0; i < json_array_size(all); i++) {
		value = json_array_get(all, i);
		if (note_list_add(n, value) < 0)
			return err_set(err, -ENOMEM, "no memory for the notes of '%s'", path);
	}
	return 0;
}

int note_list_parse(struct note_list *n, const char *path, const char *text, size_t size,
		    struct err *err)
{
	json_error_t why;
	int rc;
	json_t *root = json_parse(text, size, 0, &why, &rc);

	if (root)
		rc = notes_take(n, path, root, err);
	else if (rc == -ENOMEM)
		err_set(err, rc, "no memory for the notes of '%s'", path);
	else
		rc = notes_bad(path, "it is neither JSON nor a page", err);
	json_decref(root);
	return rc;
}

/* ---- files ---------------------------------------------------------------------------- */

static int notes_read_all(FILE *file, const char *path, struct bytes *text, struct err *err)
{
	unsigned char *at;
	size_t nr;

	do {
		at = bytes_more(text, 65536);
		nr = at ? fread(at, 1, 65536, file) : 0;
		text->size -= at ? 65536 - nr : 0;
	} while (nr && text->size <= NOTES_SIZE_MAX);
	if (text->error)
		return err_set(err, -ENOMEM, "no memory for '%s'", path);
	if (ferror(file))
		return err_errno(err, "cannot read '%s'", path);
	if (text->size > NOTES_SIZE_MAX)
		return err_set(err, -EFBIG, "'%s' is too large for notes", path);
	return 0;
}

int note_list_read(struct note_list *n, const char *path, struct err *err)
{
	struct bytes text = { 0 };
	FILE *file = fopen(path, "re");
	int first, rc;

	if (!file)
		return err_errno(err, "cannot open '%s'", path);
	first = getc(file);
	ungetc(first, file);
	if (first == '<')
		rc = page_section_read(file, path, "notes", NOTES_SIZE_MAX, &text, err);
	else
		rc = notes_read_all(file, path, &text, err);
	if (first == '<' && !rc)
		rc = notes_bad(path, "it is a page without notes", err);
	if (rc >= 0)
		rc = note_list_parse(n, path, (const char *)text.data, text.size, err);
	fclose(file);
	bytes_release(&text);
	return rc;
}

/* ---- writing --------------------------------------------------------------------------- */

size_t note_list_outside(const struct note_list *n, uint64_t first, uint64_t last)
{
	size_t i, nr = 0;

	for (i = 0; i < n->nr; i++) {
		int64_t ts = (int64_t)(n->origin + (uint64_t)n->all[i].from);

		nr += n->all[i].has_from && (ts < (int64_t)first || ts > (int64_t)last);
	}
	return nr;
}

static void note_put_time(struct json_writer *j, const char *key, bool has, int64_t ns)
{
	if (has)
		jw_field_i64(j, key, ns);
	else
		jw_field_null(j, key);
}

static void note_put(struct json_writer *j, const struct view_note *note, int64_t shift)
{
	jw_object_begin(j);
	note_put_time(j, "from", note->has_from, (int64_t)((uint64_t)note->from + (uint64_t)shift));
	note_put_time(j, "to", note->has_to, (int64_t)((uint64_t)note->to + (uint64_t)shift));
	jw_field_string(j, "id", note->id);
	jw_field_string(j, "text", note->text);
	jw_field_string(j, "made", note->made);
	jw_object_end(j);
}

int note_list_write(const struct note_list *n, const char *trace, uint64_t origin,
		    struct bytes *out)
{
	struct json_writer j;
	char digits[24];
	const char *text;
	size_t i, size = 0;
	int rc;

	snprintf(digits, sizeof(digits), "%" PRIu64, origin);
	jw_init_buffer(&j);
	jw_object_begin(&j);
	jw_field_u64(&j, "format", 1);
	jw_field_string(&j, "trace", trace);
	jw_field_string(&j, "origin", digits);
	jw_key(&j, "notes");
	jw_array_begin(&j);
	for (i = 0; i < n->nr; i++)
		note_put(&j, &n->all[i], (int64_t)(n->origin - origin));
	jw_array_end(&j);
	jw_object_end(&j);
	text = jw_text(&j, &size);
	if (text)
		bytes_add(out, text, size);
	rc = jw_release(&j);
	return rc < 0 || out->error ? -ENOMEM : 0;
}

void note_list_release(struct note_list *n)
{
	size_t i;

	for (i = 0; i < n->nr; i++)
		note_release(&n->all[i]);
	free(n->all);
	*n = (struct note_list){ .nr = 0 };
}
