/* SPDX-License-Identifier: MIT */
/* rust_walk.c - follow a future to what it awaits in the end, through its branches. */
#include "symbols/rust_walk.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbols/rust_dies.h"
#include "symbols/rust_resources.h"
#include "symbols/rust_untyped.h"
#include "symbols/rust_waits.h"

#define BRANCH_DEPTH 6  /* branches in branches */
#define BRANCHES_MAX 64 /* different ones of a place */
#define STEPS_MAX    (4 * RUST_DEPTH_MAX)
#define GUARDS_READ  32 /* of a task */

/* What all branches of a task share. */
struct walk_shared {
	struct rust_walker *walker;
	struct rust_resources resources;
	rust_reader read;
	void *arg;
	struct rust_wait *waits;
	size_t nr, room;
	struct described_value guards[GUARDS_READ];
	size_t nr_guards;
	const struct rust_visitor *visitor;
	bool has_failed; /* no memory */
};

struct rust_walk {
	struct walk_shared *shared;
	const struct rust_place *places[RUST_DEPTH_MAX]; /* outermost first */
	size_t nr;
	struct rust_wait wait;
	bool is_finished, has_branches;
	int depth;      /* that branches may have */
	Dwarf_Die type; /* of the future, at addr */
	uint64_t addr;
};

static bool walk_read_number(const struct rust_walk *w, uint64_t addr, uint32_t size, uint64_t *out)
{
	*out = 0;
	return w->shared->read(w->shared->arg, addr, out, size);
}

static void walk_put(struct rust_walk *w, size_t at, const struct rust_place *place)
{
	w->places[at] = rust_places_keep(&w->shared->walker->places, place);
	if (!w->places[at])
		w->shared->has_failed = true;
}

/* The future with the path @path has its members in @members, at w->addr. */
static void walk_note_wait(struct rust_walk *w, const char *path, Dwarf_Die *members)
{
	rust_wait_note(&w->shared->walker->descriptions, &w->wait, path, members, w->addr,
		       w->shared->read, w->shared->arg);
}

static void walk_note_guards(struct rust_walk *w, Dwarf_Die *variant)
{
	struct walk_shared *s = w->shared;

	s->nr_guards += rust_guards_read(&s->walker->descriptions, variant, w->addr, s->read,
					 s->arg, s->guards + s->nr_guards,
					 GUARDS_READ - s->nr_guards);
}

/* ---- async functions ---------------------------------------------------------------- */

/* File and line of a variant. */
static void walk_line(struct rust_walk *w, Dwarf_Die *member, struct rust_place *place)
{
	const char *source = dwarf_decl_file(member);
	char file[PATH_MAX];
	int line = 0;

	if (!source)
		return;
	path_plain(source, file, sizeof(file));
	place->file = rust_places_text(&w->shared->walker->places, file);
	dwarf_decl_line(member, &line);
	place->line = line > 0 ? (uint32_t)line : 0;
}

/*
 * An .await in select! or join! has the line of Tokio's macro.  The closure that the macro made,
 * in a PollFn, has lines of the function as well; otherwise the line of the function is shown.
 */
static void walk_macro_line(struct rust_walk *w, const struct rust_layout *future, Dwarf_Die *state,
			    struct rust_place *place)
{
	struct rust_walker *walker = w->shared->walker;
	const struct rust_variant *first = rust_die_variant(future, 0);
	struct rust_place start = { 0 };
	Dwarf_Die member, awaitee, closure;
	const char *path;
	uint64_t *known;
	uint32_t at, line;

	if (!place->is_exact || !first)
		return;
	member = first->member;
	walk_line(w, &member, &start);
	if (!start.file || start.file == place->file)
		return;
	place->file = start.file;
	place->line = start.line;
	place->is_exact = false;
	if (!rust_die_member(&walker->layouts, state, "__awaitee", &awaitee, &at) ||
	    !rust_die_member(&walker->layouts, &awaitee, "f", &closure, &at) ||
	    !(path = rust_places_path(&walker->places, &closure)) ||
	    !(known = u64map_at(&walker->macros, (uint64_t)(uintptr_t)closure.addr)))
		return;
	if (!*known)
		*known = 1 + (rust_untyped_macro(&closure, path, start.file, &line) ? line : 0);
	if (*known > 1) {
		place->line = (uint32_t)*known - 1;
		place->is_exact = true;
	}
}

