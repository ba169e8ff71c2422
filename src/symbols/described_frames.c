/* SPDX-License-Identifier: MIT */
/* described_frames.c - search the frames of coroutine functions for described objects. */
#include "symbols/described_frames.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/u64map.h"
#include "symbols/coroutine_layout.h"
#include "symbols/guard_scopes.h"

#define SEARCH_DEPTH_MAX 6
#define SEARCH_DIES_MAX  20000
#define UNIT_DIES_MAX    (1u << 20)

struct described_frames {
	struct coro_types *coroutines;
	const struct type_rules *rules;
	struct described_types *types;
	struct described_frame **list;
	size_t nr;
	struct u64map by_number; /* of the coroutine function: 1 + position in list */
};

struct described_frames *described_frames_new(struct coro_types *coroutines,
					      const struct type_rules *rules)
{
	struct described_frames *frames = calloc(1, sizeof(*frames));

	if (!frames)
		return NULL;
	frames->coroutines = coroutines;
	frames->rules = rules;
	frames->types = described_types_new(rules);
	if (!frames->types) {
		free(frames);
		return NULL;
	}
	return frames;
}

/* ---- search ---------------------------------------------------------------------------- */

struct frame_search {
	struct described_frames *frames;
	struct described_frame *out;
	Dwarf_Die frame, function;
	uint64_t bias;
	bool is_gcc;
	unsigned left;
	/* of the variable that is searched */
	const char *name;
	uint32_t start;
	int64_t awaiter;
	bool is_awaiter, is_pointer;
};

static bool search_add(struct described_member **list, size_t *nr,
		       const struct described_member *member)
{
	struct described_member *more = reallocarray(*list, *nr + 1, sizeof(*more));

	if (!more)
		return false;
	*list = more;
	more[(*nr)++] = *member;
	return true;
}

static void search_found(struct frame_search *s, const struct described_type *type, uint32_t offset)
{
	struct described_member member = {
		.type = type,
		.offset = offset,
		.pointer = s->start,
		.is_pointer = s->is_pointer,
		.awaiter = s->awaiter,
		.is_awaiter = s->is_awaiter,
	};

	/* Without members it says something only as the awaiter of the current co_await. */
	if (type->rule->role == RULE_AWAIT && !type->nr_lines && s->awaiter < 0)
		return;
	if (type->rule->role != RULE_GUARD) {
		search_add(&s->out->waits, &s->out->nr_waits, &member);
		return;
	}
	guard_scope_read(&member.scope, &s->function, s->name, s->start, s->bias);
	search_add(&s->out->guards, &s->out->nr_guards, &member);
}

/* ---- clang's names --------------------------------------------------------------------- */

/*
 * clang gives a temporary a type of its own: "class_a__b" for a::b, without what is in <>.  The
 * type of that name and size is searched in the unit.
 */
static bool clang_name_matches(const char *name, const char *pattern)
{
	size_t skip = !strncmp(name, "class_", 6) ? 6 : !strncmp(name, "struct_", 7) ? 7 : 0;

	if (!skip || strchr(pattern, '*'))
		return false;
	for (name += skip; *pattern; pattern++, name++) {
		char wanted = *pattern == ':' ? '_' : *pattern;

		if (*name != wanted)
			return false;
	}
	/* "_12" keeps two types with the same name apart. */
	return !*name || (*name == '_' && strspn(name + 1, "0123456789") == strlen(name + 1));
}

