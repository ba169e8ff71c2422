/* SPDX-License-Identifier: MIT */
/* ship_state.c - the progress of shipping a trace, in TRACE.shipped. */
#include "ship/ship_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_parse.h"
#include "base/monotonic.h"

#define SHIP_STATE_MAX ((size_t)1 << 20) /* bytes of the file */

char *ship_state_path(const char *trace)
{
	char *path;

	return asprintf(&path, "%s%s", trace, SHIP_STATE_SUFFIX) < 0 ? NULL : path;
}

/* ---- write ----------------------------------------------------------------------- */

static void ship_state_count(struct json_writer *w, const char *key, const struct ship_count *c)
{
	jw_key(w, key);
	jw_object_begin(w);
	jw_field_u64(w, "blocks", c->blocks);
	jw_field_u64(w, "transitions", c->transitions);
	jw_field_u64(w, "others", c->others);
	jw_field_u64(w, "bytes", c->bytes);
	jw_object_end(w);
}

static void ship_state_put(struct json_writer *w, const struct ship_state *s)
{
	uint32_t i;

	jw_object_begin(w);
	jw_field_string(w, "receiver", s->receiver);
	jw_key(w, "labels");
	ship_labels_write(w, &s->labels);
	jw_key(w, "place");
	jw_object_begin(w);
	jw_field_u64(w, "offset", s->place.offset);
	jw_field_u64(w, "next", s->place.next);
	jw_field_u64(w, "transitions", s->place.transitions);
	jw_field_u64(w, "others", s->place.others);
	jw_object_end(w);
	jw_key(w, "pending");
	jw_array_begin(w);
	for (i = 0; i < s->nr_pending; i++)
		jw_u64(w, s->pending[i]);
	jw_array_end(w);
	ship_state_count(w, "shipped", &s->shipped);
	ship_state_count(w, "spooled", &s->spooled);
	ship_state_count(w, "given_up", &s->given_up);
	ship_state_count(w, "left_out", &s->left_out);
	jw_field_u64(w, "whole_blocks", s->whole_blocks);
	jw_field_bool(w, "finished", s->is_finished);
	jw_field_string(w, "trouble", s->trouble[0] ? s->trouble : NULL);
	jw_field_u64(w, "updated_realtime", monotonic_clock_ns(CLOCK_REALTIME));
	jw_object_end(w);
	jw_newline(w);
}

static int ship_state_save(const char *text, size_t size, const char *temporary, const char *path,
			   struct err *err)
{
	int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		return err_errno(err, "cannot create '%s'", temporary);
	while (size) {
		ssize_t put = io_write(fd, text, size);

		if (put <= 0) {
			close(fd);
			unlink(temporary);
			return err_set(err, put ? (int)put : -EIO, "cannot write '%s': %s", path,
				       strerror(put ? (int)-put : EIO));
		}
		text += put;
		size -= (size_t)put;
	}
	if (close(fd) == 0 && rename(temporary, path) == 0)
		return 0;
	err_errno(err, "cannot write '%s'", path);
	unlink(temporary);
	return err->code;
}

int ship_state_write(const struct ship_state *state, const char *path, struct err *err)
{
	struct json_writer w;
	char *temporary;
	const char *text;
	size_t size;
	int rc;

	jw_init_buffer(&w);
	ship_state_put(&w, state);
	text = jw_text(&w, &size);
	if (!text || asprintf(&temporary, "%s.part", path) < 0) {
		jw_release(&w);
		return err_set(err, -ENOMEM, "no memory to write '%s'", path);
	}
	rc = ship_state_save(text, size, temporary, path, err);
	free(temporary);
	jw_release(&w);
	return rc;
}

/* ---- read ------------------------------------------------------------------------ */

static uint64_t ship_state_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	return json_is_integer(value) && json_integer_value(value) > 0
		       ? (uint64_t)json_integer_value(value)
		       : 0;
}

static struct ship_count ship_state_counts(const json_t *object, const char *key)
{
	const json_t *from = json_object_get(object, key);

	return (struct ship_count){
		.blocks = ship_state_number(from, "blocks"),
		.transitions = ship_state_number(from, "transitions"),
		.others = ship_state_number(from, "others"),
		.bytes = ship_state_number(from, "bytes"),
	};
}

static void ship_state_pending(struct ship_state *s, const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list) && i < SHIP_PENDING_MAX; i++) {
		const json_t *value = json_array_get(list, i);

		if (json_is_integer(value) && json_integer_value(value) > 0)
			s->pending[s->nr_pending++] = (uint64_t)json_integer_value(value);
	}
}

static void ship_state_text(const json_t *object, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(object, key));

	snprintf(to, size, "%s", text ? text : "");
}

static int ship_state_labels(struct ship_state *s, const json_t *object, struct err *err)
{
	char *text = json_dumps(json_object_get(object, "labels"), JSON_ENCODE_ANY);
	int rc = text ? ship_labels_parse(text, strlen(text), &s->labels, err) : -EPROTO;

	free(text);
	return rc;
}

static int ship_state_parse(struct ship_state *s, const char *text, size_t size, struct err *err)
{
	json_t *object = json_parse(text, size, 0, NULL, &(int){ 0 });
	const json_t *place = json_object_get(object, "place");
	int rc = ship_state_labels(s, object, err);

	s->place = (struct ship_place){
		.offset = ship_state_number(place, "offset"),
		.next = ship_state_number(place, "next"),
		.transitions = ship_state_number(place, "transitions"),
		.others = ship_state_number(place, "others"),
	};
	ship_state_pending(s, json_object_get(object, "pending"));
	s->shipped = ship_state_counts(object, "shipped");
	s->spooled = ship_state_counts(object, "spooled");
	s->given_up = ship_state_counts(object, "given_up");
	s->left_out = ship_state_counts(object, "left_out");
	s->whole_blocks = ship_state_number(object, "whole_blocks");
	s->is_finished = json_is_true(json_object_get(object, "finished"));
	ship_state_text(object, "receiver", s->receiver, sizeof(s->receiver));
	ship_state_text(object, "trouble", s->trouble, sizeof(s->trouble));
	json_decref(object);
	return rc;
}

static ssize_t ship_state_load(int fd, char *text, size_t room)
{
	size_t size = 0;

	while (size < room) {
		ssize_t got = io_read(fd, text + size, room - size);

		if (got < 0)
			return got;
		if (got == 0)
			return (ssize_t)size;
		size += (size_t)got;
	}
	return -EFBIG;
}

int ship_state_read(struct ship_state *state, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;
	char *text = malloc(SHIP_STATE_MAX);
	ssize_t size;

	memset(state, 0, sizeof(*state));
	if (fd < 0 || !text) {
		rc = fd < 0 && errno == ENOENT ? 0 : err_errno(err, "cannot open '%s'", path);
		free(text);
		if (fd >= 0)
			close(fd);
		return rc;
	}
	size = ship_state_load(fd, text, SHIP_STATE_MAX);
	close(fd);
	rc = size < 0 ? (int)size : ship_state_parse(state, text, (size_t)size, err);
	free(text);
	if (rc == 0)
		return 1;
	err_set(err, rc, "cannot read '%s': %s", path,
		rc == -EPROTO ? "it is damaged" : strerror(-rc));
	err_hint(err, "remove it to ship the trace from its start, as another run");
	return rc;
}
