/* SPDX-License-Identifier: MIT */
/* waits.c - find the descriptor that a suspended coroutine waits for. */
#include "inspect/waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inspect/frame_links.h"

#define FD_MAX (1 << 24)

/* ---- names ---------------------------------------------------------------------- */

/* The last member of @path, without "m_" and underscores around it. */
static size_t wait_last_name(const char *path, const char **name)
{
	const char *dot = strrchr(path, '.');
	size_t len;

	*name = dot ? dot + 1 : path;
	if (!strncmp(*name, "m_", 2))
		*name += 2;
	*name += strspn(*name, "_");
	len = strlen(*name);
	while (len && (*name)[len - 1] == '_')
		len--;
	return len;
}

static bool wait_names_descriptor(const char *path)
{
	static const char *const whole[] = { "fd",     "sock",       "socket",
					     "sockfd", "descriptor", "native_handle" };
	const char *name;
	size_t len = wait_last_name(path, &name), i;

	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++) {
		if (len == strlen(whole[i]) && !strncasecmp(name, whole[i], len))
			return true;
	}
	return len > 2 && (!strncasecmp(name + len - 3, "_fd", 3) ||
			   !strncmp(name + len - 2, "Fd", 2) || !strncmp(name + len - 2, "FD", 2));
}

static bool wait_has_word(const char *text, const char *const *words)
{
	for (; text && *words; words++) {
		if (strcasestr(text, *words))
			return true;
	}
	return false;
}

/* By the type of the awaiter first, then by the name of the function. */
static enum wait_direction wait_direction_of(const char *awaits, const char *function)
{
	static const char *const writes[] = { "write", "send", "flush", "connect", NULL };
	static const char *const reads[] = { "read", "recv", "receive", "accept", NULL };
	const char *names[2] = { awaits, function };
	int i;

	for (i = 0; i < 2; i++) {
		bool is_write = wait_has_word(names[i], writes);
		bool is_read = wait_has_word(names[i], reads);

		if (is_write != is_read)
			return is_write ? WAIT_WRITE : WAIT_READ;
	}
	return WAIT_EITHER;
}

/* ---- fields ---------------------------------------------------------------------- */

static bool wait_is_descriptor(const struct coro_field *field)
{
	return field->kind == CORO_FIELD_INTEGER && field->size == 4 && field->is_signed &&
	       !field->in_promise && field->path && wait_names_descriptor(field->path);
}

/* Length of the name of the variable that @path begins with. */
static size_t wait_root_length(const char *path)
{
	return strcspn(path, ".");
}

static bool wait_same_root(const char *a, const char *b)
{
	size_t len = wait_root_length(a);

	return len == wait_root_length(b) && !memcmp(a, b, len);
}

struct wait_search {
	const struct coro_type *type;
	const uint8_t *bytes;
	size_t size;
	int fd;
	bool is_ambiguous;
};

static void wait_take(struct wait_search *s, const struct coro_field *field)
{
	int32_t fd;

	if (field->offset + 4 > s->size)
		return;
	memcpy(&fd, s->bytes + field->offset, sizeof(fd));
	if (fd < 0 || fd > FD_MAX)
		return;
	if (s->fd >= 0 && s->fd != fd)
		s->is_ambiguous = true;
	s->fd = fd;
}

/* The descriptors in the variable that @root is a member of. */
static void wait_take_root(struct wait_search *s, const char *root)
{
	size_t i;

	for (i = 0; i < s->type->nr_fields; i++) {
		const struct coro_field *field = &s->type->fields[i];

		if (wait_is_descriptor(field) && wait_same_root(field->path, root))
			wait_take(s, field);
	}
}

/* An awaiter may refer to another object in the frame, for example the one it wraps. */
static void wait_take_referred(struct wait_search *s, const struct coro_frame *f,
			       const struct coro_field *pointer)
{
	const struct coro_field *best = NULL;
	uint64_t word, offset;
	size_t i;

	if (pointer->offset + 8 > s->size)
		return;
	memcpy(&word, s->bytes + pointer->offset, sizeof(word));
	offset = word - f->addr;
	if (offset >= f->size)
		return;
	/* The variable that begins there, or contains the offset. */
	for (i = 0; i < s->type->nr_fields; i++) {
		const struct coro_field *field = &s->type->fields[i];

		if (field->path && !field->in_promise && field->offset >= offset &&
		    (!best || field->offset < best->offset))
			best = field;
	}
	if (best)
		wait_take_root(s, best->path);
}

/* The current awaiter: gcc's variable Aw0_..., Aw1_... */
static bool wait_search_awaiter(struct wait_search *s, const struct coro_frame *f,
				const struct coro_point *point)
{
	char prefix[32];
	size_t len, i;

	if (!s->type->is_gcc || !point || !point->awaits || point->index < 4)
		return false;
	len = (size_t)snprintf(prefix, sizeof(prefix), "Aw%llu_",
			       (unsigned long long)(point->index - 4) / 2);
	for (i = 0; i < s->type->nr_fields; i++) {
		const struct coro_field *field = &s->type->fields[i];

		if (!field->path || strncmp(field->path, prefix, len) != 0)
			continue;
		if (wait_is_descriptor(field))
			wait_take(s, field);
		else if (field->kind == CORO_FIELD_POINTER && field->size == 8)
			wait_take_referred(s, f, field);
	}
	return s->fd >= 0;
}

static void wait_search_all(struct wait_search *s)
{
	size_t i;

	for (i = 0; i < s->type->nr_fields; i++) {
		if (wait_is_descriptor(&s->type->fields[i]))
			wait_take(s, &s->type->fields[i]);
	}
}

struct frame_wait frame_wait_read(const struct coro_frame *f, const struct coro_type *type,
				  const uint8_t *bytes, size_t size)
{
	struct wait_search s = { .type = type, .bytes = bytes, .size = size, .fd = -1 };
	const struct coro_point *point = f->is_read ? coro_type_point(type, f->index) : NULL;
	struct frame_wait wait = { .fd = -1 };

	if (point && point->is_initial)
		return wait;
	wait.is_in_awaiter = wait_search_awaiter(&s, f, point);
	if (!wait.is_in_awaiter)
		wait_search_all(&s);
	if (!s.is_ambiguous)
		wait.fd = s.fd;
	wait.direction = (uint8_t)wait_direction_of(point ? point->awaits : NULL, type->function);
	return wait;
}

/* ---- all frames ------------------------------------------------------------------- */

struct waits_reader {
	struct coro_types *types;
	const struct frame_table *table;
	struct frame_wait *waits;
};

static void waits_read_frame(void *arg, uint32_t number, const uint8_t *bytes, size_t size)
{
	const struct waits_reader *r = arg;
	const struct coro_frame *f = &r->table->frames[number];

	if (f->state == FRAME_SUSPENDED && !f->has_child)
		r->waits[number] = frame_wait_read(f, coro_types_get(r->types, f->type), bytes,
						   size);
}

struct frame_wait *frame_waits_read(const struct process_image *image, struct coro_types *types,
				    const struct frame_table *table)
{
	struct frame_wait *waits = calloc(table->nr + 1, sizeof(*waits));
	struct waits_reader r = { .types = types, .table = table, .waits = waits };
	size_t i;

	for (i = 0; waits && i < table->nr; i++)
		waits[i].fd = -1;
	if (waits && frame_table_visit(image, table, waits_read_frame, &r) < 0) {
		free(waits);
		return NULL;
	}
	return waits;
}
