/* SPDX-License-Identifier: MIT */
/*
 * collector_client.h - the running collectors of this user, and the status of each.
 *
 * An answer is JSON from a collector, over a socket that only this user can have created; it is
 * parsed as untrusted input nevertheless.
 */
#ifndef COLLECT_COLLECTOR_CLIENT_H
#define COLLECT_COLLECTOR_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/err.h"

struct running {
	char *region;
	json_t *status; /* NULL: no answer */
	struct err err; /* why there is none */
};

/* All zero: an empty list. */
struct all_running {
	struct running *at;
	size_t nr;
};

/*
 * List all running collectors, or only the one of @region (NULL: all).  *@left: number of
 * regions without a collector.
 */
int running_look(struct all_running *all, const char *region, size_t *left, struct err *err);
void running_release(struct all_running *all);

/* True if @pid is the collector's or belongs to a program that it traces. */
bool running_traces(const struct running *r, unsigned long long pid);

/*
 * Send @request to the collector of @region and wait for its answer, a JSON object, at most
 * @timeout_ms (-1: no limit).  NULL on failure, with @err set.
 */
json_t *running_ask(const char *region, const char *request, int timeout_ms, struct err *err);

/* Members of an answer; 0 or "" if missing or of another type. */
uint64_t running_number(const json_t *object, const char *key);
const char *running_text(const json_t *object, const char *key);

#endif
