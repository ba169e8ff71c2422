/* SPDX-License-Identifier: MIT */
/* coroutine_text.h - the parts of the text of a MEM_CORO record. */
#ifndef MEMORY_FORMAT_COROUTINE_TEXT_H
#define MEMORY_FORMAT_COROUTINE_TEXT_H

#include "memory/format/mem_record.h"

/* Texts point into the record and have no NUL; a size of 0: unknown. */
struct coroutine_text {
	const char *kind, *file, *function;
	uint32_t kind_size, file_size, function_size;
	uint32_t line; /* 0: unknown */
};

void coroutine_text_split(const struct mem_record *r, struct coroutine_text *out);

/* "resumed", "returned", "continued" */
const char *coroutine_cause_name(uint32_t cause);

#endif
