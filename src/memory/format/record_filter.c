/* SPDX-License-Identifier: MIT */
/* record_filter.c - filter records by kind, thread, address range and type. */
#include "memory/format/record_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[MEM_KINDS] = { "read", "write", "add",   "remove",
						   "mark", "gap",   "coro",  "alloc",
						   "free", "stack", "enter", "exit" };

const char *mem_kind_name(unsigned kind)
{
	return kind_names[kind];
}

bool mem_select_kinds(struct mem_select *s, const char *list)
{
	while (*list) {
		size_t len = strcspn(list, ",");
		unsigned k;

		for (k = 0; k < MEM_KINDS; k++) {
			if (strlen(kind_names[k]) == len && !strncmp(kind_names[k], list, len))
				break;
		}
		if (k == MEM_KINDS)
			return false;
		s->kinds |= 1u << k;
		list += len;
		list += *list == ',';
	}
	return s->kinds != 0;
}

bool mem_select_range(struct mem_select *s, const char *text)
{
	char *end;

	errno = 0;
	s->by_range = true;
	s->from = s->to = strtoull(text, &end, 0);
	if (end == text || text[0] == '-' || errno)
		return false;
	if (*end == '-' && end[1] && end[1] != '-') {
		s->to = strtoull(end + 1, &end, 0);
	} else if (*end == '+' && end[1] && end[1] != '-') {
		uint64_t size = strtoull(end + 1, &end, 0);

		if (size == 0)
			return false;
		s->to = s->from + size - 1;
	}
	return !*end && !errno && s->to >= s->from;
}

/* The type name in the record has no terminating NUL; a name with an embedded NUL is cut there. */
static int64_t name_number(struct mem_select *s, const struct mem_record *r)
{
	char *text = strndup(r->name, r->name_size);
	int64_t number = text ? strtab_intern(&s->names, text) : -ENOMEM;

	free(text);
	return number;
}

static void mem_annotate(struct mem_select *s, const struct mem_record *r)
{
	int64_t number = r->address ? name_number(s, r) : 0;
	struct annotation met;

	if (!r->address)
		return;
	if (number < 0 || number > UINT32_MAX ||
	    regions_add(&s->regions, r->address, (uint64_t)r->elem_size * r->elem_count,
			r->elem_size, (uint32_t)number, &met) < 0)
		s->no_memory = true;
}

static const char *type_at(const struct mem_select *s, uint64_t address, uint64_t *offset)
{
	const struct annotation *region = regions_find(&s->regions, address);

	if (!region)
		return NULL;
	*offset = address - region->start;
	if (region->elem_size)
		*offset %= region->elem_size;
	return strtab_text(&s->names, region->type);
}

static bool mem_is_touched(const struct mem_select *s, const struct mem_record *r)
{
	uint64_t size = mem_is_access(r)       ? r->size
			: r->kind == MEM_ADD   ? (uint64_t)r->elem_size * r->elem_count
			: r->kind == MEM_ALLOC ? r->value
					       : 1;
	uint64_t last = r->address + (size ? size - 1 : 0);

	if (last < r->address)
		last = UINT64_MAX;
	return mem_has_address(r) && last >= s->from && r->address <= s->to;
}

bool mem_select_wants(struct mem_select *s, const struct mem_record *r,
		      const struct mem_facts *facts, const char **type, uint64_t *offset)
{
	bool types = s->type || s->want_types;

	*type = NULL;
	*offset = 0;
	if (types && r->kind == MEM_ADD)
		mem_annotate(s, r);
	if (types && mem_is_raw(r))
		*type = type_at(s, r->address, offset);
	if (types && r->kind == MEM_REMOVE)
		regions_remove(&s->regions, r->address);
	if (s->kinds && !(s->kinds & 1u << r->kind))
		return false;
	if (s->atomic && !(mem_is_access(r) && r->tag & CRAY_ATOMIC))
		return false;
	if (s->by_thread && mem_facts_id(facts, r->thread) != s->thread_id)
		return false;
	if (s->by_range && !mem_is_touched(s, r))
		return false;
	return !s->type || (*type && !strcmp(*type, s->type));
}

void mem_select_release(struct mem_select *s)
{
	strtab_release(&s->names);
	regions_release(&s->regions);
}
