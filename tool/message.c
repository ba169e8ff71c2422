/* SPDX-License-Identifier: MIT */
/* message.c - messages on stderr, with the command's name in front. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Messages quote names of files, programs and coroutines: sanitize them for the terminal. */
static void message_put_lines(const char *text)
{
	const char *end;

	for (; (end = strchr(text, '\n')); text = end + 1) {
		text_put_n(stderr, text, (size_t)(end - text));
		fputc('\n', stderr);
	}
	text_put(stderr, text);
	fputc('\n', stderr);
}

void message_print(const char *command, const char *fmt, ...)
{
	char *text = NULL, small[1024];
	va_list ap, again;

	if (command && *command)
		fprintf(stderr, "corotracer %s: ", command);
	else
		fputs("corotracer: ", stderr);
	va_start(ap, fmt);
	va_copy(again, ap);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	if (!text) /* no memory: the beginning of it */
		vsnprintf(small, sizeof(small), fmt, again);
	va_end(again);
	va_end(ap);
	message_put_lines(text ? text : small);
	free(text);
}

void message_error(const char *command, const struct err *err)
{
	message_print(command, "%s", err->text);
	if (err->hint[0]) {
		fputs("hint: ", stderr);
		message_put_lines(err->hint);
	}
}
