/* SPDX-License-Identifier: MIT */
/* spec_lex.c - tokens of a spec, and locations of errors. */
#include "frames/spec/spec_lex.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- errors ---------------------------------------------------------------- */

static void lex_locate(struct lexer *l, const char *where)
{
	const char *line = l->text, *c, *stop;
	struct spec_error *e = l->error;
	size_t before, from, len;
	char *nul;

	e->line = 1;
	for (c = l->text; c < where; c++) {
		if (*c == '\n') {
			e->line++;
			line = c + 1;
		}
	}
	before = (size_t)(where - line);
	e->column = (unsigned)before + 1;
	stop = memchr(where, '\n', (size_t)(l->end - where));
	if (!stop)
		stop = l->end;
	/* Of a long line, only the part around the location. */
	from = before > 150 ? before - 100 : 0;
	len = (size_t)(stop - line) - from;
	if (len > sizeof(e->source) - 1)
		len = sizeof(e->source) - 1;
	memcpy(e->source, line + from, len);
	e->source[len] = 0;
	/* The source line is a C string: a NUL byte of the spec must not end it. */
	while ((nul = memchr(e->source, 0, len)))
		*nul = '?';
	e->caret = (unsigned)(before - from);
}

bool lex_fail_at(struct lexer *l, const char *where, const char *fmt, ...)
{
	va_list ap;

	if (l->code)
		return false;
	l->code = -EINVAL;
	lex_locate(l, where);
	va_start(ap, fmt);
	vsnprintf(l->error->text, sizeof(l->error->text), fmt, ap);
	va_end(ap);
	return false;
}

bool lex_hint(struct lexer *l, const char *text)
{
	if (l->code == -EINVAL && !l->error->hint[0])
		snprintf(l->error->hint, sizeof(l->error->hint), "%s", text);
	return false;
}

bool lex_no_memory(struct lexer *l)
{
	if (!l->code)
		l->code = -ENOMEM;
	return false;
}

/* The current token, for messages. */
static const char *lex_got(const struct lexer *l, char buf[64])
{
	if (l->token == TOKEN_END)
		snprintf(buf, 64, "the end");
	else if (l->token == TOKEN_TEXT)
		snprintf(buf, 64, "a quoted text");
	else
		snprintf(buf, 64, "'%.*s'", l->len > 40 ? 40 : (int)l->len, l->start);
	return buf;
}

bool lex_expected(struct lexer *l, const char *what)
{
	char buf[64];

	return lex_fail_at(l, l->start, "expected %s, got %s", what, lex_got(l, buf));
}

/* Grow an array by one element; NULL: no memory. */
void *lex_grow(struct lexer *l, void *array, size_t nr, size_t size)
{
	void *grown = reallocarray(array, nr + 1, size);

	if (!grown) {
		lex_no_memory(l);
		return NULL;
	}
	memset((char *)grown + nr * size, 0, size);
	return grown;
}

/* ---- tokens ---------------------------------------------------------------- */

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool lex_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_wordy(char c)
{
	return is_letter(c) || lex_is_digit(c) || c == '_';
}

/* Comments nest. */
static bool skip_comment(struct lexer *l)
{
	const char *begin = l->at;
	unsigned depth = 0;

	do {
		if (l->end - l->at >= 2 && l->at[0] == '/' && l->at[1] == '*') {
			depth++;
			l->at += 2;
		} else if (l->end - l->at >= 2 && l->at[0] == '*' && l->at[1] == '/') {
			depth--;
			l->at += 2;
		} else if (l->at < l->end) {
			l->at++;
		} else {
			l->start = begin;
			lex_fail_at(l, begin, "this comment has no end");
			return lex_hint(l, "comments nest: each '/*' in it wants a '*/'");
		}
	} while (depth);
	return true;
}