/* The place of an async function in the state @variant. */
static const struct rust_place *walk_make_place(struct rust_walk *w,
						const struct rust_layout *future, const char *path,
						const struct rust_variant *variant,
						Dwarf_Die *state, const char *name)
{
	struct rust_place place = { 0 };
	char function[RUST_NAME_MAX];
	Dwarf_Die member = variant->member;

	rust_plain_function(path, function, sizeof(function));
	place.function = rust_places_text(&w->shared->walker->places, function);
	walk_line(w, &member, &place);
	place.is_initial = !strcmp(name, "Unresumed");
	place.is_exact = place.file && !strncmp(name, "Suspend", 7);
	walk_macro_line(w, future, state, &place);
	return place.function ? rust_places_keep(&w->shared->walker->places, &place) : NULL;
}

/* The same, made for the first task in that state. */
static bool walk_note_place(struct rust_walk *w, const struct rust_layout *future, const char *path,
			    const struct rust_variant *variant, Dwarf_Die *state, const char *name)
{
	uint64_t key = (uint64_t)(uintptr_t)variant->member.addr, known = 0;
	const struct rust_place *place;

	u64map_get(&w->shared->walker->noted, key, &known);
	// NOLINTNEXTLINE(performance-no-int-to-ptr): the map keeps addresses
	place = known ? (const struct rust_place *)(uintptr_t)known
		      : walk_make_place(w, future, path, variant, state, name);
	if (!place || (!known && u64map_put(&w->shared->walker->noted, key,
					    (uint64_t)(uintptr_t)place) < 0)) {
		w->shared->has_failed = true;
		return false;
	}
	w->places[w->nr++] = place;
	return true;
}

/* The future at w->addr is that of an async function: note its place and go to what it awaits. */
static bool walk_async(struct rust_walk *w, const struct rust_layout *future)
{
	const struct rust_variant *variant;
	const char *name, *path;
	uint64_t value;
	Dwarf_Die state;
	uint32_t at;

	if (w->nr == RUST_DEPTH_MAX ||
	    !walk_read_number(w, w->addr + future->selector_offset, future->selector_size, &value))
		return false;
	variant = rust_die_variant(future, value);
	if (!variant || !variant->has_type)
		return false;
	state = variant->type;
	name = dwarf_diename(&state);
	path = name ? rust_places_path(&w->shared->walker->places, &w->type) : NULL;
	if (!path)
		return false;
	w->is_finished = !strcmp(name, "Returned") || !strcmp(name, "Panicked");
	walk_note_wait(w, path, &state);
	if (!w->is_finished)
		walk_note_guards(w, &state);
	if (!walk_note_place(w, future, path, variant, &state, name))
		return false;
	if (w->shared->visitor && w->depth == BRANCH_DEPTH)
		w->shared->visitor->visit(w->shared->visitor->arg, &state, w->addr);
	if (strncmp(name, "Suspend", 7) != 0)
		return false;
	rust_resources_note(&w->shared->resources, &w->wait, path, &state, w->addr);
	if (!rust_die_member(&w->shared->walker->layouts, &state, "__awaitee", &w->type, &at))
		return false;
	w->addr += at;
	return true;
}

/* ---- other futures ------------------------------------------------------------------ */

/* A pointer, a trait object, or a struct around another future. */
static bool walk_wrapper(struct rust_walk *w, const char *path)
{
	struct rust_layouts *l = &w->shared->walker->layouts;
	const char *follow = rust_wait_follows(&w->shared->walker->descriptions, &w->wait, path);
	Dwarf_Die type;
	uint32_t at;

	if (dwarf_tag(&w->type) == DW_TAG_pointer_type) {
		if (!rust_die_target(l, &w->type, &type) ||
		    !walk_read_number(w, w->addr, 8, &w->addr) || !w->addr)
			return false;
	} else if (follow && (*follow ? rust_die_member(l, &w->type, follow, &type, &at)
				      : rust_die_first_member(l, &w->type, &type, &at))) {
		rust_resources_limit(&w->shared->resources, &w->wait, &w->type, path, w->addr);
		w->addr += at;
	} else {
		return false;
	}
	w->type = type;
	return true;
}

