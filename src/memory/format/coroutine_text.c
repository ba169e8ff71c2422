/* SPDX-License-Identifier: MIT */
/* coroutine_text.c - split the text of a MEM_CORO record into kind, file, function and line. */
#include "memory/format/coroutine_text.h"

#include <string.h>

/* The part at *@at, which is moved behind its NUL.  Returns its size. */
static uint32_t coroutine_text_part(const char **at, const char *end, const char **part)
{
	const char *nul = memchr(*at, '\0', (size_t)(end - *at));
	const char *stop = nul ? nul : end;

	*part = *at;
	*at = nul ? nul + 1 : end;
	return (uint32_t)(stop - *part);
}

void coroutine_text_split(const struct mem_record *r, struct coroutine_text *out)
{
	const char *at = r->name ? r->name : "", *end = at + r->name_size, *line;
	uint32_t size, i;

	out->kind_size = coroutine_text_part(&at, end, &out->kind);
	out->file_size = coroutine_text_part(&at, end, &out->file);
	out->function_size = coroutine_text_part(&at, end, &out->function);
	size = coroutine_text_part(&at, end, &line);
	out->line = 0;
	for (i = 0; i < size && i < 9 && line[i] >= '0' && line[i] <= '9'; i++)
		out->line = out->line * 10 + (uint32_t)(line[i] - '0');
}

const char *coroutine_cause_name(uint32_t cause)
{
	switch (cause & CRAY_CORO_CAUSE) {
	case CRAY_CORO_RESUMED:
		return "resumed";
	case CRAY_CORO_RETURNED:
		return "returned";
	default:
		return "continued";
	}
}
