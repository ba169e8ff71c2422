/* SPDX-License-Identifier: MIT */
/* rust_compound.c - search the futures that another future consists of. */
#include "symbols/rust_compound.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/rust_dies.h"

#define SEARCH_DEPTH 10
#define VISITS_MAX   (RUST_FUTURES_MAX * 16u)

/* Futures of Tokio that no async function is below. */
static const char *const leaves[] = {
	"tokio::time::sleep::Sleep",
	"tokio::time::driver::sleep::Sleep",
	"tokio::sync::oneshot::Receiver",
	"tokio::sync::notify::Notified",
	"tokio::sync::notify::OwnedNotified",
	"tokio::sync::batch_semaphore::Acquire",
	"tokio::runtime::task::join::JoinHandle",
	"tokio::runtime::io::scheduled_io::Readiness",
	"tokio::io::driver::scheduled_io::Readiness",
	"futures_channel::oneshot::Receiver",
};

/* What a reference is followed to, besides futures and tuples. */
static const char *const referred[] = {
	"core::future::poll_fn::PollFn",
	"tokio::future::poll_fn::PollFn",
	"tokio::future::maybe_done::MaybeDone",
	"tokio::time::timeout::Timeout",
	"tokio::time::interval::Interval",
	"tokio::task::join_set::JoinSet",
	"futures_util::future::maybe_done::MaybeDone",
	"futures_util::future::future::fuse::Fuse",
	"futures_util::stream::futures_unordered::FuturesUnordered",
	"futures_util::stream::futures_ordered::FuturesOrdered",
	"core::pin::Pin",
};

/* Variants that hold the result of a future. */
static const char *const finished[] = { "Done", "Gone", "Complete", "Ready", "None" };

static bool compound_has_name(const char *const *names, size_t nr, const char *name)
{
	size_t i;

	for (i = 0; name && i < nr; i++) {
		if (!strcmp(names[i], name))
			return true;
	}
	return false;
}

#define HAS_NAME(names, name) compound_has_name(names, sizeof(names) / sizeof((names)[0]), name)

static bool compound_is_leaf(const char *path)
{
	return HAS_NAME(leaves, path) || !strncmp(path, "tokio::io::util::", 17);
}

static bool compound_read_word(const struct rust_compound *c, uint64_t addr, uint64_t *word)
{
	return c->read(c->arg, addr, word, sizeof(*word));
}

static void compound_add(struct rust_compound *c, const Dwarf_Die *type, uint64_t addr)
{
	if (c->nr == RUST_FUTURES_MAX) {
		c->has_more = true;
		return;
	}
	if (c->nr == c->room) {
		size_t room = c->room ? c->room * 2 : 8;
		struct rust_found *more = reallocarray(c->found, room, sizeof(*more));

		if (!more) {
			c->has_failed = true;
			return;
		}
		c->found = more;
		c->room = room;
	}
	c->found[c->nr++] = (struct rust_found){ *type, addr };
}

/* ---- trait objects --------------------------------------------------------------- */

static bool compound_is_dyn(const struct rust_compound *c, Dwarf_Die *type)
{
	Dwarf_Die member;
	uint32_t at;

	return dwarf_tag(type) == DW_TAG_structure_type &&
	       rust_die_member(c->layouts, type, "vtable", &member, &at) &&
	       rust_die_member(c->layouts, type, "pointer", &member, &at);
}

bool rust_compound_dyn(const struct rust_compound *c, Dwarf_Die *type, uint64_t addr,
		       struct rust_found *out, bool *is_known)
{
	Dwarf_Die member;
	uint32_t pointer, vtable;
	uint64_t table;

	if (!compound_is_dyn(c, type) ||
	    !rust_die_member(c->layouts, type, "vtable", &member, &vtable) ||
	    !rust_die_member(c->layouts, type, "pointer", &member, &pointer) ||
	    !compound_read_word(c, addr + vtable, &table) ||
	    !compound_read_word(c, addr + pointer, &out->addr))
		return false;
	*is_known = out->addr && rust_vtables_find(c->vtables, table, &out->type);
	return true;
}

/* ---- which types contain futures ------------------------------------------------------ */

