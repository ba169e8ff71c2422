/* SPDX-License-Identifier: MIT */
/* json_writer.c - write JSON as a stream, to a FILE or into memory. */
#include "base/json_writer.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/utf8.h"

static void jw_fail(struct json_writer *w, int code)
{
	if (!w->error)
		w->error = code;
}

/* ---- bytes --------------------------------------------------------------- */

static bool jw_make_room(struct json_writer *w, size_t more)
{
	size_t want = w->used + more + 1, size = w->size ? w->size : 256;
	char *bigger;

	if (want <= w->size)
		return true;
	while (size < want)
		size *= 2;
	bigger = realloc(w->buf, size);
	if (!bigger) {
		jw_fail(w, -ENOMEM);
		return false;
	}
	w->buf = bigger;
	w->size = size;
	return true;
}

static void jw_emit(struct json_writer *w, const char *bytes, size_t size)
{
	if (w->error)
		return;
	if (w->file) {
		errno = 0;
		if (fwrite_unlocked(bytes, 1, size, w->file) != size)
			jw_fail(w, errno ? -errno : -EIO);
		return;
	}
	if (!jw_make_room(w, size))
		return;
	memcpy(w->buf + w->used, bytes, size);
	w->used += size;
	w->buf[w->used] = '\0';
}

static void emit_char(struct json_writer *w, char c)
{
	jw_emit(w, &c, 1);
}

/* ---- structure ----------------------------------------------------------- */

static uint64_t jw_level(const struct json_writer *w)
{
	return UINT64_C(1) << (w->depth - 1);
}

/* Write the comma before a value, and check that a value is allowed here. */
static void before_value(struct json_writer *w)
{
	if (w->after_key) {
		w->after_key = false;
		return;
	}
	if (!w->depth)
		return;
	if (w->in_object & jw_level(w)) {
		jw_fail(w, -EINVAL); /* a member without a key */
		return;
	}
	if (w->has_member & jw_level(w))
		emit_char(w, ',');
	w->has_member |= jw_level(w);
}

static void jw_begin(struct json_writer *w, bool object)
{
	before_value(w);
	if (w->depth == JW_DEPTH_MAX) {
		jw_fail(w, -E2BIG);
		return;
	}
	w->depth++;
	w->has_member &= ~jw_level(w);
	w->in_object &= ~jw_level(w);
	if (object)
		w->in_object |= jw_level(w);
	emit_char(w, object ? '{' : '[');
}

static void jw_end(struct json_writer *w, bool object)
{
	if (!w->depth || w->after_key || object != !!(w->in_object & jw_level(w))) {
		jw_fail(w, -EINVAL);
		return;
	}
	emit_char(w, object ? '}' : ']');
	w->depth--;
}

/* ---- strings ------------------------------------------------------------- */

static void emit_escape(struct json_writer *w, uint32_t cp)
{
	static const char hex[] = "0123456789abcdef";
	char text[6] = { '\\', 'u', '0', '0', hex[cp >> 4 & 15], hex[cp & 15] };
	static const char shorts[] = "\"\"\\\\\bb\ff\nn\rr\tt";
	const char *s;

	for (s = shorts; *s; s += 2) {
		if ((uint32_t)*s == cp) {
			text[1] = s[1];
			jw_emit(w, text, 2);
			return;
		}
	}
	jw_emit(w, text, sizeof(text));
}

/* Also DEL and C1 controls: JSON allows them, but the output may be printed on a terminal. */
static bool needs_escape(uint32_t cp)
{
	return cp < 0x20 || cp == '"' || cp == '\\' || (cp >= 0x7f && cp < 0xa0);
}

/* Number of bytes at the begin of @text that are printable ASCII and need no escape. */
static size_t plain_length(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && text[at] >= ' ' && text[at] < 0x7f && text[at] != '"' &&
	       text[at] != '\\')
		at++;
	return at;
}

/* Keys and most values: with its quotes at once. */
static void emit_plain(struct json_writer *w, const char *text, size_t size)
{
	char *to;

	if (w->error || !jw_make_room(w, size + 2))
		return;
	to = w->buf + w->used;
	to[0] = '"';
	memcpy(to + 1, text, size);
	to[size + 1] = '"';
	to[size + 2] = '\0';
	w->used += size + 2;
}

/* Writes runs of characters that need no escape in one piece. */
static void emit_string(struct json_writer *w, const char *text, size_t size)
{
	size_t start = 0, at = plain_length(text, size), len;
	uint32_t cp;

	if (at == size && !w->file) {
		emit_plain(w, text, size);
		return;
	}
	emit_char(w, '"');
	while (at < size) {
		len = utf8_next(text + at, size - at, &cp);
		if ((cp == UTF8_BAD && (len < 3 || (unsigned char)text[at] != 0xef)) ||
		    needs_escape(cp)) {
			jw_emit(w, text + start, at - start);
			if (cp == UTF8_BAD)
				jw_emit(w, "\xef\xbf\xbd", 3);
			else
				emit_escape(w, cp);
			start = at + len;
		}
		at += len;
	}
	jw_emit(w, text + start, size - start);
	emit_char(w, '"');
}

