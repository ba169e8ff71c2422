/* SPDX-License-Identifier: MIT */
/* rust_futures.c - find the types of Tokio's tasks, and follow the futures in a task. */
#include "symbols/rust_futures.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbols/die_sibling.h"
#include "symbols/rust_async_task.h"
#include "symbols/rust_dies.h"
#include "symbols/rust_untyped.h"
#include "symbols/rust_walk.h"

struct rust_entry {
	struct rust_task_type type;
	Dwarf_Die cell;
	const char *args; /* "<T, S>", of the function's name */
	bool has_cell;
	struct rust_async_task *other; /* a task of async-task; NULL: of Tokio */
	struct Dwfl_Module *module;
	const struct rust_place *root; /* remembered; NULL: not yet known */
};

struct rust_futures {
	struct rust_entry *entries;
	size_t nr, room;
	Dwarf_Die *cells; /* of the module that is being added */
	size_t nr_cells, room_cells;
	struct rust_walker walker;
	struct Dwfl_Module *module; /* that is being added */
	bool is_without_types;      /* a task has no type in DWARF */
	bool is_without_names;      /* a task has not even a name */
};

struct rust_futures *rust_futures_new(void)
{
	return calloc(1, sizeof(struct rust_futures));
}

int rust_futures_describe(struct rust_futures *rf, const struct type_rules *rules)
{
	return rust_descriptions_set(&rf->walker.descriptions, rules);
}

/* ---- functions and types of a module ------------------------------------------ */

/* Call @visit for all children of the namespace @path of a unit. */
typedef int (*rust_visitor)(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias);

static int rust_visit_namespace(struct rust_futures *rf, Dwarf_Die *parent, const char *const *path,
				rust_visitor visit, uint64_t bias)
{
	Dwarf_Die die;
	int rc = 0;

	if (dwarf_child(parent, &die) != 0)
		return 0;
	do {
		const char *name;

		if (!*path) {
			rc = visit(rf, &die, bias);
			continue;
		}
		name = dwarf_tag(&die) == DW_TAG_namespace ? dwarf_diename(&die) : NULL;
		if (name && !strcmp(name, *path))
			rc = rust_visit_namespace(rf, &die, path + 1, visit, bias);
	} while (!rc && die_next(&die));
	return rc;
}

static int rust_add_entry(void *arg, const char *args, uint64_t poll)
{
	struct rust_futures *rf = arg;
	struct rust_entry *e;

	/* Threads of the runtime and calls of spawn_blocking() are tasks without a future. */
	args = !strncmp(args, "<tokio::runtime::blocking::", 27)
		       ? NULL
		       : rust_places_text(&rf->walker.places, args);
	if (!args)
		return 0;
	if (rf->nr == rf->room) {
		size_t room = rf->room ? rf->room * 2 : 64;

		e = reallocarray(rf->entries, room, sizeof(*e));
		if (!e)
			return -ENOMEM;
		rf->entries = e;
		rf->room = room;
	}
	e = &rf->entries[rf->nr++];
	*e = (struct rust_entry){ .type.poll = poll, .args = args, .module = rf->module };
	return 0;
}

/* A function of async-task. */
static int rust_add_run(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias)
{
	struct rust_async_task found, *kept;
	int rc;

	if (!rust_async_task_find(&rf->walker.layouts, die, bias, &found))
		return 0;
	kept = malloc(sizeof(*kept));
	rc = kept ? rust_add_entry(rf, found.args, found.type.poll) : -ENOMEM;
	if (rc < 0) {
		free(kept);
		return rc;
	}
	*kept = found;
	rf->entries[rf->nr - 1].type = found.type;
	rf->entries[rf->nr - 1].other = kept;
	return 0;
}

static int rust_add_poll(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias)
{
	const char *name = dwarf_tag(die) == DW_TAG_subprogram ? dwarf_diename(die) : NULL;
	Dwarf_Addr low;

	if (!name || strncmp(name, "poll<", 5) != 0 || dwarf_lowpc(die, &low) != 0 || !low)
		return 0;
	return rust_add_entry(rf, name + 4, low + bias);
}