static bool clang_find_below(Dwarf_Die *parent, const char *path, uint64_t size, unsigned *left,
			     Dwarf_Die *out)
{
	size_t len = strcspn(path, ":");
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name;
		Dwarf_Word bytes = 0;

		if (!*left || !--*left)
			return false;
		if (tag != DW_TAG_namespace && tag != DW_TAG_structure_type &&
		    tag != DW_TAG_class_type)
			continue;
		name = dwarf_diename(&die);
		if (!name || strcspn(name, "<") != len || strncmp(name, path, len) != 0)
			continue;
		if (path[len] == ':') {
			if (clang_find_below(&die, path + len + 2, size, left, out))
				return true;
		} else if (dwarf_aggregate_size(&die, &bytes) == 0 && bytes == size) {
			*out = die;
			return true;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool clang_real_type(struct frame_search *s, Dwarf_Die *type, Dwarf_Die *out)
{
	const char *name = dwarf_diename(type);
	unsigned left = UNIT_DIES_MAX;
	Dwarf_Word size = 0;
	Dwarf_Die unit;
	size_t i;

	if (s->is_gcc || !name || dwarf_aggregate_size(type, &size) != 0 ||
	    !dwarf_diecu(type, &unit, NULL, NULL))
		return false;
	for (i = 0; i < type_rules_count(s->frames->rules); i++) {
		const struct type_rule *rule = type_rules_get(s->frames->rules, i);

		if (rule->role == RULE_AWAIT && clang_name_matches(name, rule->pattern) &&
		    clang_find_below(&unit, rule->pattern, size, &left, out))
			return true;
	}
	return false;
}

/* ---- variables ------------------------------------------------------------------------- */

static bool search_is_struct(Dwarf_Die *type)
{
	int tag = dwarf_tag(type);

	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

/* Look for rules of @type, then in its members and base classes. */
static void search_type(struct frame_search *s, Dwarf_Die *type, uint32_t offset, unsigned depth)
{
	const struct described_type *found;
	Dwarf_Die die, inner, real;
	uint32_t at;

	if (!search_is_struct(type) || depth > SEARCH_DEPTH_MAX)
		return;
	if (clang_real_type(s, type, &real)) {
		s->is_awaiter = true;
		type = &real;
	}
	found = described_types_find(s->frames->types, RULE_AWAIT, type);
	if (!found)
		found = described_types_find(s->frames->types, RULE_OPERATION, type);
	if (!found)
		found = described_types_find(s->frames->types, RULE_GUARD, type);
	if (found) {
		search_found(s, found, offset);
		return;
	}
	if (dwarf_child(type, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!s->left || !--s->left)
			return;
		if ((tag == DW_TAG_member || tag == DW_TAG_inheritance) &&
		    member_start(&die, &at) && member_bare_type(&die, &inner))
			search_type(s, &inner, offset + at, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void search_add_block(struct frame_search *s, const char *name)
{
	struct frame_block block = { .awaiter = s->awaiter };
	struct frame_block *more;

	if (!s->is_gcc || !guard_name_split(name, &block.depth, &block.serial))
		return;
	more = reallocarray(s->out->blocks, s->out->nr_blocks + 1, sizeof(*more));
	if (!more) {
		memory_shortage_note();
		return;
	}
	s->out->blocks = more;
	more[s->out->nr_blocks++] = block;
}

/* A member of the frame.  An awaiter may be elsewhere, and the frame has its address. */
static void search_variable(struct frame_search *s, Dwarf_Die *member)
{
	const char *name = dwarf_diename(member);
	unsigned long awaiter;
	Dwarf_Die type, to;
	char *end;

	if (!name || !member_start(member, &s->start) || !member_bare_type(member, &type))
		return;
	s->name = name;
	s->awaiter = -1;
	s->is_awaiter = s->is_pointer = false;
	if (s->is_gcc && !strncmp(name, "Aw", 2)) {
		awaiter = strtoul(name + 2, &end, 10);
		s->is_awaiter = end > name + 2 && *end == '_';
		s->awaiter = s->is_awaiter ? (int64_t)awaiter : -1;
	}
	search_add_block(s, name);
	if (!search_is_struct(&type)) {
		if (!s->is_awaiter || !member_bare_type(&type, &to))
			return;
		s->is_pointer = true;
		type = to;
		search_type(s, &type, 0, 0);
		return;
	}
	search_type(s, &type, s->start, 0);
}

static struct described_frame *frame_describe(struct described_frames *frames, size_t number)
{
	struct described_frame *made = calloc(1, sizeof(*made));
	const struct coro_type *type = coro_types_get(frames->coroutines, number);
	struct frame_search s = {
		.frames = frames,
		.out = made,
		.is_gcc = type->is_gcc,
		.left = SEARCH_DIES_MAX,
	};
	Dwarf_Die die;
	Dwarf_Addr low;

	if (!made || !type_rules_count(frames->rules) ||
	    !coro_types_dies(frames->coroutines, number, &s.frame, &s.function) ||
	    dwarf_child(&s.frame, &die) != 0)
		return made;
	if (dwarf_entrypc(&s.function, &low) == 0)
		s.bias = type->resume - low;
	do {
		const char *name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;

		if (name && strcmp(name, "_Coro_promise") != 0 && strcmp(name, "__promise") != 0)
			search_variable(&s, &die);
	} while (s.left && dwarf_siblingof(&die, &die) == 0);
	return made;
}

const struct described_frame *described_frames_get(struct described_frames *frames, size_t number)
{
	static const struct described_frame none;
	uint64_t *slot = u64map_at(&frames->by_number, number);
	struct described_frame **more, *made;

	if (!slot)
		return &none;
	if (!*slot) {
		more = reallocarray(frames->list, frames->nr + 1, sizeof(struct described_frame *));
		if (!more)
			return &none;
		frames->list = more;
		made = frame_describe(frames, number);
		if (!made)
			return &none;
		frames->list[frames->nr++] = made;
		*slot = frames->nr;
	}
	return frames->list[*slot - 1];
}

void described_frames_free(struct described_frames *frames)
{
	size_t i;

	if (!frames)
		return;
	for (i = 0; i < frames->nr; i++) {
		free(frames->list[i]->waits);
		free(frames->list[i]->guards);
		free(frames->list[i]->blocks);
		free(frames->list[i]);
	}
	free(frames->list);
	u64map_release(&frames->by_number);
	described_types_free(frames->types);
	free(frames);
}
