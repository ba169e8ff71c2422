/* SPDX-License-Identifier: MIT */
/* layout_text.c - write a shape as C or C++, ready to paste. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/layout/members.h"
#include "base/io.h"

static const char *shape_plain_name(const struct type *type)
{
	static const char *const words[] = { "struct ", "class ", "union " };
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!strncmp(type->name, words[i], strlen(words[i])))
			return type->name + strlen(words[i]);
	}
	return type->name;
}

/* A C++ declaration has the last part of the name only. */
static const char *last_name(const struct type *type)
{
	const char *name = shape_plain_name(type), *at, *last = name;
	int depth = 0;

	for (at = name; *at && type->is_cxx; at++) {
		depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
		if (!depth && at[0] == ':' && at[1] == ':')
			last = at + 2;
	}
	return last;
}

static void put_access(FILE *f, const struct type *type, unsigned flags, int *now)
{
	int wanted = flags & MEMBER_PRIVATE ? 2 : flags & MEMBER_PROTECTED ? 1 : 0;

	if (!type->is_cxx || wanted == *now)
		return;
	*now = wanted;
	fputs(wanted == 2 ? "private:\n" : wanted == 1 ? "protected:\n" : "public:\n", f);
}

static bool is_in_cold(const struct shape *s, uint32_t number)
{
	uint32_t i;

	for (i = s->pieces->nr - s->nr_cold; i < s->pieces->nr; i++) {
		if (s->order[i] == number)
			return true;
	}
	return false;
}

static void put_member(FILE *f, const struct shape *s, uint32_t number, uint32_t index,
		       uint64_t total, uint32_t line)
{
	const struct piece *p = &s->pieces->list[number];
	const struct type *type = s->pieces->of;
	const struct type_member *m = &type->members[p->first + index];
	bool bits = m->flags & MEMBER_BITS, aligned = s->line_start[number] && !index;
	char head[64] = "", tail[64] = "", text[4400];
	int used;

	if (aligned && !bits)
		snprintf(head, sizeof(head), "%s(%u) ", type->is_cxx ? "alignas" : "_Alignas",
			 line);
	else if (aligned)
		snprintf(tail, sizeof(tail), " __attribute__((aligned(%u)))", line);
	used = snprintf(text, sizeof(text), "%s%s%s;", head, m->text, tail);
	fprintf(f, "\t%s%*s", text, used < 40 ? 40 - used : 1, "");
	if (index) {
		fputs("/* with the one before */\n", f);
		return;
	}
	fprintf(f, "/* %llu, %llu bytes", (unsigned long long)s->offset[number],
		(unsigned long long)s->size[number]);
	if (s->offset[number] != p->offset || is_in_cold(s, number))
		fprintf(f, ", was at %llu", (unsigned long long)p->offset);
	if (total)
		fprintf(f, "; %.1f %% of its accesses",
			100.0 * (double)(p->reads + p->writes) / (double)total);
	fputs(" */\n", f);
}

static void shape_put_pieces(FILE *f, const struct shape *s, uint32_t from, uint32_t to,
			     uint32_t line)
{
	const struct pieces *p = s->pieces;
	uint64_t total = 0;
	int access = -1, heat = -1;
	uint32_t i, j;

	for (i = 0; i < p->nr; i++)
		total += p->list[i].reads + p->list[i].writes;
	for (i = from; i < to; i++) {
		uint32_t n = s->order[i];
		const struct piece *piece = &p->list[n];
		int cold = pieces_is_cold(p, n);

		if (piece->in_front)
			continue; /* a base class or the compiler's own: not a member declaration */
		if (!is_in_cold(s, n))
			put_access(f, p->of, p->of->members[piece->first].flags, &access);
		if (cold != heat && total)
			fprintf(f, "\t/* %s */\n", cold ? "cold" : "hot");
		heat = cold;
		for (j = 0; j < piece->nr; j++)
			put_member(f, s, n, j, total, line);
	}
}

static void shape_put_head(FILE *f, const struct shape *s)
{
	const struct type *type = s->pieces->of;
	const char *word = type->kind == TYPE_CLASS ? "class" : "struct";
	bool bases = false;
	uint32_t i;

	if (type->is_nameless) {
		fprintf(f, "typedef %s {", word);
		return;
	}
	fprintf(f, "%s ", word);
	if (type->is_cxx && s->raised)
		fprintf(f, "alignas(%u) ", s->align);
	fputs(last_name(type), f);
	for (i = 0; i < type->nr_members; i++) {
		if (!(type->members[i].flags & MEMBER_INHERITED))
			continue;
		fprintf(f, "%s%s%s", bases ? ", " : " : ",
			type->members[i].flags & MEMBER_PRIVATE     ? "private "
			: type->members[i].flags & MEMBER_PROTECTED ? "protected "
								    : "public ",
			type->members[i].name);
		bases = true;
	}
	fputs(" {", f);
}

static void put_tail(FILE *f, const struct shape *s)
{
	const struct type *type = s->pieces->of;

	fputs("}", f);
	if (type->is_packed)
		fputs(" __attribute__((packed))", f);
	if (s->raised && (!type->is_cxx || type->is_nameless))
		fprintf(f, " __attribute__((aligned(%u)))", s->align);
	if (type->is_nameless)
		fprintf(f, " %s", last_name(type));
	fputs(";\n", f);
}

static void put_cold(FILE *f, const struct shape *s, uint32_t line)
{
	const struct type *type = s->pieces->of;
	uint32_t hot = s->pieces->nr - s->nr_cold;

	fprintf(f, "struct %s_cold { /* %llu bytes */\n", last_name(type),
		(unsigned long long)s->cold_bytes);
	shape_put_pieces(f, s, hot, s->pieces->nr, line);
	fputs("};\n", f);
}

char *shape_text(const struct shape *s, uint32_t line)
{
	const struct type *type = s->pieces->of;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		memory_shortage_note();
		return NULL;
	}
	if (s->nr_cold)
		put_cold(f, s, line);
	shape_put_head(f, s);
	fprintf(f, " /* %llu bytes", (unsigned long long)s->bytes);
	if (s->bytes != type->size)
		fprintf(f, ", was %llu", (unsigned long long)type->size);
	fputs(" */\n", f);
	shape_put_pieces(f, s, 0, s->pieces->nr - s->nr_cold, line);
	if (s->nr_cold && s->by_pointer)
		fprintf(f, "\tstruct %s_cold *cold;%*s/* %llu, 8 bytes */\n", last_name(type), 8,
			"", (unsigned long long)s->pointer);
	if (type->is_cxx)
		fputs("\t/* member functions, static members and default values as they were */\n",
		      f);
	put_tail(f, s);
	if (io_end_memory(f, &text) < 0)
		memory_shortage_note();
	return text;
}