static void rust_set_cell(struct rust_layouts *l, struct rust_entry *e, Dwarf_Die *cell)
{
	Dwarf_Die header, type, table;
	Dwarf_Attribute attr;
	Dwarf_Word alignment = 1;
	uint32_t at, state, vtable;

	if (!rust_die_member(l, cell, "header", &header, &at) ||
	    !rust_die_member(l, &header, "state", &type, &state) ||
	    !rust_die_member(l, &header, "vtable", &type, &vtable) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type || !rust_die_target(l, &type, &table) ||
	    !rust_die_member(l, &table, "poll", &type, &e->type.poll_offset))
		return;
	dwarf_formudata(dwarf_attr(cell, DW_AT_alignment, &attr), &alignment);
	e->type.size = rust_die_size(cell);
	e->type.alignment = alignment && alignment <= 4096 ? (uint32_t)alignment : 1;
	e->type.state_offset = at + state;
	e->type.vtable_offset = at + vtable;
	if (rust_die_member(l, &header, "owner_id", &type, &state))
		e->type.owner_offset = at + state;
	e->cell = *cell;
	e->has_cell = e->type.size >= at + 32;
}

static int rust_add_cell(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias)
{
	const char *name = dwarf_tag(die) == DW_TAG_structure_type ? dwarf_diename(die) : NULL;

	(void)bias;
	if (!name || strncmp(name, "Cell<", 5) != 0)
		return 0;
	if (rf->nr_cells == rf->room_cells) {
		size_t room = rf->room_cells ? rf->room_cells * 2 : 64;
		Dwarf_Die *more = reallocarray(rf->cells, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		rf->cells = more;
		rf->room_cells = room;
	}
	rf->cells[rf->nr_cells++] = *die;
	return 0;
}

/* The type of the task that each poll function is for has the same parameters. */
static void rust_set_cells(struct rust_futures *rf, size_t first)
{
	size_t i, k;

	for (i = first; i < rf->nr; i++) {
		struct rust_entry *e = &rf->entries[i];

		if (e->other)
			continue;
		for (k = 0; k < rf->nr_cells && !e->has_cell; k++) {
			if (!strcmp(e->args, dwarf_diename(&rf->cells[k]) + 4))
				rust_set_cell(&rf->walker.layouts, e, &rf->cells[k]);
		}
		e->type.is_untyped = !e->has_cell;
		rf->is_without_types = rf->is_without_types || !e->has_cell;
		rf->is_without_names = rf->is_without_names || !strcmp(e->args, "<?>");
	}
	rf->nr_cells = 0;
}

static int rust_visit_unit(struct rust_futures *rf, Dwarf_Die *unit, uint64_t bias)
{
	static const char *const raw[] = { "runtime", "task", "raw", NULL };
	static const char *const core[] = { "runtime", "task", "core", NULL };
	Dwarf_Die die;
	int rc = 0;

	if (dwarf_child(unit, &die) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&die);
		const char *name = tag == DW_TAG_namespace ? dwarf_diename(&die) : NULL;

		if (tag == DW_TAG_subprogram)
			rc = rust_add_run(rf, &die, bias);
		if (tag == DW_TAG_variable)
			rc = rust_vtables_add(&rf->walker.vtables, &die, bias);
		if (!name || strcmp(name, "tokio") != 0)
			continue;
		rc = rust_visit_namespace(rf, &die, raw, rust_add_poll, bias);
		if (!rc)
			rc = rust_visit_namespace(rf, &die, core, rust_add_cell, bias);
	} while (!rc && die_next(&die));
	return rc;
}

int rust_futures_add(struct rust_futures *rf, struct Dwfl_Module *module)
{
	size_t before = rf->nr;
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	int rc = 0;

	rf->module = module;
	while (!rc && (unit = dwfl_module_nextcu(module, unit, &bias))) {
		if (dwarf_srclang(unit) == DW_LANG_Rust)
			rc = rust_visit_unit(rf, unit, bias);
	}
	if (!rc && rf->nr == before)
		rc = rust_untyped_symbols(module, rust_add_entry, rf);
	rust_set_cells(rf, before);
	return rc;
}

