/* SPDX-License-Identifier: MIT */
/* collector_client.c - the running collectors of this user, and the status of each. */
#include "collect/collector_client.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_parse.h"
#include "collect/control_socket.h"
#include "collect/region_list.h"

/*
 * A collector serves its control socket at least every second; after this time it is stopped or
 * stuck.
 */
#define STATUS_TIMEOUT_MS 10000

uint64_t running_number(const json_t *object, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(object, key));

	return n > 0 ? (uint64_t)n : 0;
}

const char *running_text(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

json_t *running_ask(const char *region, const char *request, int timeout_ms, struct err *err)
{
	char *answer = NULL;
	json_t *object;
	int rc;

	if (control_ask(region, request, timeout_ms, &answer, err) < 0)
		return NULL;
	object = json_parse(answer, strlen(answer), 0, NULL, &rc);
	if (rc == -ENOMEM) {
		err_set(err, rc, "no memory to parse the answer of the collector of '%s'", region);
	} else if (!json_is_object(object)) {
		json_decref(object);
		object = NULL;
		err_set(err, -EPROTO, "the collector of '%s' answers what we do not understand",
			region);
		err_hint(err, "use the same version of corotracer for both");
	}
	free(answer);
	return object;
}

static int running_add(struct all_running *all, const char *region)
{
	struct running *at = reallocarray(all->at, all->nr + 1, sizeof(*at));

	if (!at)
		return -ENOMEM;
	all->at = at;
	at = &all->at[all->nr];
	memset(at, 0, sizeof(*at));
	at->region = strdup(region);
	if (!at->region)
		return -ENOMEM;
	at->status = running_ask(region, "status", STATUS_TIMEOUT_MS, &at->err);
	all->nr++;
	return 0;
}

void running_release(struct all_running *all)
{
	size_t i;

	for (i = 0; i < all->nr; i++) {
		free(all->at[i].region);
		json_decref(all->at[i].status);
	}
	free(all->at);
	memset(all, 0, sizeof(*all));
}

int running_look(struct all_running *all, const char *region, size_t *left, struct err *err)
{
	struct found found;
	size_t i;
	int rc = 0;

	*left = 0;
	if (region)
		return running_add(all, region) < 0 ? err_set(err, -ENOMEM, "no memory") : 0;
	if (find_regions(&found, err) < 0)
		return err->code;
	for (i = 0; i < found.nr && rc == 0; i++) {
		if (found.at[i].live)
			rc = running_add(all, found.at[i].path);
		else
			++*left;
	}
	found_release(&found);
	return rc < 0 ? err_set(err, rc, "no memory") : 0;
}

bool running_traces(const struct running *r, unsigned long long pid)
{
	const json_t *pids = json_object_get(r->status, "pids");
	size_t i;

	if (running_number(r->status, "pid") == pid)
		return true;
	for (i = 0; i < json_array_size(pids); i++) {
		if ((unsigned long long)json_integer_value(json_array_get(pids, i)) == pid)
			return true;
	}
	return false;
}
