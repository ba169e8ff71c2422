/* SPDX-License-Identifier: MIT */
/* text.c - numbers and strangers' strings, for people to read. */
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

/* What would move the cursor, or start to. */
static int is_control(uint32_t cp)
{
	return cp < 0x20 || (cp >= 0x7f && cp < 0xa0) || cp == 0x2028 || cp == 0x2029 ||
	       (cp >= 0x202a && cp <= 0x202e) || (cp >= 0x2066 && cp <= 0x2069);
}

static int char_width(uint32_t cp)
{
	if (!is_control(cp))
		return 1;
	return cp < 0x100 ? 4 : 6;
}

/* As much of @text as fits into @columns. */
static void put(FILE *file, const char *text, int columns)
{
	size_t size = strlen(text), at = 0;

	while (at < size) {
		uint32_t cp;
		size_t len = utf8_next(text + at, size - at, &cp);

		columns -= char_width(cp);
		if (columns < 0)
			break;
		if (cp == UTF8_BAD)
			fputs("\xef\xbf\xbd", file);
		else if (is_control(cp))
			fprintf(file, cp < 0x100 ? "\\x%02x" : "\\u%04x", cp);
		else
			fwrite(text + at, 1, len, file);
		at += len;
	}
}

void text_put(FILE *file, const char *text)
{
	put(file, text, INT_MAX);
}

void text_put_short(FILE *file, const char *text, int columns)
{
	if (text_width(text) <= columns) {
		put(file, text, columns);
		return;
	}
	put(file, text, columns - 3);
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

static int is_plain(const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_@%+=:,./-";

	return *word && !word[strspn(word, plain)];
}

void text_put_word(FILE *file, const char *word)
{
	const char *quote;

	if (is_plain(word)) {
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
