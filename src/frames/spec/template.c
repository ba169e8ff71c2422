/* SPDX-License-Identifier: MIT */
/* template.c - expand a template, line by line. */
#include <errno.h>
#include <string.h>

#include "frames/spec/template.h"

#define DEPTH_MAX 8
#define WORD_MAX  32

struct filling {
	const struct template_host *host;
	FILE *out;
	unsigned depth;
	bool taken[DEPTH_MAX]; /* this branch of the @if is written */
};

static bool template_writing(const struct filling *f)
{
	unsigned i;

	for (i = 0; i < f->depth; i++) {
		if (!f->taken[i])
			return false;
	}
	return true;
}

/* @word@ at @text: returns its value, and sets *@behind to its end. */
static const char *template_hole(const struct filling *f, const char *text, const char *end,
				 const char **behind)
{
	const char *close = memchr(text + 1, '@', (size_t)(end - text - 1));
	char word[WORD_MAX];
	size_t len;

	if (!close)
		return NULL;
	len = (size_t)(close - text - 1);
	if (!len || len >= sizeof(word))
		return NULL;
	memcpy(word, text + 1, len);
	word[len] = 0;
	*behind = close + 1;
	return f->host->value(f->host->context, word);
}

static void template_put_line(struct filling *f, const char *line, const char *end)
{
	while (line < end) {
		const char *at = memchr(line, '@', (size_t)(end - line)), *value, *behind;

		value = at ? template_hole(f, at, end, &behind) : NULL;
		if (!at)
			at = end;
		if (value) {
			fwrite(line, 1, (size_t)(at - line), f->out);
			fputs(value, f->out);
			line = behind;
			continue;
		}
		/* A literal '@': in a comment about a parameter. */
		at += at < end;
		fwrite(line, 1, (size_t)(at - line), f->out);
		line = at;
	}
	fputc('\n', f->out);
}

static bool template_directive(struct filling *f, const char *line, size_t len)
{
	char word[WORD_MAX];
	size_t skip = !strncmp(line, "@if ", 4) ? 4 : !strncmp(line, "@call ", 6) ? 6 : 0;

	if (len == 5 && !memcmp(line, "@else", 5)) {
		if (!f->depth)
			return false;
		f->taken[f->depth - 1] = !f->taken[f->depth - 1];
		return true;
	}
	if (len == 4 && !memcmp(line, "@end", 4))
		return f->depth-- > 0;
	if (!skip || len - skip >= sizeof(word))
		return false;
	memcpy(word, line + skip, len - skip);
	word[len - skip] = 0;
	if (skip == 6)
		return !template_writing(f) || f->host->call(f->host->context, word, f->out);
	if (f->depth == DEPTH_MAX)
		return false;
	f->taken[f->depth++] = f->host->holds(f->host->context, word);
	return true;
}

int template_write(const char *text, size_t size, const struct template_host *host, FILE *out)
{
	struct filling f = { .host = host, .out = out };
	const char *end = text + size;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (!newline)
			return -EINVAL;
		if (*text == '@' && strncmp(text, "@ASSERT@", 8) != 0) {
			if (!template_directive(&f, text, (size_t)(newline - text)))
				return -EINVAL;
		} else if (template_writing(&f)) {
			template_put_line(&f, text, newline);
		}
		text = newline + 1;
	}
	return f.depth ? -EINVAL : 0;
}
