/* SPDX-License-Identifier: MIT */
/* json_parse.c - parse JSON with jansson; distinguish invalid JSON from out of memory. */
#include "base/json_parse.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#define SMALL_TEXT    1024u /* longer texts have their reserve on the heap */
#define RESERVE(size) ((size)*4 + 256)

/*
 * jansson aborts if the buffer of a token cannot grow.  Its sizes are powers of two; together they
 * are less than four times the text.  After a failed allocation they come from this reserve:
 * jansson goes on to its next allocation of another kind, which fails, and returns an error.
 */
struct json_reserve {
	char *from, *at, *end;
};

static _Thread_local bool failed;
static _Thread_local struct json_reserve reserve;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t allocate; /* jansson's functions before ours were set */
static json_free_t release;

static void *take_reserve(size_t size)
{
	void *p = reserve.at;

	if (size < 32 || (size & (size - 1)) || size > (size_t)(reserve.end - reserve.at))
		return NULL;
	reserve.at += size;
	return p;
}

static void *allocate_or_remember(size_t size)
{
	void *p = allocate(size);

	if (p)
		return p;
	failed = true;
	return take_reserve(size);
}

static void release_unless_reserve(void *p)
{
	uintptr_t at = (uintptr_t)p;

	if (at < (uintptr_t)reserve.from || at >= (uintptr_t)reserve.end)
		release(p);
}

static void json_take_over(void)
{
	json_get_alloc_funcs(&allocate, &release);
	json_set_alloc_funcs(allocate_or_remember, release_unless_reserve);
}

/* json_loadb() with the reserve at @memory, RESERVE(@size) bytes. */
static json_t *parse_with_reserve(const char *text, size_t size, size_t flags, json_error_t *why,
				  char *memory) // NOLINT: the reserve is written to
{
	json_t *value;

	failed = false;
	reserve = (struct json_reserve){ memory, memory, memory + RESERVE(size) };
	value = json_loadb(text, size, flags, why);
	/* After a failed allocation the value may be incomplete. */
	if (failed) {
		json_decref(value);
		value = NULL;
	}
	reserve = (struct json_reserve){ NULL, NULL, NULL };
	return value;
}

json_t *json_parse(const char *text, size_t size, size_t flags, json_error_t *why, int *rc)
{
	_Alignas(16) char small[RESERVE(SMALL_TEXT)];
	char *large = NULL;
	json_t *value;

	pthread_once(&once, json_take_over);
	if (size > SMALL_TEXT && (size > SIZE_MAX / 8 || !(large = malloc(RESERVE(size))))) {
		*rc = -ENOMEM;
		return NULL;
	}
	value = parse_with_reserve(text, size, flags, why, large ? large : small);
	free(large);
	*rc = value ? 0 : failed ? -ENOMEM : -EINVAL;
	return value;
}