void rust_futures_assume(struct rust_futures *rf, uint32_t vtable_offset)
{
	size_t i;

	/* The header has a C layout: state ... table, number of the owner. */
	for (i = 0; i < rf->nr; i++) {
		if (!rf->entries[i].type.is_untyped)
			continue;
		rf->entries[i].type.vtable_offset = vtable_offset;
		rf->entries[i].type.owner_offset = vtable_offset + 8;
		rf->entries[i].type.alignment = 16;
	}
}

bool rust_futures_state(const struct rust_task_type *type, uint64_t addr, rust_reader read,
			void *arg, uint64_t *state)
{
	if (!read(arg, addr + type->state_offset, state, 8))
		return false;
	if (type->is_async_task)
		*state = rust_async_task_state(*state);
	return true;
}

size_t rust_futures_count(const struct rust_futures *rf)
{
	return rf->nr;
}

const struct rust_task_type *rust_futures_type(const struct rust_futures *rf, size_t number)
{
	return &rf->entries[number].type;
}

/* ---- from a task to its future ---------------------------------------------------- */

struct rust_cell_walk {
	struct rust_layouts *layouts;
	rust_reader read;
	void *arg;
	Dwarf_Die type;
	uint64_t addr;
};

/* From the cell to its future: core.stage, through the wrappers, to the variant Running. */
static bool rust_cell_future(struct rust_cell_walk *w, bool *is_finished)
{
	const struct rust_variant *variant;
	const struct rust_layout *layout;
	Dwarf_Die type;
	uint64_t value = 0;
	uint32_t at;
	int step;

	if (!rust_die_member(w->layouts, &w->type, "core", &type, &at))
		return false;
	w->addr += at;
	w->type = type;
	if (!rust_die_member(w->layouts, &w->type, "stage", &type, &at))
		return false;
	for (step = 0; step < 8; step++) {
		const char *name;

		w->addr += at;
		w->type = type;
		name = dwarf_diename(&w->type);
		if (name && !strncmp(name, "Stage<", 6))
			break;
		if (!rust_die_first_member(w->layouts, &w->type, &type, &at))
			return false;
	}
	layout = rust_layout_find(w->layouts, &w->type);
	if (!layout->has_variants ||
	    !w->read(w->arg, w->addr + layout->selector_offset, &value, layout->selector_size))
		return false;
	variant = rust_die_variant(layout, value);
	if (!variant || !variant->has_type)
		return false;
	*is_finished = !variant->name || strcmp(variant->name, "Running") != 0;
	if (*is_finished)
		return true;
	type = variant->type;
	if (!rust_die_first_member(w->layouts, &type, &w->type, &at))
		return false;
	w->addr += at;
	return true;
}

/* The task as far as its function's name says it: "<server::serve::{async_fn_env#0}, ...". */
const struct rust_place *rust_futures_root(struct rust_futures *rf, size_t number)
{
	struct rust_entry *e = &rf->entries[number];
	char path[RUST_NAME_MAX], function[RUST_NAME_MAX], plain[PATH_MAX];
	struct rust_place place = { 0 };
	const char *file;
	int line = 0;

	if (e->root)
		return e->root;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(e->args + 1, "<,>"), e->args + 1);
	rust_plain_function(path, function, sizeof(function));
	place.function = rust_places_text(&rf->walker.places,
					  !strcmp(function, "?") ? "(unknown)" : function);
	if (e->type.is_untyped && rust_untyped_find(e->module, path, &file, &line) && line > 0) {
		path_plain(file, plain, sizeof(plain));
		place.file = rust_places_text(&rf->walker.places, plain);
		place.line = (uint32_t)line;
	}
	e->root = place.function ? rust_places_keep(&rf->walker.places, &place) : NULL;
	return e->root;
}

