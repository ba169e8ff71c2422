/* SPDX-License-Identifier: MIT */
/* metrics_spool.c - read what the shipper of a trace says about its progress: TRACE.shipped. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_parse.h"
#include "serve/metrics.h"

#define SPOOL_FILE_MAX ((size_t)1 << 20)

static uint64_t spool_number(const json_t *object, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(object, key));

	return value > 0 ? (uint64_t)value : 0;
}

static struct metrics_shipped spool_counts(const json_t *object, const char *key)
{
	const json_t *from = json_object_get(object, key);

	return (struct metrics_shipped){
		.blocks = spool_number(from, "blocks"),
		.bytes = spool_number(from, "bytes"),
		.events = { [METRICS_TRANSITION] = spool_number(from, "transitions"),
			    [METRICS_EVENT_OTHER] = spool_number(from, "others") },
	};
}

static json_t *spool_parse(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	char *text = fd < 0 ? NULL : malloc(SPOOL_FILE_MAX);
	size_t size = 0;
	ssize_t got;
	json_t *object = NULL;

	while (text && size < SPOOL_FILE_MAX &&
	       (got = io_read(fd, text + size, SPOOL_FILE_MAX - size)) > 0)
		size += (size_t)got;
	if (size)
		object = json_parse(text, size, 0, NULL, &rc);
	free(text);
	if (fd >= 0)
		close(fd);
	return object;
}

bool metrics_spool_read(struct metrics_spool *s, const char *trace)
{
	json_t *object;
	char *path;

	if (asprintf(&path, "%s.shipped", trace) < 0)
		return false;
	object = spool_parse(path);
	free(path);
	if (!object)
		return false;
	s->shipped = spool_counts(object, "shipped");
	s->spooled = spool_counts(object, "spooled");
	s->given_up = spool_counts(object, "given_up");
	s->has_trouble = json_is_string(json_object_get(object, "trouble"));
	json_decref(object);
	return true;
}
