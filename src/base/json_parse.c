/* SPDX-License-Identifier: MIT */
/* json_parse.c - parse JSON with jansson; distinguish invalid JSON from out of memory. */
#include "base/json_parse.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>

static _Thread_local bool failed;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static json_malloc_t allocate; /* jansson's allocator before ours was set */

static void *allocate_or_remember(size_t size)
{
	void *p = allocate(size);

	if (!p)
		failed = true;
	return p;
}

static void json_take_over(void)
{
	json_free_t release;

	json_get_alloc_funcs(&allocate, &release);
	json_set_alloc_funcs(allocate_or_remember, release);
}

json_t *json_parse(const char *text, size_t size, size_t flags, json_error_t *why, int *rc)
{
	json_t *value;

	pthread_once(&once, json_take_over);
	failed = false;
	value = json_loadb(text, size, flags, why);
	/* After a failed allocation the value may be incomplete. */
	if (failed) {
		json_decref(value);
		value = NULL;
	}
	*rc = value ? 0 : failed ? -ENOMEM : -EINVAL;
	return value;
}