static bool skip_blank(struct lexer *l)
{
	while (l->at < l->end) {
		if (*l->at == ' ' || (*l->at >= '\t' && *l->at <= '\r')) {
			l->at++;
		} else if (l->end - l->at >= 2 && l->at[0] == '/' && l->at[1] == '/') {
			while (l->at < l->end && *l->at != '\n')
				l->at++;
		} else if (l->end - l->at >= 2 && l->at[0] == '/' && l->at[1] == '*') {
			if (!skip_comment(l))
				return false;
		} else {
			break;
		}
	}
	return true;
}

static bool lex_quoted(struct lexer *l)
{
	const char *close = memchr(l->at, '"', (size_t)(l->end - l->at)), *nul;

	if (!close || memchr(l->at, '\n', (size_t)(close - l->at)))
		return lex_fail_at(l, l->start, "this text has no closing quote");
	nul = memchr(l->at, 0, (size_t)(close - l->at));
	if (nul)
		return lex_fail_at(l, nul, "a quoted text cannot contain a NUL byte");
	l->token = TOKEN_TEXT;
	l->start = l->at;
	l->len = (size_t)(close - l->at);
	l->at = close + 1;
	return true;
}

bool lex_advance(struct lexer *l)
{
	if (l->code || !skip_blank(l))
		return false;
	l->start = l->at;
	l->len = 0;
	l->token = TOKEN_END;
	if (l->at == l->end)
		return true;
	if (*l->at == '"') {
		l->at++;
		return lex_quoted(l);
	}
	if (is_letter(*l->at) || *l->at == '_') {
		l->token = TOKEN_WORD;
		while (l->at < l->end && is_wordy(*l->at))
			l->at++;
		/* C++ is one word, too. */
		if (l->at - l->start == 1 && *l->start == 'C' && l->end - l->at >= 2 &&
		    l->at[0] == '+' && l->at[1] == '+')
			l->at += 2;
	} else if (lex_is_digit(*l->at)) {
		l->token = TOKEN_NUMBER;
		while (l->at < l->end && is_wordy(*l->at))
			l->at++;
	} else if (strchr("{}[];,=-", *l->at) && *l->at) {
		l->token = TOKEN_SIGN;
		l->at++;
	} else {
		if ((unsigned char)*l->at >= 0x80 || *l->at == '\'')
			lex_fail_at(l, l->at, "a name takes ASCII letters, digits and '_' only");
		else if (*l->at < ' ' || *l->at == 0x7f)
			lex_fail_at(l, l->at, "a character that does not belong here: \\x%02x",
				    (unsigned char)*l->at);
		else
			lex_fail_at(l, l->at, "a character that does not belong here: '%c'",
				    *l->at);
		return false;
	}
	l->len = (size_t)(l->at - l->start);
	return true;
}

static bool lex_is(const struct lexer *l, enum token token, const char *text)
{
	return l->token == token && strlen(text) == l->len && !memcmp(text, l->start, l->len);
}

bool lex_is_word(const struct lexer *l, const char *text)
{
	return lex_is(l, TOKEN_WORD, text);
}

bool lex_is_sign(const struct lexer *l, const char *text)
{
	return lex_is(l, TOKEN_SIGN, text);
}

bool lex_take_sign(struct lexer *l, const char *sign, const char *what)
{
	if (!lex_is_sign(l, sign))
		return lex_expected(l, what);
	return lex_advance(l);
}

bool lex_number(struct lexer *l, uint64_t min, uint64_t max, const char *what, uint64_t *out)
{
	uint64_t value = 0;
	size_t i;

	if (l->token != TOKEN_NUMBER)
		return lex_expected(l, what);
	for (i = 0; i < l->len; i++) {
		if (!lex_is_digit(l->start[i]))
			return lex_fail_at(l, l->start + i, "'%c' is not a digit", l->start[i]);
		if (value > max / 10)
			value = max + 1;
		else
			value = value * 10 + (uint64_t)(l->start[i] - '0');
		if (value > max)
			break;
	}
	if (value < min || value > max)
		return lex_fail_at(l, l->start, "%s is from %llu to %llu", what,
				   (unsigned long long)min, (unsigned long long)max);
	*out = value;
	return lex_advance(l);
}