static bool rust_stack_of_root(struct rust_futures *rf, size_t number, struct rust_stack *out)
{
	const struct rust_place *root = rust_futures_root(rf, number);

	out->places = root ? rust_places_stack(&rf->walker.places, &root, 1) : NULL;
	out->nr = out->places != NULL;
	return out->nr;
}

/* @visitor: called for each level, or NULL. */
static bool rust_task_walk(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
			   void *arg, const struct rust_visitor *visitor, struct rust_stack *out)
{
	const struct rust_entry *e = &rf->entries[number];
	struct rust_cell_walk w = {
		.layouts = &rf->walker.layouts, .read = read, .arg = arg, .addr = cell
	};

	*out = (struct rust_stack){ .wait.fd = -1 };
	if (e->other) {
		if (!rust_async_task_future(e->other, cell, read, arg, &w.addr) ||
		    !rust_walk_future(&rf->walker, 0, &e->other->future, w.addr, read, arg, NULL,
				      out))
			return false;
		return out->nr ? true : rust_stack_of_root(rf, number, out);
	}
	if (!e->has_cell)
		return rust_stack_of_root(rf, number, out);
	w.type = e->cell;
	if (!rust_cell_future(&w, &out->is_finished))
		return false;
	if (out->is_finished)
		return true;
	if (!rust_walk_future(&rf->walker, cell, &w.type, w.addr, read, arg, visitor, out))
		return false;
	return out->nr ? true : rust_stack_of_root(rf, number, out);
}

bool rust_futures_read(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
		       void *arg, struct rust_stack *out)
{
	return rust_task_walk(rf, number, cell, read, arg, NULL, out);
}

bool rust_futures_visit(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
			void *arg, rust_level_visitor visit, void *visit_arg)
{
	struct rust_visitor visitor = { visit, visit_arg };
	struct rust_stack stack;
	bool done = rust_task_walk(rf, number, cell, read, arg, &visitor, &stack);

	rust_stack_release(&stack);
	return done;
}

bool rust_futures_walk(struct rust_futures *rf, const Dwarf_Die *type, uint64_t addr,
		       rust_reader read, void *arg, struct rust_stack *out)
{
	return rust_walk_future(&rf->walker, 0, type, addr, read, arg, NULL, out);
}

struct rust_layouts *rust_futures_layouts(struct rust_futures *rf)
{
	return &rf->walker.layouts;
}

bool rust_futures_name(struct rust_futures *rf, Dwarf_Die *type, struct rust_stack *out)
{
	const char *path = rust_places_path(&rf->walker.places, type);
	char function[RUST_NAME_MAX];
	struct rust_place place = { 0 };
	const struct rust_place *kept;

	rust_plain_function(path ? path : "?", function, sizeof(function));
	place.function = rust_places_text(&rf->walker.places, function);
	kept = place.function ? rust_places_keep(&rf->walker.places, &place) : NULL;
	out->places = kept ? rust_places_stack(&rf->walker.places, &kept, 1) : NULL;
	out->nr = out->places != NULL;
	return out->nr;
}

void rust_stack_release(struct rust_stack *stack)
{
	free(stack->branch_waits);
	free(stack->guards);
	*stack = (struct rust_stack){ .wait.fd = -1 };
}

/* ---- the end --------------------------------------------------------------------- */

const char *rust_futures_problem(const struct rust_futures *rf)
{
	if (rf->is_without_names)
		return "the program has no debug information: of Tokio's tasks only the number is "
		       "known (build with debug = 2)";
	return rf->is_without_types
		       ? "the debug information has no types: where Tokio's tasks are suspended, "
			 "and what they wait for, is not known (build with debug = 2)"
		       : NULL;
}

void rust_futures_free(struct rust_futures *rf)
{
	size_t i;

	if (!rf)
		return;
	for (i = 0; i < rf->nr; i++)
		free(rf->entries[i].other);
	free(rf->cells);
	free(rf->entries);
	rust_walker_release(&rf->walker);
	free(rf);
}
