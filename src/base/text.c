/* SPDX-License-Identifier: MIT */
/* text.c - format numbers and sanitize untrusted strings for a terminal. */
#include "base/text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/fmt.h"
#include "base/utf8.h"

const char *text_count(char buf[TEXT_SIZE], uint64_t value)
{
	char digits[FMT_U64_MAX + FMT_SLACK], *out = buf;
	size_t nr = (size_t)(fmt_u64(digits, value) - digits), i;

	for (i = 0; i < nr; i++) {
		if (i && (nr - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
	return buf;
}

const char *text_share(char buf[TEXT_SIZE], uint64_t part, uint64_t whole)
{
	buf[0] = '\0';
	if (part && whole)
		snprintf(buf, TEXT_SIZE, " (%.3g %%)", 100.0 * (double)part / (double)whole);
	return buf;
}

const char *text_duration(char buf[TEXT_SIZE], uint64_t ns)
{
	double d = (double)ns;

	if (ns < 1000)
		snprintf(buf, TEXT_SIZE, "%u ns", (unsigned)ns);
	else if (ns < 1000000)
		snprintf(buf, TEXT_SIZE, "%.3f us", d / 1e3);
	else if (ns < 1000000000)
		snprintf(buf, TEXT_SIZE, "%.3f ms", d / 1e6);
	else if (d < 600e9)
		snprintf(buf, TEXT_SIZE, "%.3f s", d / 1e9);
	else if (d < 172800e9)
		snprintf(buf, TEXT_SIZE, "%.1f min", d / 60e9);
	else
		snprintf(buf, TEXT_SIZE, "%.1f days", d / 86400e9);
	return buf;
}

/* Zero-width joiners count as safe: some scripts and emoji need them. */
bool text_is_unsafe(uint32_t cp)
{
	static const struct {
		uint32_t first, last;
	} ranges[] = {
		{ 0x0, 0x1f },        { 0x7f, 0x9f },     { 0xad, 0xad },     { 0x61c, 0x61c },
		{ 0x180e, 0x180e },   { 0x200b, 0x200b }, { 0x200e, 0x200f }, { 0x2028, 0x202e },
		{ 0x2060, 0x206f },   { 0xfeff, 0xfeff }, { 0xfff9, 0xfffb }, { 0xfffe, 0xffff },
		{ 0xe0000, 0xe007f },
	};
	size_t i;

	if (cp >= 0x20 && cp < 0x7f)
		return false;
	for (i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
		if (cp >= ranges[i].first && cp <= ranges[i].last)
			return true;
	}
	return false;
}

bool text_has_unsafe(const char *text)
{
	size_t size = strlen(text), at = 0;

	while (at < size) {
		uint32_t cp;

		at += utf8_next(text + at, size - at, &cp);
		if (cp == UTF8_BAD || text_is_unsafe(cp))
			return true;
	}
	return false;
}

#define ESCAPE_SIZE 16

/* The text to show for the character at @text, which has @len bytes; *@shown bytes, at least 1. */
static const char *shown_as(const char *text, size_t len, uint32_t cp, char buf[ESCAPE_SIZE],
			    size_t *shown)
{
	*shown = len;
	if (cp == UTF8_BAD) {
		*shown = 3;
		return "\xef\xbf\xbd";
	}
	if (!text_is_unsafe(cp))
		return text;
	*shown = (size_t)snprintf(buf, ESCAPE_SIZE, cp < 0x100 ? "\\x%02x" : "\\u%04x", cp);
	return buf;
}

static int char_width(uint32_t cp)
{
	if (!text_is_unsafe(cp))
		return 1;
	return cp < 0x100 ? 4 : cp < 0x10000 ? 6 : 7;
}

/* As much of @text as fits into @columns. */
static void text_text_put(FILE *file, const char *text, size_t size, int columns)
{
	size_t at = 0;

	while (at < size) {
		char escape[ESCAPE_SIZE];
		uint32_t cp;
		size_t len = utf8_next(text + at, size - at, &cp), shown;
		const char *as = shown_as(text + at, len, cp, escape, &shown);

		columns -= char_width(cp);
		if (columns < 0)
			break;
		fwrite(as, 1, shown, file);
		at += len;
	}
}

void text_put(FILE *file, const char *text)
{
	text_text_put(file, text, strlen(text), INT_MAX);
}

void text_put_n(FILE *file, const char *text, size_t size)
{
	text_text_put(file, text, size, INT_MAX);
}

const char *text_safe(const char *text, char *buf, size_t size)
{
	size_t length = strlen(text), at = 0, used = 0;

	while (at < length) {
		char escape[ESCAPE_SIZE];
		uint32_t cp;
		size_t len = utf8_next(text + at, length - at, &cp), shown;
		const char *as = shown_as(text + at, len, cp, escape, &shown);

		if (used + shown >= size)
			break;
		memcpy(buf + used, as, shown);
		used += shown;
		at += len;
	}
	buf[used] = '\0';
	return buf;
}

bool text_is_formula(const char *text, size_t size)
{
	size_t at = 0;

	while (at < size && text[at] == '\'')
		at++;
	return at < size && text[at] && strchr("=+-@\t\r\n", text[at]);
}

void text_put_csv(FILE *file, const char *text, size_t size, bool guard)
{
	size_t i;

	putc('"', file);
	if (guard && text_is_formula(text, size))
		putc('\'', file);
	for (i = 0; i < size; i++) {
		if (text[i] == '"')
			putc('"', file);
		putc(text[i], file);
	}
	putc('"', file);
}

void text_put_short(FILE *file, const char *text, int columns)
{
	if (text_width(text) <= columns) {
		text_text_put(file, text, strlen(text), columns);
		return;
	}
	text_text_put(file, text, strlen(text), columns - 3);
	fputs("...", file);
}

int text_width(const char *text)
{
	size_t size = strlen(text), at = 0;
	int width = 0;

	while (at < size) {
		uint32_t cp;

		at += utf8_next(text + at, size - at, &cp);
		width += char_width(cp);
	}
	return width;
}

static int text_is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	return *word && !word[strspn(word, plain)];
}

void text_put_word(FILE *file, const char *word)
{
	const char *quote;

	if (text_is_plain(word)) {
		fputs(word, file);
		return;
	}
	fputc('\'', file);
	while ((quote = strchr(word, '\''))) {
		char *part = strndup(word, (size_t)(quote - word));

		text_put(file, part ? part : "");
		free(part);
		fputs("'\\''", file);
		word = quote + 1;
	}
	text_put(file, word);
	fputc('\'', file);
}