static bool compound_may_refer(struct rust_compound *c, Dwarf_Die *pointer, Dwarf_Die *target)
{
	const char *name = dwarf_diename(pointer);
	const char *path;

	if (!rust_die_target(c->layouts, pointer, target))
		return false;
	if ((name && !strncmp(name, "alloc::boxed::Box<", 18)) ||
	    dwarf_tag(target) == DW_TAG_pointer_type || rust_die_async(c->layouts, target))
		return true;
	name = dwarf_diename(target);
	if (name && name[0] == '(')
		return true;
	path = rust_places_path(c->places, target);
	return path && (HAS_NAME(referred, path) || compound_is_leaf(path));
}

static bool compound_is_slice(struct rust_compound *c, Dwarf_Die *type, Dwarf_Die *element)
{
	Dwarf_Die pointer, length;
	uint32_t at;

	return rust_die_member(c->layouts, type, "data_ptr", &pointer, &at) &&
	       rust_die_member(c->layouts, type, "length", &length, &at) &&
	       rust_die_target(c->layouts, &pointer, element);
}

struct compound_test {
	struct rust_compound *c;
	int depth;
};

static bool compound_contains(struct rust_compound *c, Dwarf_Die *type, int depth);

static bool compound_test_member(void *arg, Dwarf_Die *type)
{
	const struct compound_test *t = arg;

	return compound_contains(t->c, type, t->depth);
}

/* A member, or one of the variants of an enum. */
static bool compound_contains_in(struct rust_compound *c, Dwarf_Die *type, int depth)
{
	struct compound_test test = { c, depth - 1 };

	return rust_layout_any(rust_layout_find(c->layouts, type), compound_test_member, &test);
}

static bool compound_contains(struct rust_compound *c, Dwarf_Die *type, int depth)
{
	uint64_t *known;
	Dwarf_Die target;
	const char *path;
	bool has;

	if (dwarf_tag(type) == DW_TAG_pointer_type)
		return depth > 0 && compound_may_refer(c, type, &target) &&
		       compound_contains(c, &target, depth - 1);
	if (dwarf_tag(type) != DW_TAG_structure_type || depth <= 0)
		return false;
	known = u64map_at(c->without, (uint64_t)(uintptr_t)type->addr);
	if (!known || *known)
		return known && *known == 2;
	*known = 1; /* while it is searched: a type may contain a pointer to itself */
	path = rust_places_path(c->places, type);
	has = rust_die_async(c->layouts, type) || compound_is_dyn(c, type) ||
	      (path && compound_is_leaf(path)) ||
	      (path && !strcmp(path, "tokio::task::join_set::JoinSet")) ||
	      (path && strstr(path, "futures_unordered::FuturesUnordered")) ||
	      (compound_is_slice(c, type, &target) && compound_contains(c, &target, depth - 1)) ||
	      compound_contains_in(c, type, depth);
	known = u64map_at(c->without, (uint64_t)(uintptr_t)type->addr);
	if (known)
		*known = has ? 2 : 1;
	return has;
}

/* ---- collections ---------------------------------------------------------------------- */

static void compound_search_in(struct rust_compound *c, Dwarf_Die *type, uint64_t addr, int depth);

/* FuturesUnordered: tasks in a list, each with an Option of a future. */
static bool compound_unordered(struct rust_compound *c, Dwarf_Die *set, uint64_t addr, int depth)
{
	Dwarf_Die link, task, future;
	uint32_t head, next, at;
	uint64_t node;
	size_t nr;

	if (!rust_die_member(c->layouts, set, "head_all", &link, &head) ||
	    !rust_die_parameter(c->layouts, &link, &task) ||
	    !rust_die_member(c->layouts, &task, "next_all", &link, &next) ||
	    !rust_die_member(c->layouts, &task, "future", &future, &at) ||
	    !compound_read_word(c, addr + head, &node))
		return false;
	c->is_set = true;
	for (nr = 0; node && nr <= RUST_FUTURES_MAX; nr++) {
		compound_search_in(c, &future, node + at, depth);
		if (!compound_read_word(c, node + next, &node))
			break;
	}
	return true;
}