/* The innermost place awaits a future of that type. */
static void walk_set_awaits(struct rust_walk *w, const char *path)
{
	struct rust_place place;

	if (!w->nr)
		return;
	place = *w->places[w->nr - 1];
	place.awaits = path;
	walk_put(w, w->nr - 1, &place);
}

static void walk_leaf(struct rust_walk *w, const char *path)
{
	struct rust_wait limit = w->wait;

	walk_note_wait(w, path, &w->type);
	rust_wait_earlier(&w->wait, &limit);
	rust_resources_read(&w->shared->resources, &w->wait, &w->type, path, w->addr);
	walk_set_awaits(w, path);
}

/* ---- branches -------------------------------------------------------------------------- */

static void walk_futures(struct rust_walk *w);

static void walk_add_wait(struct walk_shared *s, const struct rust_wait *wait)
{
	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 4;
		struct rust_wait *more = reallocarray(s->waits, room, sizeof(*more));

		if (!more) {
			s->has_failed = true;
			return;
		}
		s->waits = more;
		s->room = room;
	}
	s->waits[s->nr++] = *wait;
}

struct walk_branches {
	struct rust_branch branches[BRANCHES_MAX];
	size_t nr;
	bool has_more;
};

static void walk_add_branch(struct walk_branches *b, const struct rust_branch *branch)
{
	size_t i;

	for (i = 0; i < b->nr; i++) {
		struct rust_branch *known = &b->branches[i];

		if (known->places == branch->places && known->nr == branch->nr &&
		    known->kind == branch->kind && known->type == branch->type) {
			known->count++;
			return;
		}
	}
	if (b->nr == BRANCHES_MAX)
		b->has_more = true;
	else
		b->branches[b->nr++] = *branch;
}

static void walk_branch(struct rust_walk *w, const struct rust_found *found,
			struct walk_branches *b)
{
	struct rust_walk inner = {
		.shared = w->shared,
		.wait = { .fd = -1, .is_guess = w->wait.is_guess },
		.depth = w->depth - 1,
		.type = found->type,
		.addr = found->addr,
	};
	struct rust_branch branch = { .count = 1 };

	walk_futures(&inner);
	if (inner.is_finished)
		return;
	branch.places = rust_places_stack(&w->shared->walker->places, inner.places, inner.nr);
	branch.nr = inner.nr;
	branch.kind = inner.wait.kind;
	branch.type = inner.wait.type;
	if (!branch.places)
		w->shared->has_failed = true;
	else
		walk_add_branch(b, &branch);
	if (!inner.has_branches)
		walk_add_wait(w->shared, &inner.wait);
}

static void walk_set_branches(struct rust_walk *w, const struct rust_compound *c, const char *path)
{
	struct walk_branches *b = calloc(1, sizeof(*b));
	struct rust_place place = *w->places[w->nr - 1];
	size_t i;

	for (i = 0; b && i < c->nr; i++)
		walk_branch(w, &c->found[i], b);
	place.awaits = path;
	if (b && b->nr) {
		place.branches = rust_places_branches(&w->shared->walker->places, b->branches,
						      b->nr);
		place.nr_branches = place.branches ? b->nr : 0;
		place.has_more = b->has_more || c->has_more;
		w->has_branches = true;
	}
	if (!b)
		w->shared->has_failed = true;
	walk_put(w, w->nr - 1, &place);
	free(b);
}

static struct rust_compound walk_compound_new(const struct rust_walk *w)
{
	return (struct rust_compound){
		.places = &w->shared->walker->places,
		.layouts = &w->shared->walker->layouts,
		.without = &w->shared->walker->without,
		.vtables = &w->shared->walker->vtables,
		.read = w->shared->read,
		.arg = w->shared->arg,
	};
}

