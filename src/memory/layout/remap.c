/* SPDX-License-Identifier: MIT */
/* remap.c - read and check a file of layouts to try. */
#include "memory/layout/remap.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/line_reader.h"

#define BYTES_MAX (UINT64_C(1) << 30)

struct remap_reading {
	struct remap *m;
	struct types *types;
	const char *path;
	uint64_t line;
	struct err *err;
	bool *given; /* pieces that the line names */
	bool size_given;
};

static int remap_refuse(struct remap_reading *r, const char *text, const char *what)
{
	return err_set(r->err, -EINVAL, "%s:%llu: '%.100s' %s", r->path,
		       (unsigned long long)r->line, text, what);
}

static char *remap_trim(char *text)
{
	char *end;

	text += strspn(text, " \t\r");
	end = text + strlen(text);
	while (end > text && strchr(" \t\r", end[-1]))
		*--end = '\0';
	return text;
}

static int remap_number(struct remap_reading *r, const char *text, uint64_t *out)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (*text < '0' || *text > '9' || *end || errno || value > BYTES_MAX) {
		remap_refuse(r, text, "is no number of bytes");
		err_hint(r->err, "decimal, 0x hexadecimal or 0 octal, up to %llu",
			 (unsigned long long)BYTES_MAX);
		return -EINVAL;
	}
	*out = value;
	return 0;
}

/* Find a piece by the name of a member, or of a field of an anonymous member. */
static uint32_t find_piece(const struct pieces *p, const char *name)
{
	uint32_t i, j;

	for (i = 0; i < p->nr; i++) {
		for (j = 0; j < p->list[i].nr; j++) {
			if (!strcmp(p->of->members[p->list[i].first + j].name, name))
				return i;
		}
	}
	for (i = 0; i < p->of->nr_leaves; i++) {
		if (!strcmp(p->of->leaves[i].path, name) &&
		    !p->of->members[p->of->leaves[i].member].name[0])
			return p->of_leaf[i];
	}
	return NO_PIECE;
}

static int unknown_member(struct remap_reading *r, const struct pieces *p, const char *name)
{
	char list[300] = "";
	size_t used = 0;
	uint32_t i;

	for (i = 0; i < p->nr && used < sizeof(list) - 1; i++)
		used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", i ? ", " : "",
					 p->list[i].name);
	err_set(r->err, -EINVAL, "%s:%llu: '%s' has no member '%.100s'", r->path,
		(unsigned long long)r->line, p->of->name, name);
	err_hint(r->err, "it has %s%s", list, used >= sizeof(list) - 1 ? " ..." : "");
	return -EINVAL;
}

/* ---- items --------------------------------------------------------------- */

static int whole_item(struct remap_reading *r, struct shape *s, const char *key, const char *value)
{
	uint64_t n;

	if (remap_number(r, value, &n) < 0)
		return -EINVAL;
	if (!strcmp(key, "align")) {
		if (!n || n & (n - 1) || n > 65536)
			return remap_refuse(r, value,
					    "is no alignment: a power of two up to 65536");
		s->align = (uint32_t)n;
		s->raised = true;
		return 0;
	}
	if (!n)
		return remap_refuse(r, value, "is no size of a record");
	s->bytes = n;
	r->size_given = true;
	return 0;
}

