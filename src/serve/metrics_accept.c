/* SPDX-License-Identifier: MIT */
/* metrics_accept.c - which format a client of the metrics accepts. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "serve/metrics_server.h"

/* The quality of the media type at the start of @item, whose end is @end: "a/b;c=d;q=0.5". */
static double accept_quality(const char *item, const char *end)
{
	const char *at;

	for (at = item; at + 2 < end; at++) {
		const char *q = at + 1;

		if (*at != ';')
			continue;
		while (q < end && *q == ' ')
			q++;
		if (q + 1 < end && (*q == 'q' || *q == 'Q') && q[1] == '=')
			return strtod(q + 2, NULL);
	}
	return 1;
}

/* The highest quality of @type in the list; -1: it is not there. */
static double accept_find(const char *list, const char *type)
{
	size_t size = strlen(type);
	double best = -1;

	while (*list) {
		size_t length;

		list += strspn(list, ", \t");
		length = strcspn(list, ",");
		if (!strncasecmp(list, type, size) && strchr(";, \t", list[size])) {
			double quality = accept_quality(list, list + length);

			if (quality > best)
				best = quality;
		}
		list += length;
	}
	return best;
}

bool metrics_wants_openmetrics(const char *accept)
{
	double openmetrics;

	if (!accept)
		return false;
	openmetrics = accept_find(accept, "application/openmetrics-text");
	return openmetrics > 0 && openmetrics >= accept_find(accept, "text/plain");
}