static void compound_list(struct rust_compound *c, Dwarf_Die *lists, uint64_t addr,
			  const char *name)
{
	Dwarf_Die list, entry, handle, pointers, type;
	uint32_t at, head, next = 0, inside, value;
	uint64_t node;
	size_t nr;

	if (!rust_die_member(c->layouts, lists, name, &list, &at) ||
	    !rust_die_member(c->layouts, &list, "head", &type, &head) ||
	    !rust_die_parameter(c->layouts, &list, &entry) ||
	    !rust_die_parameter(c->layouts, &entry, &handle) ||
	    !rust_die_inside(c->layouts, &entry, "PointersInner<", &pointers, &next) ||
	    !rust_die_member(c->layouts, &pointers, "next", &type, &inside) ||
	    !rust_die_member(c->layouts, &entry, "value", &type, &value) ||
	    !compound_read_word(c, addr + at + head, &node))
		return;
	for (nr = 0; node && nr <= RUST_FUTURES_MAX; nr++) {
		compound_add(c, &handle, node + value);
		if (!compound_read_word(c, node + next + inside, &node))
			break;
	}
}

/* JoinSet: a list of handles of tasks that were notified, and one of the others. */
static bool compound_join_set(struct rust_compound *c, Dwarf_Die *set, uint64_t addr)
{
	Dwarf_Die inner, shared, lists;
	uint32_t at, shared_at = 0, lists_at = 0;
	uint64_t lists_addr;
	Dwarf_Die pointer, target;

	if (!rust_die_member(c->layouts, set, "inner", &inner, &at) ||
	    !rust_die_member(c->layouts, &inner, "lists", &shared, &shared_at))
		return false;
	addr += at + shared_at;
	pointer = shared;
	while (dwarf_tag(&pointer) == DW_TAG_structure_type) {
		if (!rust_die_first_member(c->layouts, &pointer, &target, &at))
			return false;
		addr += at;
		pointer = target;
	}
	if (!rust_die_target(c->layouts, &pointer, &target) ||
	    !compound_read_word(c, addr, &lists_addr) ||
	    !rust_die_inside(c->layouts, &target, "ListsInner<", &lists, &lists_at))
		return false;
	c->is_set = true;
	compound_list(c, &lists, lists_addr + lists_at, "notified");
	compound_list(c, &lists, lists_addr + lists_at, "idle");
	return true;
}

/* A boxed slice: join_all(). */
static bool compound_slice(struct rust_compound *c, Dwarf_Die *type, uint64_t addr, int depth)
{
	Dwarf_Die pointer, element, length;
	uint32_t data_at, length_at, size;
	uint64_t data, nr, i;

	if (!compound_is_slice(c, type, &element))
		return false;
	if (!rust_die_member(c->layouts, type, "data_ptr", &pointer, &data_at) ||
	    !rust_die_member(c->layouts, type, "length", &length, &length_at) ||
	    !compound_contains(c, &element, depth - 1) || !(size = rust_die_size(&element)) ||
	    !compound_read_word(c, addr + data_at, &data) ||
	    !compound_read_word(c, addr + length_at, &nr))
		return true;
	c->is_set = true;
	for (i = 0; i < nr && i <= RUST_FUTURES_MAX; i++)
		compound_search_in(c, &element, data + i * size, depth - 1);
	return true;
}

/* ---- members ---------------------------------------------------------------------------- */

/* The captures of select!: a tuple of futures, and a bit for each that is disabled. */
static bool compound_select(struct rust_compound *c, Dwarf_Die *closure, uint64_t addr, int depth)
{
	Dwarf_Die type, tuple, inner;
	uint32_t disabled_at, futures_at, size, at, number, ignored = 0;
	uint64_t mask_addr, mask = 0, futures;

	if (!rust_die_member(c->layouts, closure, "_ref__disabled", &type, &disabled_at) ||
	    !rust_die_target(c->layouts, &type, &inner) ||
	    !rust_die_scalar(c->layouts, &inner, &ignored, &size) ||
	    !rust_die_member(c->layouts, closure, "_ref__futures", &type, &futures_at) ||
	    !compound_read_word(c, addr + disabled_at, &mask_addr) ||
	    !c->read(c->arg, mask_addr, &mask, size) ||
	    !compound_read_word(c, addr + futures_at, &futures) ||
	    !rust_die_target(c->layouts, &type, &tuple))
		return false;
	if (dwarf_tag(&tuple) == DW_TAG_pointer_type) {
		type = tuple;
		if (!rust_die_target(c->layouts, &type, &tuple) ||
		    !compound_read_word(c, futures, &futures))
			return false;
	}
	for (number = 0; number < rust_layout_find(c->layouts, &tuple)->nr; number++) {
		char name[16];

		snprintf(name, sizeof(name), "__%u", number);
		if (rust_die_member(c->layouts, &tuple, name, &inner, &at) &&
		    (number >= 64 || !(mask >> number & 1)))
			compound_search_in(c, &inner, futures + at, depth - 1);
	}
	return true;
}