static int member_item(struct remap_reading *r, struct shape *s, char *text)
{
	char *offset = strchr(text, ','), *size = offset ? strchr(offset + 1, ',') : NULL;
	uint32_t n;

	if (!offset) {
		remap_refuse(r, text, "is neither 'member,offset' nor 'sizeof=bytes'");
		err_hint(r->err, "for example: struct node=key,0;next,8;sizeof=64");
		return -EINVAL;
	}
	*offset++ = '\0';
	if (size)
		*size++ = '\0';
	n = find_piece(s->pieces, remap_trim(text));
	if (n == NO_PIECE)
		return unknown_member(r, s->pieces, remap_trim(text));
	if (r->given[n])
		return remap_refuse(r, remap_trim(text), "has a place already");
	if (s->pieces->list[n].in_front)
		return remap_refuse(r, remap_trim(text),
				    "is a base class or the compiler's: it cannot move");
	r->given[n] = true;
	if (remap_number(r, remap_trim(offset), &s->offset[n]) < 0)
		return -EINVAL;
	if (size && remap_number(r, remap_trim(size), &s->size[n]) < 0)
		return -EINVAL;
	if (size && !s->size[n])
		return remap_refuse(r, remap_trim(size), "is no size of a member");
	return 0;
}

static int one_item(struct remap_reading *r, struct shape *s, char *item)
{
	char *equals = strchr(item, '=');
	char *key;

	item = remap_trim(item);
	if (!*item)
		return 0;
	if (!equals)
		return member_item(r, s, item);
	*equals = '\0';
	key = remap_trim(item);
	if (strcmp(key, "sizeof") != 0 && strcmp(key, "stride") != 0 && strcmp(key, "align") != 0) {
		remap_refuse(r, key, "is nothing that can be set");
		err_hint(r->err, "sizeof=, stride= (the same) and align= can");
		return -EINVAL;
	}
	return whole_item(r, s, key, remap_trim(equals + 1));
}

/* ---- checks -------------------------------------------------------------- */

static int check_overlap(struct remap_reading *r, const struct shape *s)
{
	const struct pieces *p = s->pieces;
	uint32_t i, j;

	for (i = 0; i < p->nr; i++) {
		for (j = i + 1; j < p->nr; j++) {
			if (!s->size[i] || !s->size[j] ||
			    s->offset[i] + s->size[i] <= s->offset[j] ||
			    s->offset[j] + s->size[j] <= s->offset[i])
				continue;
			err_set(r->err, -EINVAL, "%s:%llu: '%s' and '%s' of '%s' would overlap",
				r->path, (unsigned long long)r->line, p->list[i].name,
				p->list[j].name, p->of->name);
			err_hint(r->err,
				 "members that are not named stay where they are: '%s' at %llu, "
				 "'%s' at %llu",
				 p->list[i].name, (unsigned long long)p->list[i].offset,
				 p->list[j].name, (unsigned long long)p->list[j].offset);
			return -EINVAL;
		}
	}
	return 0;
}

static int remap_check_shape(struct remap_reading *r, struct shape *s)
{
	const struct pieces *p = s->pieces;
	unsigned long long end;
	uint32_t i;

	for (i = 0; i < p->nr; i++) {
		end = s->offset[i] + s->size[i];
		if (end <= s->bytes || p->list[i].at_end)
			continue;
		err_set(r->err, -EINVAL,
			"%s:%llu: '%s' of '%s' would end at %llu, behind its %llu bytes", r->path,
			(unsigned long long)r->line, p->list[i].name, p->of->name, end,
			(unsigned long long)s->bytes);
		err_hint(r->err, "'sizeof=%llu' makes it as long as that", end);
		return -EINVAL;
	}
	if (s->bytes % s->align)
		return err_set(r->err, -EINVAL,
			       "%s:%llu: %llu bytes are not a multiple of the alignment %u of '%s'",
			       r->path, (unsigned long long)r->line, (unsigned long long)s->bytes,
			       s->align, p->of->name);
	return check_overlap(r, s);
}

