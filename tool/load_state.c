/* SPDX-License-Identifier: MIT */
/* load_state.c - where loaders keep their state. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "load_source.h"

const char *load_state_dir(const char *name)
{
	static char path[4000];
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *at;

	if (state && *state == '/')
		snprintf(path, sizeof(path), "%s/corotracer/%s", state, name);
	else if (home && *home == '/')
		snprintf(path, sizeof(path), "%s/.local/state/corotracer/%s", home, name);
	else
		return NULL;
	for (at = strchr(path + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	return path;
}
