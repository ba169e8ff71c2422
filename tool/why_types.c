/* SPDX-License-Identifier: MIT */
/* why_types.c - find the description files that come with the tool. */
#include "why_types.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Relative to the folder of the executable: in the build tree, and installed. */
static bool types_find_shipped(char *out, size_t size)
{
	static const char *const places[] = { "share/corotracer/types",
					      "../share/corotracer/types" };
	char own[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	char *slash;
	size_t i;

	own[len > 0 ? len : 0] = '\0';
	slash = strrchr(own, '/');
	if (!slash)
		return false;
	*slash = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(out, size, "%s/%s", own, places[i]) < (int)size &&
		    access(out, R_OK | X_OK) == 0)
			return true;
	}
	return false;
}

struct type_rules *why_types_load(const char *path, struct err *err)
{
	struct type_rules *rules = type_rules_new();
	char shipped[2 * PATH_MAX];
	int rc = rules ? 0 : err_set(err, -ENOMEM, "no memory for descriptions of types");

	if (!rc && path)
		rc = type_rules_add(rules, path, err);
	if (!rc && types_find_shipped(shipped, sizeof(shipped)))
		rc = type_rules_add(rules, shipped, err);
	if (!rc)
		return rules;
	type_rules_free(rules);
	return NULL;
}
