/* SPDX-License-Identifier: MIT */
/* json_line.c - parse a line of JSON with jansson, keeping 64-bit numbers exact. */
#include "trace/json_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"

/* 10^18 - 1 always fits in 64 signed bits, a number of 19 digits may not. */
#define LONG_DIGITS 19

static bool json_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Returns the end of the string that starts at @p, or @end if it is not terminated. */
static const char *skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++) {
		if (*p == '\\')
			p++;
	}
	return p < end ? p + 1 : end;
}

/* Skips every character that a number may contain. */
static const char *skip_number(const char *p, const char *end)
{
	while (p < end &&
	       (json_is_digit(*p) || *p == '.' || *p == '-' || *p == '+' || *p == 'e' || *p == 'E'))
		p++;
	return p;
}

/*
 * True if this is an integer in JSON spelling, too long for jansson, and a value.  Before a
 * colon a number is not valid JSON, and quotes would turn it into a key.
 */
static bool is_long_integer(const char *p, const char *stop, const char *end)
{
	const char *digits = p + (*p == '-'), *c;

	if (stop - digits < LONG_DIGITS || *digits == '0')
		return false;
	for (c = digits; c < stop; c++) {
		if (!json_is_digit(*c))
			return false;
	}
	while (stop < end && (*stop == ' ' || *stop == '\t' || *stop == '\r'))
		stop++;
	return stop == end || *stop != ':';
}

/*
 * Finds the first integer from @p on that jansson may not hold, and its end; NULL: there is
 * none.
 */
static const char *find_long_integer(const char *p, const char *end, const char **stop)
{
	while (p < end) {
		if (*p == '"') {
			p = skip_string(p, end);
		} else if (json_is_digit(*p) || *p == '-') {
			*stop = skip_number(p, end);
			if (is_long_integer(p, *stop, end))
				return p;
			p = *stop;
		} else {
			p++;
		}
	}
	return NULL;
}

/* Returns the line with such integers in quotes; NULL: no memory. */
static char *quote_long_integers(const char *text, size_t size, size_t *quoted_size)
{
	/* Each pair of quotes encloses at least LONG_DIGITS digits. */
	char *quoted = malloc(size + 2 * (size / LONG_DIGITS) + 1), *out = quoted;
	const char *p = text, *end = text + size, *number, *stop;

	if (!quoted)
		return NULL;
	while ((number = find_long_integer(p, end, &stop))) {
		memcpy(out, p, (size_t)(number - p));
		out += number - p;
		*out++ = '"';
		memcpy(out, number, (size_t)(stop - number));
		out += stop - number;
		*out++ = '"';
		p = stop;
	}
	memcpy(out, p, (size_t)(end - p));
	*quoted_size = (size_t)(out - quoted) + (size_t)(end - p);
	return quoted;
}

json_t *json_line_parse(const char *text, size_t size, int *rc)
{
	const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_ANY;
	const char *stop;
	json_t *value;
	char *quoted;

	if (!find_long_integer(text, text + size, &stop))
		return json_parse(text, size, flags, NULL, rc);
	quoted = quote_long_integers(text, size, &size);
	if (!quoted) {
		*rc = -ENOMEM;
		return NULL;
	}
	value = json_parse(quoted, size, flags, NULL, rc);
	free(quoted);
	return value;
}

static unsigned digit_value(char c)
{
	if (json_is_digit(c))
		return (unsigned)(c - '0');
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10) : 16;
}

/* Digits of @base, at least one; false on overflow. */
static bool string_u64(const char *s, size_t size, unsigned base, uint64_t *out)
{
	uint64_t number = 0;
	size_t i;

	for (i = 0; i < size; i++) {
		unsigned digit = digit_value(s[i]);

		if (digit >= base || __builtin_mul_overflow(number, (uint64_t)base, &number) ||
		    __builtin_add_overflow(number, (uint64_t)digit, &number))
			return false;
	}
	if (!size)
		return false;
	*out = number;
	return true;
}

bool json_u64(const json_t *value, uint64_t *out)
{
	const char *s;
	size_t size;

	if (json_is_integer(value) && json_integer_value(value) >= 0) {
		*out = (uint64_t)json_integer_value(value);
		return true;
	}
	if (!json_is_string(value))
		return false;
	s = json_string_value(value);
	size = json_string_length(value);
	if (size > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X'))
		return string_u64(s + 2, size - 2, 16, out);
	return string_u64(s, size, 10, out);
}