static int remap_by_offset(const void *a, const void *b, void *arg)
{
	const struct shape *s = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (s->offset[x] != s->offset[y])
		return s->offset[x] < s->offset[y] ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* ---- lines --------------------------------------------------------------- */

static int remap_items(struct remap_reading *r, struct shape *s, char *text)
{
	char *item, *rest = text;
	int ret = 0;

	while (ret == 0 && (item = strsep(&rest, ";")))
		ret = one_item(r, s, item);
	if (ret < 0)
		return ret;
	ret = remap_check_shape(r, s);
	if (s->pieces->nr)
		qsort_r(s->order, s->pieces->nr, sizeof(*s->order), remap_by_offset, s);
	return ret;
}

static int remap_find_type(struct remap_reading *r, const char *name, uint32_t *out)
{
	const char *why;
	size_t i;

	*out = types_by_name(r->types, name);
	if (!*out) {
		remap_refuse(r, name, "is not a type of the traced program");
		err_hint(r->err, "%s",
			 types_problem(r->types)
				 ? types_problem(r->types)
				 : "'corotracer mem layout' without --remap lists those "
				   "that were used");
		return -EINVAL;
	}
	why = pieces_obstacle(types_get(r->types, *out));
	if (why)
		return remap_refuse(r, name, why);
	for (i = 0; i < r->m->nr; i++) {
		if (r->m->types[i].pieces.type == *out)
			return remap_refuse(r, name, "has a line already");
	}
	return 0;
}

static int one_line(struct remap_reading *r, char *text)
{
	char *equals = strchr(text, '=');
	struct remap_type *t = &r->m->types[r->m->nr];
	uint32_t number_of;
	int ret;

	if (!equals) {
		remap_refuse(r, text, "has no '='");
		err_hint(r->err, "for example: struct node=key,0;next,8");
		return -EINVAL;
	}
	*equals = '\0';
	ret = remap_find_type(r, remap_trim(text), &number_of);
	if (ret < 0)
		return ret;
	if (r->m->nr == REMAP_TYPES_MAX)
		return remap_refuse(r, text, "is one type too many");
	memset(t, 0, sizeof(*t));
	r->m->nr++;
	t->line = r->line;
	if (pieces_init(&t->pieces, r->types, number_of) < 0)
		return err_set(r->err, -ENOMEM, "no memory for '%s'", r->path);
	t->shape = shape_new(&t->pieces, "remap");
	r->given = calloc(t->pieces.nr + 1, sizeof(*r->given));
	r->size_given = false;
	if (!t->shape || !r->given)
		ret = err_set(r->err, -ENOMEM, "no memory for '%s'", r->path);
	else
		ret = remap_items(r, t->shape, equals + 1);
	free(r->given);
	r->given = NULL;
	return ret;
}

int remap_read(struct remap *m, const char *path, struct types *types, struct err *err)
{
	struct remap_reading r = { .m = m, .types = types, .path = path, .err = err };
	struct lines lines = { 0 };
	struct line line;
	int ret;

	memset(m, 0, sizeof(*m));
	m->types = calloc(REMAP_TYPES_MAX + 1, sizeof(*m->types));
	if (!m->types)
		return err_set(err, -ENOMEM, "no memory for '%s'", path);
	ret = lines_open(&lines, path, REMAP_LINE_MAX, err);
	while (ret >= 0 && (ret = lines_next(&lines, &line, err)) > 0) {
		char *text, *copy;

		r.line++;
		if (line.too_long) {
			ret = remap_refuse(&r, "...", "is too long a line");
			break;
		}
		copy = strndup(line.text, line.size);
		if (!copy) {
			ret = err_set(err, -ENOMEM, "no memory for '%s'", path);
			break;
		}
		copy[strcspn(copy, "#")] = '\0';
		text = remap_trim(copy);
		ret = *text ? one_line(&r, text) : 0;
		free(copy);
	}
	lines_close(&lines);
	if (ret == 0 && !m->nr) {
		ret = err_set(err, -EINVAL, "'%s' has no layout in it", path);
		err_hint(err, "for example: struct node=key,0;next,8");
	}
	if (ret < 0)
		remap_release(m);
	return ret;
}

void remap_release(struct remap *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		shape_free(m->types[i].shape);
		pieces_release(&m->types[i].pieces);
	}
	free(m->types);
	memset(m, 0, sizeof(*m));
}
