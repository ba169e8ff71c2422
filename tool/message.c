/* SPDX-License-Identifier: MIT */
/* message.c - messages on stderr, with the command's name in front. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Messages quote names of files, programs and coroutines: sanitize them for the terminal. */
static void message_put_lines(FILE *f, const char *front, const char *text)
{
	const char *end;

	fputs(front, f);
	for (; (end = strchr(text, '\n')); text = end + 1) {
		text_put_n(f, text, (size_t)(end - text));
		fputc('\n', f);
	}
	text_put(f, text);
	fputc('\n', f);
}

/* In one write, if there is room for it: the program writes to the same terminal. */
static void message_put_at_once(const char *front, const char *text)
{
	char whole[4096];
	FILE *f = fmemopen(whole, sizeof(whole), "w");
	long size = -1;

	if (f) {
		message_put_lines(f, front, text);
		size = fflush(f) == 0 && !ferror(f) ? ftell(f) : -1;
		fclose(f);
	}
	if (size > 0 && (size_t)size < sizeof(whole))
		fwrite(whole, 1, (size_t)size, stderr);
	else
		message_put_lines(stderr, front, text);
}

void message_print(const char *command, const char *fmt, ...)
{
	char *text = NULL, small[1024], front[64];
	va_list ap, again;

	snprintf(front, sizeof(front), "corotracer%s%s: ", command && *command ? " " : "",
		 command ? command : "");
	va_start(ap, fmt);
	va_copy(again, ap);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	if (!text) /* no memory: the beginning of it */
		vsnprintf(small, sizeof(small), fmt, again);
	va_end(again);
	va_end(ap);
	message_put_at_once(front, text ? text : small);
	free(text);
}

void message_error(const char *command, const struct err *err)
{
	message_print(command, "%s", err->text);
	if (err->hint[0])
		message_put_at_once("hint: ", err->hint);
}