/* Types that await all futures in them: those of Tokio and of the crate `futures`, and join!. */
static bool compound_awaits_all(struct rust_compound *c, Dwarf_Die *type)
{
	static const char *const crates[] = { "core::", "alloc::", "tokio::", "futures_", "(" };
	const char *path = rust_places_path(c->places, type);
	Dwarf_Die futures;
	uint32_t at;
	size_t i;

	for (i = 0; path && i < sizeof(crates) / sizeof(crates[0]); i++) {
		if (!strncmp(path, crates[i], strlen(crates[i])))
			return true;
	}
	return rust_die_member(c->layouts, type, "_ref__futures", &futures, &at) ||
	       rust_die_member(c->layouts, type, "futures", &futures, &at);
}

static void compound_members(struct rust_compound *c, const Dwarf_Die *of, uint64_t addr, int depth)
{
	Dwarf_Die type = *of;
	const struct rust_layout *layout = rust_layout_find(c->layouts, &type);
	size_t i;

	for (i = 0; i < layout->nr; i++) {
		type = layout->members[i].type;
		compound_search_in(c, &type, addr + layout->members[i].offset, depth - 1);
	}
}

static void compound_variant(struct rust_compound *c, const struct rust_layout *layout,
			     uint64_t addr, int depth)
{
	const struct rust_variant *variant;
	uint64_t value = 0;

	if (!c->read(c->arg, addr + layout->selector_offset, &value, layout->selector_size))
		return;
	variant = rust_die_variant(layout, value);
	if (variant && variant->has_type && !HAS_NAME(finished, variant->name))
		compound_members(c, &variant->type, addr, depth);
}

static void compound_search_in(struct rust_compound *c, Dwarf_Die *type, uint64_t addr, int depth)
{
	Dwarf_Die target;
	const char *path;

	if (!compound_contains(c, type, depth) || ++c->visited > VISITS_MAX)
		return;
	if (dwarf_tag(type) == DW_TAG_pointer_type) {
		if (compound_may_refer(c, type, &target) && compound_read_word(c, addr, &addr) &&
		    addr)
			compound_search_in(c, &target, addr, depth - 1);
		return;
	}
	path = rust_places_path(c->places, type);
	if (!path)
		return;
	if (rust_die_async(c->layouts, type) || compound_is_dyn(c, type) ||
	    compound_is_leaf(path) || !strcmp(path, "tokio::time::timeout::Timeout"))
		compound_add(c, type, addr);
	else if (!strcmp(path, "tokio::task::join_set::JoinSet"))
		compound_join_set(c, type, addr);
	else if (strstr(path, "futures_unordered::FuturesUnordered"))
		compound_unordered(c, type, addr, depth);
	else if (compound_slice(c, type, addr, depth) || compound_select(c, type, addr, depth))
		return;
	else if (rust_layout_find(c->layouts, type)->has_variants)
		compound_variant(c, rust_layout_find(c->layouts, type), addr, depth);
	else {
		c->is_guess = c->is_guess || !compound_awaits_all(c, type);
		compound_members(c, type, addr, depth);
	}
}

void rust_compound_search(struct rust_compound *c, Dwarf_Die *type, uint64_t addr)
{
	const char *path = rust_places_path(c->places, type);

	if (path && !compound_is_leaf(path))
		compound_search_in(c, type, addr, SEARCH_DEPTH);
}
