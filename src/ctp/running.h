/* SPDX-License-Identifier: MIT */
/*
 * running.h - the collectors of this user that are running, and what each says of itself.
 *
 * What a collector answers is JSON of its own making, in a socket that only this user can
 * have made; it is read as a stranger's all the same.
 */
#ifndef CTP_RUNNING_H
#define CTP_RUNNING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

struct running {
	char *region;
	json_t *status; /* NULL: it did not answer */
	struct err err; /* why not */
};

/* All zero is nobody. */
struct all_running {
	struct running *at;
	size_t nr;
};

/* Everybody, or the one with @region (NULL: any).  *@left: regions that nobody has any more. */
int running_look(struct all_running *all, const char *region, size_t *left, struct err *err);
void running_release(struct all_running *all);

/* Is @pid its own, or of a program that it traces? */
bool running_traces(const struct running *r, unsigned long long pid);

/*
 * Ask the collector of @region and wait for its answer, an object: @timeout_ms at most, or for
 * as long as it takes (-1).  NULL and why.
 */
json_t *running_ask(const char *region, const char *request, int timeout_ms, struct err *err);

/* Members of an answer; 0 and "" where there is none of that kind. */
uint64_t running_number(const json_t *object, const char *key);
const char *running_text(const json_t *object, const char *key);

#endif
