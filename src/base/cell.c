/* SPDX-License-Identifier: MIT */
/* cell.c - one typed value of a row, and its text in CSV and JSON. */
#include "base/cell.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/fmt.h"
#include "base/fmt_double.h"
#include "base/text.h"
#include "base/utf8.h"

#define CELL_SLACK 64 /* formatters write past the end that they return */

bool cell_is_finite(const struct cell *c)
{
	return c->kind == CELL_SIGNED || c->kind == CELL_UNSIGNED ||
	       (c->kind == CELL_FLOAT && isfinite(c->f)) ||
	       (c->kind == CELL_DOUBLE && isfinite(c->d));
}

/* In JSON a byte may take six characters. */
size_t cell_format_max(const struct cell *c)
{
	return (c->kind == CELL_TEXT ? 6 * c->size + 8 : FMT_DOUBLE_MAX) + CELL_SLACK;
}

static char *cell_put_word(char *at, const char *word)
{
	while (*word)
		*at++ = *word++;
	return at;
}

static char *cell_put_utf8(char *at, const char *text, size_t len, uint32_t cp)
{
	if (cp == UTF8_BAD)
		return cell_put_word(at, "\xef\xbf\xbd");
	memcpy(at, text, len);
	return at + len;
}

static bool cell_needs_quotes(const char *text, size_t size)
{
	size_t i;

	if (!size || text[0] == ' ' || text[size - 1] == ' ')
		return true;
	for (i = 0; i < size; i++) {
		if (text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r')
			return true;
	}
	return false;
}

static char *cell_put_csv(char *at, const struct cell *c, bool quote, bool guard)
{
	size_t i, len;
	uint32_t cp;

	if (quote)
		*at++ = '"';
	if (guard && text_is_formula(c->text, c->size))
		*at++ = '\'';
	for (i = 0; i < c->size; i += len) {
		len = utf8_next(c->text + i, c->size - i, &cp);
		if (cp == '"')
			*at++ = '"';
		at = cell_put_utf8(at, c->text + i, len, cp);
	}
	if (quote)
		*at++ = '"';
	return at;
}

static char *cell_put_json(char *at, const struct cell *c)
{
	static const char hex[] = "0123456789abcdef";
	size_t i, len;
	uint32_t cp;

	*at++ = '"';
	for (i = 0; i < c->size; i += len) {
		len = utf8_next(c->text + i, c->size - i, &cp);
		if (cp < 0x20) {
			at = cell_put_word(at, "\\u00");
			*at++ = hex[cp >> 4];
			*at++ = hex[cp & 15];
			continue;
		}
		if (cp == '"' || cp == '\\')
			*at++ = '\\';
		at = cell_put_utf8(at, c->text + i, len, cp);
	}
	*at++ = '"';
	return at;
}

static char *cell_put_real(char *at, const struct cell *c, bool json)
{
	double d = c->kind == CELL_FLOAT ? (double)c->f : c->d;

	if (!isfinite(d))
		return cell_put_word(at, json ? "null" : isnan(d) ? "nan" : d < 0 ? "-inf" : "inf");
	return c->kind == CELL_FLOAT ? fmt_float(at, c->f) : fmt_double(at, c->d);
}

char *cell_format(char *at, const struct cell *c, enum cell_form form, bool guard)
{
	bool json = form == CELL_JSON;

	switch (c->kind) {
	case CELL_SIGNED:
		if (c->i < 0)
			*at++ = '-';
		return fmt_u64(at, c->i < 0 ? -(uint64_t)c->i : (uint64_t)c->i);
	case CELL_UNSIGNED:
		return fmt_u64(at, c->u);
	case CELL_BOOL:
		return cell_put_word(at, c->u ? "true" : "false");
	case CELL_FLOAT:
	case CELL_DOUBLE:
		return cell_put_real(at, c, json);
	case CELL_TEXT:
		if (json)
			return cell_put_json(at, c);
		return cell_put_csv(at, c,
				    form == CELL_CSV_QUOTED || cell_needs_quotes(c->text, c->size),
				    guard);
	default:
		return json ? cell_put_word(at, "null") : at;
	}
}

int cell_put(struct outfile *f, const struct cell *c, enum cell_form form, bool guard)
{
	size_t most = cell_format_max(c);
	char *text;

	if (most <= OUTFILE_ROOM) {
		f->at = cell_format(outfile_room(f), c, form, guard);
		return 0;
	}
	text = malloc(most);
	if (!text)
		return -ENOMEM;
	outfile_put(f, text, (size_t)(cell_format(text, c, form, guard) - text));
	free(text);
	return 0;
}