/* ---- public functions ---------------------------------------------------- */

void jw_init_file(struct json_writer *w, FILE *file)
{
	memset(w, 0, sizeof(*w));
	w->file = file;
}

void jw_init_buffer(struct json_writer *w)
{
	memset(w, 0, sizeof(*w));
}

int jw_release(struct json_writer *w)
{
	if (w->depth || w->after_key)
		jw_fail(w, -EINVAL);
	if (w->file && fflush(w->file) != 0)
		jw_fail(w, -errno);
	free(w->buf);
	w->buf = NULL;
	w->used = w->size = 0;
	return w->error;
}

const char *jw_text(const struct json_writer *w, size_t *size)
{
	if (size)
		*size = w->error ? 0 : w->used;
	if (w->error)
		return NULL;
	return w->buf ? w->buf : "";
}

void jw_text_taken(struct json_writer *w)
{
	w->used = 0;
}

void jw_object_begin(struct json_writer *w)
{
	jw_begin(w, true);
}

void jw_object_end(struct json_writer *w)
{
	jw_end(w, true);
}

void jw_array_begin(struct json_writer *w)
{
	jw_begin(w, false);
}

void jw_array_end(struct json_writer *w)
{
	jw_end(w, false);
}

void jw_key(struct json_writer *w, const char *key)
{
	if (!w->depth || !(w->in_object & jw_level(w)) || w->after_key) {
		jw_fail(w, -EINVAL);
		return;
	}
	if (w->has_member & jw_level(w))
		emit_char(w, ',');
	w->has_member |= jw_level(w);
	emit_string(w, key, strlen(key));
	emit_char(w, ':');
	w->after_key = true;
}

void jw_string_n(struct json_writer *w, const char *text, size_t size)
{
	before_value(w);
	emit_string(w, text, size);
}

void jw_string(struct json_writer *w, const char *text)
{
	if (text)
		jw_string_n(w, text, strlen(text));
	else
		jw_null(w);
}

void jw_u64(struct json_writer *w, uint64_t value)
{
	char text[FMT_U64_MAX + FMT_SLACK];

	before_value(w);
	jw_emit(w, text, (size_t)(fmt_u64(text, value) - text));
}

void jw_thousandths(struct json_writer *w, uint64_t value)
{
	char text[FMT_U64_MAX + 4 + FMT_SLACK], *p = fmt_u64(text, value / 1000);
	unsigned rest = (unsigned)(value % 1000);

	before_value(w);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100);
	*p++ = (char)('0' + rest / 10 % 10);
	*p++ = (char)('0' + rest % 10);
	jw_emit(w, text, (size_t)(p - text));
}

void jw_i64(struct json_writer *w, int64_t value)
{
	char text[1 + FMT_U64_MAX + FMT_SLACK], *start = text;

	before_value(w);
	if (value < 0)
		*start++ = '-';
	jw_emit(w, text,
		(size_t)(fmt_u64(start, value < 0 ? 0 - (uint64_t)value : (uint64_t)value) - text));
}

void jw_double(struct json_writer *w, double value)
{
	char text[40], *comma;
	int precision;

	if (!isfinite(value)) {
		jw_null(w);
		return;
	}
	before_value(w);
	/* The shortest precision that reads back as the same value. */
	for (precision = 15; precision <= 17; precision++) {
		snprintf(text, sizeof(text), "%.*g", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	/* The decimal point may be a comma in the locale. */
	comma = strchr(text, ',');
	if (comma)
		*comma = '.';
	jw_emit(w, text, strlen(text));
}

void jw_bool(struct json_writer *w, bool value)
{
	before_value(w);
	jw_emit(w, value ? "true" : "false", value ? 4 : 5);
}

void jw_null(struct json_writer *w)
{
	before_value(w);
	jw_emit(w, "null", 4);
}

void jw_newline(struct json_writer *w)
{
	if (w->depth || w->after_key)
		jw_fail(w, -EINVAL);
	emit_char(w, '\n');
}

void jw_field_string(struct json_writer *w, const char *key, const char *text)
{
	jw_key(w, key);
	jw_string(w, text);
}

void jw_field_u64(struct json_writer *w, const char *key, uint64_t value)
{
	jw_key(w, key);
	jw_u64(w, value);
}

void jw_field_i64(struct json_writer *w, const char *key, int64_t value)
{
	jw_key(w, key);
	jw_i64(w, value);
}

void jw_field_double(struct json_writer *w, const char *key, double value)
{
	jw_key(w, key);
	jw_double(w, value);
}

void jw_field_bool(struct json_writer *w, const char *key, bool value)
{
	jw_key(w, key);
	jw_bool(w, value);
}

void jw_field_null(struct json_writer *w, const char *key)
{
	jw_key(w, key);
	jw_null(w);
}