/* A trait object.  False: it is not one; *@goes_on: its type is known. */
static bool walk_dyn(struct rust_walk *w, bool *goes_on)
{
	struct rust_compound c = walk_compound_new(w);
	struct rust_found object;

	if (!rust_compound_dyn(&c, &w->type, w->addr, &object, goes_on))
		return false;
	if (*goes_on) {
		w->type = object.type;
		w->addr = object.addr;
	} else {
		walk_leaf(w, "dyn Future");
	}
	return true;
}

/*
 * A future that is neither an async function nor a known wrapper: the futures in it.  True: there
 * is one, and the walk goes on with it.
 */
static bool walk_compound(struct rust_walk *w, const char *path)
{
	struct rust_compound c = walk_compound_new(w);
	bool goes_on = false;

	rust_compound_search(&c, &w->type, w->addr);
	w->wait.is_guess = w->wait.is_guess || c.is_guess;
	if (c.nr == 1 && !c.is_set) {
		w->type = c.found[0].type;
		w->addr = c.found[0].addr;
		goes_on = true;
	} else if (c.nr && w->nr && w->depth > 0) {
		walk_note_wait(w, path, &w->type);
		walk_set_branches(w, &c, path);
	} else {
		walk_leaf(w, path);
	}
	w->shared->has_failed = w->shared->has_failed || c.has_failed;
	free(c.found);
	return goes_on;
}

static void walk_futures(struct rust_walk *w)
{
	struct rust_layouts *l = &w->shared->walker->layouts;
	bool goes_on;
	const char *path;
	int step;

	for (step = 0; step < STEPS_MAX && !w->shared->has_failed; step++) {
		if (rust_die_async(l, &w->type)) {
			if (!walk_async(w, rust_layout_find(l, &w->type)))
				return;
			continue;
		}
		if (walk_dyn(w, &goes_on)) {
			if (!goes_on)
				return;
			continue;
		}
		path = dwarf_tag(&w->type) == DW_TAG_pointer_type
			       ? ""
			       : rust_places_path(&w->shared->walker->places, &w->type);
		if (!path)
			return;
		if (walk_wrapper(w, path))
			continue;
		if (!path[0] || !walk_compound(w, path))
			return;
	}
}

bool rust_walk_future(struct rust_walker *walker, uint64_t task, const Dwarf_Die *type,
		      uint64_t addr, rust_reader read, void *arg,
		      const struct rust_visitor *visitor, struct rust_stack *out)
{
	struct walk_shared shared = {
		.walker = walker,
		.resources = { &walker->layouts, &walker->socketless, task, read, arg },
		.read = read,
		.arg = arg,
		.visitor = visitor,
	};
	struct rust_walk w = {
		.shared = &shared,
		.wait.fd = -1,
		.depth = BRANCH_DEPTH,
		.type = *type,
		.addr = addr,
	};

	walk_futures(&w);
	out->places = rust_places_stack(&walker->places, w.places, w.nr);
	out->nr = w.nr;
	out->wait = w.wait;
	out->is_finished = w.is_finished;
	out->branch_waits = shared.waits;
	out->nr_branch_waits = shared.nr;
	if (shared.nr_guards) {
		out->guards = calloc(shared.nr_guards, sizeof(*out->guards));
		if (!out->guards)
			return false;
		memcpy(out->guards, shared.guards, shared.nr_guards * sizeof(*out->guards));
		out->nr_guards = shared.nr_guards;
	}
	return out->places && !shared.has_failed;
}

void rust_walker_release(struct rust_walker *walker)
{
	rust_layouts_release(&walker->layouts);
	rust_places_release(&walker->places);
	rust_vtables_release(&walker->vtables);
	u64map_release(&walker->without);
	u64map_release(&walker->socketless);
	rust_descriptions_release(&walker->descriptions);
	u64map_release(&walker->macros);
	u64map_release(&walker->noted);
}
