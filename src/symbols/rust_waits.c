/* SPDX-License-Identifier: MIT */
/* rust_waits.c - apply the descriptions of types to the futures of a task. */
#include "symbols/rust_waits.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/die_sibling.h"
#include "symbols/rust_dies.h"

#define GUARD_DEPTH_MAX 3
#define GUARDS_MAX      16

/* A guard in the variant of an async function. */
struct rust_guard_member {
	const struct described_type *type;
	uint32_t offset;
};

struct rust_guard_list {
	struct rust_guard_member members[GUARDS_MAX];
	size_t nr;
};

int rust_descriptions_set(struct rust_descriptions *d, const struct type_rules *rules)
{
	if (!rules)
		return 0;
	d->rules = rules;
	d->types = described_types_new(rules);
	return d->types ? 0 : -ENOMEM;
}

void rust_descriptions_release(struct rust_descriptions *d)
{
	described_types_free(d->types);
	free(d->lists);
	u64map_release(&d->by_variant);
	u64map_release(&d->wrappers);
	*d = (struct rust_descriptions){ 0 };
}

/* ---- waits ------------------------------------------------------------------------------- */

static void wait_set_deadline(struct rust_wait *wait, int64_t ns)
{
	wait->has_deadline = true;
	wait->seconds = ns / 1000000000;
	wait->nanoseconds = (uint32_t)(ns % 1000000000);
}

void rust_wait_note(struct rust_descriptions *d, struct rust_wait *wait, const char *path,
		    Dwarf_Die *members, uint64_t addr, rust_reader read, void *arg)
{
	const struct described_type *type = NULL;
	struct described_value value;

	if (d->types)
		type = described_types_at(d->types, RULE_AWAIT, path, members);
	if (!type)
		return;
	if (!wait->kind && type->rule->kind) {
		wait->kind = type->rule->kind;
		wait->type = path;
	}
	if (!type->nr_lines || !described_value_read(type, addr, read, arg, &value))
		return;
	if ((value.object || value.task) && !wait->described.type)
		wait->described = value;
	if (value.task)
		wait->object = value.task;
	if (value.has_deadline && value.deadline_ns >= 0)
		wait_set_deadline(wait, value.deadline_ns);
}

void rust_wait_read_deadline(struct rust_wait *wait, Dwarf_Die *sleep, uint64_t addr,
			     rust_reader read, void *arg)
{
	struct member_path path;
	int64_t ns;

	if ((member_path_resolve(&path, sleep, "deadline", true, NULL) ||
	     member_path_resolve(&path, sleep, "entry.deadline", true, NULL) ||
	     member_path_resolve(&path, sleep, "inner.deadline", true, NULL)) &&
	    member_path_read_time(&path, addr, 1, read, arg, &ns) && ns >= 0)
		wait_set_deadline(wait, ns);
}

#define NOT_A_WRAPPER 1

static const struct type_rule *wrapper_rule(struct rust_descriptions *d, const char *path)
{
	uint64_t *known = u64map_at(&d->wrappers, (uint64_t)(uintptr_t)path);

	if (!known || !d->rules)
		return NULL;
	if (!*known) {
		const struct type_rule *rule = type_rules_find(d->rules, RULE_THROUGH, path);

		*known = rule ? (uint64_t)(uintptr_t)rule : NOT_A_WRAPPER;
	}
	// NOLINTNEXTLINE(performance-no-int-to-ptr): the map keeps addresses
	return *known == NOT_A_WRAPPER ? NULL : (const struct type_rule *)(uintptr_t)*known;
}

const char *rust_wait_follows(struct rust_descriptions *d, struct rust_wait *wait, const char *path)
{
	const struct type_rule *rule = wrapper_rule(d, path);
	const char *to = NULL;
	size_t i;

	for (i = 0; rule && i < rule->nr_lines; i++) {
		if (rule->lines[i].key == RULE_DEADLINE)
			wait->has_limit = true;
		else if (!to)
			to = rule->lines[i].path;
	}
	return to && !strcmp(to, ".") ? "" : to;
}

/* ---- guards ------------------------------------------------------------------------------ */

/* Guards in the members of @type; enums are left out, their variant is not known. */
static void guards_search(struct rust_descriptions *d, struct rust_guard_list *list,
			  Dwarf_Die *type, uint32_t offset, unsigned depth)
{
	const struct described_type *found;
	Dwarf_Die die, inner;
	uint32_t at;

	if (depth > GUARD_DEPTH_MAX || dwarf_tag(type) != DW_TAG_structure_type ||
	    dwarf_child(type, &die) != 0)
		return;
	do {
		const char *name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;

		if (!name || !strcmp(name, "__awaitee") || !member_bare_type(&die, &inner) ||
		    dwarf_tag(&inner) != DW_TAG_structure_type || !member_start(&die, &at))
			continue;
		found = described_types_find(d->types, RULE_GUARD, &inner);
		if (!found)
			guards_search(d, list, &inner, offset + at, depth + 1);
		else if (list->nr < GUARDS_MAX)
			list->members[list->nr++] = (struct rust_guard_member){ found,
										offset + at };
	} while (die_next(&die));
}

static const struct rust_guard_list *guards_of_variant(struct rust_descriptions *d,
						       Dwarf_Die *variant)
{
	uint64_t *slot = u64map_at(&d->by_variant, (uint64_t)(uintptr_t)variant->addr);

	if (!slot)
		return NULL;
	if (!*slot) {
		if (d->nr_lists == d->room_lists) {
			size_t room = d->room_lists ? d->room_lists * 2 : 64;
			struct rust_guard_list *more = reallocarray(d->lists, room, sizeof(*more));

			if (!more)
				return NULL;
			d->lists = more;
			d->room_lists = room;
		}
		d->lists[d->nr_lists] = (struct rust_guard_list){ 0 };
		guards_search(d, &d->lists[d->nr_lists], variant, 0, 0);
		*slot = ++d->nr_lists;
	}
	return &d->lists[*slot - 1];
}

size_t rust_guards_read(struct rust_descriptions *d, Dwarf_Die *variant, uint64_t addr,
			rust_reader read, void *arg, struct described_value *out, size_t most)
{
	const struct rust_guard_list *list = d->types ? guards_of_variant(d, variant) : NULL;
	size_t i, nr = 0;

	for (i = 0; list && i < list->nr && nr < most; i++) {
		if (described_value_read(list->members[i].type, addr + list->members[i].offset,
					 read, arg, &out[nr]) &&
		    out[nr].object && !out[nr].is_over)
			nr++;
	}
	return nr;
}
