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
#include "base/strtab.h"
#include "base/u64map.h"
#include "symbols/rust_dies.h"
#include "symbols/rust_waits.h"

#define NAME_MAX_LEN 2048

struct rust_entry {
	struct rust_task_type type;
	Dwarf_Die cell;
	const char *args; /* "<T, S>", of the function's name */
	bool has_cell;
};

struct rust_futures {
	struct rust_entry *entries;
	size_t nr, room;
	struct strtab texts;
	struct u64map paths;        /* address of a type's DIE to 1 + number of its path */
	struct strtab keys;         /* of places */
	struct rust_place **places; /* by the number of their key */
	size_t nr_places;
	bool is_without_types; /* a task has no type in DWARF */
};

struct rust_futures *rust_futures_new(void)
{
	return calloc(1, sizeof(struct rust_futures));
}

static const char *rust_keep(struct rust_futures *rf, const char *text)
{
	int64_t number = text ? strtab_intern(&rf->texts, text) : -1;

	return number < 0 ? NULL : strtab_text(&rf->texts, (size_t)number);
}

/* rust_die_path(), remembered: it searches the unit.  NULL: unknown. */
static const char *rust_path_of(struct rust_futures *rf, Dwarf_Die *type)
{
	uint64_t *slot = u64map_at(&rf->paths, (uint64_t)(uintptr_t)type->addr);
	char path[NAME_MAX_LEN];
	int64_t number;

	if (!slot)
		return NULL;
	if (!*slot) {
		if (!rust_die_path(type, path, sizeof(path)))
			snprintf(path, sizeof(path), "?");
		number = strtab_intern(&rf->texts, path);
		if (number < 0)
			return NULL;
		*slot = (uint64_t)number + 1;
	}
	return strtab_text(&rf->texts, *slot - 1);
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
	} while (!rc && dwarf_siblingof(&die, &die) == 0);
	return rc;
}

static int rust_add_poll(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias)
{
	const char *name = dwarf_tag(die) == DW_TAG_subprogram ? dwarf_diename(die) : NULL;
	struct rust_entry *e;
	Dwarf_Addr low;

	/* Threads of the runtime and calls of spawn_blocking() are tasks without a future. */
	if (!name || strncmp(name, "poll<", 5) != 0 || dwarf_lowpc(die, &low) != 0 || !low ||
	    !strncmp(name + 5, "tokio::runtime::blocking::", 26))
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
	*e = (struct rust_entry){ .type.poll = low + bias, .args = name + 4 };
	return 0;
}

static void rust_set_cell(struct rust_entry *e, Dwarf_Die *cell)
{
	Dwarf_Die header, type, table;
	Dwarf_Attribute attr;
	Dwarf_Word alignment = 1;
	uint32_t at, state, vtable;

	if (!rust_die_member(cell, "header", &header, &at) ||
	    !rust_die_member(&header, "state", &type, &state) ||
	    !rust_die_member(&header, "vtable", &type, &vtable) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type || !rust_die_type(&type, &table) ||
	    !rust_die_member(&table, "poll", &type, &e->type.poll_offset))
		return;
	dwarf_formudata(dwarf_attr(cell, DW_AT_alignment, &attr), &alignment);
	e->type.size = rust_die_size(cell);
	e->type.alignment = alignment && alignment <= 4096 ? (uint32_t)alignment : 1;
	e->type.state_offset = at + state;
	e->type.vtable_offset = at + vtable;
	e->cell = *cell;
	e->has_cell = e->type.size >= at + 32;
}

static int rust_add_cell(struct rust_futures *rf, Dwarf_Die *die, uint64_t bias)
{
	const char *name = dwarf_tag(die) == DW_TAG_structure_type ? dwarf_diename(die) : NULL;
	size_t i;

	(void)bias;
	if (!name || strncmp(name, "Cell<", 5) != 0)
		return 0;
	for (i = 0; i < rf->nr; i++) {
		struct rust_entry *e = &rf->entries[i];

		if (!e->has_cell && !strcmp(e->args, name + 4))
			rust_set_cell(e, die);
	}
	return 0;
}

static int rust_visit_units(struct rust_futures *rf, struct Dwfl_Module *module,
			    const char *const *path, rust_visitor visit)
{
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	int rc = 0;

	while (!rc && (unit = dwfl_module_nextcu(module, unit, &bias))) {
		if (dwarf_srclang(unit) == DW_LANG_Rust)
			rc = rust_visit_namespace(rf, unit, path, visit, bias);
	}
	return rc;
}

int rust_futures_add(struct rust_futures *rf, struct Dwfl_Module *module)
{
	static const char *const raw[] = { "tokio", "runtime", "task", "raw", NULL };
	static const char *const core[] = { "tokio", "runtime", "task", "core", NULL };
	size_t before = rf->nr, i;
	int rc = rust_visit_units(rf, module, raw, rust_add_poll);

	if (!rc && rf->nr > before)
		rc = rust_visit_units(rf, module, core, rust_add_cell);
	for (i = before; i < rf->nr; i++)
		rf->is_without_types = rf->is_without_types || !rf->entries[i].has_cell;
	return rc;
}

size_t rust_futures_count(const struct rust_futures *rf)
{
	return rf->nr;
}

const struct rust_task_type *rust_futures_type(const struct rust_futures *rf, size_t number)
{
	return &rf->entries[number].type;
}

/* ---- places -------------------------------------------------------------------- */

/* "server::serve::{async_fn_env#0}": "serve". */
static void rust_plain_function(const char *path, char *out, size_t size)
{
	size_t end = strlen(path);

	while (end) {
		size_t start = end;

		while (start && path[start - 1] != ':')
			start--;
		if (path[start] != '{') {
			snprintf(out, size, "%.*s", (int)(end - start), path + start);
			return;
		}
		end = start >= 2 ? start - 2 : 0;
	}
	snprintf(out, size, "%s", path);
}

static const struct rust_place *rust_place_keep(struct rust_futures *rf, struct rust_place place)
{
	char key[NAME_MAX_LEN + PATH_MAX + 64];
	struct rust_place **more, *kept;
	int64_t number;

	snprintf(key, sizeof(key), "%s\n%s\n%u %d %d\n%s", place.function,
		 place.file ? place.file : "", place.line, place.is_exact, place.is_initial,
		 place.awaits ? place.awaits : "");
	number = strtab_intern(&rf->keys, key);
	if (number < 0)
		return NULL;
	if ((size_t)number < rf->nr_places)
		return rf->places[number];
	more = reallocarray(rf->places, rf->nr_places + 1, sizeof(struct rust_place *));
	if (more)
		rf->places = more;
	kept = more ? malloc(sizeof(*kept)) : NULL;
	if (!kept)
		return NULL;
	*kept = place;
	rf->places[rf->nr_places++] = kept;
	return kept;
}

/* ---- follow the futures ---------------------------------------------------------- */

struct rust_walk {
	struct rust_futures *rf;
	rust_reader read;
	void *arg;
	struct rust_stack *out;
	Dwarf_Die type; /* of the future, at addr */
	uint64_t addr;
};

static bool walk_read_number(const struct rust_walk *w, uint64_t addr, uint32_t size, uint64_t *out)
{
	*out = 0;
	return w->read(w->arg, addr, out, size);
}

/* The future at w->addr is that of an async function: note its place and go to what it awaits. */
static bool walk_async(struct rust_walk *w, const struct rust_variants *variants)
{
	struct rust_place place = { 0 };
	char function[NAME_MAX_LEN], file[PATH_MAX];
	Dwarf_Die member, variant;
	const char *name, *source, *path;
	uint64_t state;
	uint32_t at;
	int line = 0;

	if (!walk_read_number(w, w->addr + variants->offset, variants->size, &state) ||
	    !rust_die_variant(variants, state, &member) || !rust_die_type(&member, &variant) ||
	    !(name = dwarf_diename(&variant)) || w->out->nr == RUST_DEPTH_MAX)
		return false;
	w->out->is_finished = !strcmp(name, "Returned") || !strcmp(name, "Panicked");
	path = rust_path_of(w->rf, &w->type);
	if (!path)
		return false;
	rust_wait_note(&w->out->wait, path);
	rust_plain_function(path, function, sizeof(function));
	place.function = rust_keep(w->rf, function);
	source = dwarf_decl_file(&member);
	if (source) {
		path_plain(source, file, sizeof(file));
		place.file = rust_keep(w->rf, file);
		dwarf_decl_line(&member, &line);
		place.line = line > 0 ? (uint32_t)line : 0;
	}
	place.is_initial = !strcmp(name, "Unresumed");
	place.is_exact = place.file && !strncmp(name, "Suspend", 7);
	if (!place.function || !(w->out->places[w->out->nr] = rust_place_keep(w->rf, place)))
		return false;
	w->out->nr++;
	if (strncmp(name, "Suspend", 7) != 0 ||
	    !rust_die_member(&variant, "__awaitee", &w->type, &at))
		return false;
	w->addr += at;
	return true;
}

/* A pointer, or a struct around another future. */
static bool walk_wrapper(struct rust_walk *w, const char *path)
{
	const char *follow = rust_wait_follows(path);
	Dwarf_Die type;
	uint32_t at;

	if (dwarf_tag(&w->type) == DW_TAG_pointer_type) {
		if (!rust_die_type(&w->type, &type) || !walk_read_number(w, w->addr, 8, &w->addr) ||
		    !w->addr)
			return false;
	} else if (follow && (*follow ? rust_die_member(&w->type, follow, &type, &at)
				      : rust_die_first_member(&w->type, &type, &at))) {
		w->addr += at;
	} else {
		return false;
	}
	w->type = type;
	return true;
}

static void walk_leaf(struct rust_walk *w, const char *path)
{
	struct rust_stack *out = w->out;

	rust_wait_note(&out->wait, path);
	rust_wait_read(&out->wait, &w->type, path, w->addr, w->read, w->arg);
	if (out->nr) {
		struct rust_place place = *out->places[out->nr - 1];

		place.awaits = path;
		out->places[out->nr - 1] = rust_place_keep(w->rf, place);
		out->nr -= !out->places[out->nr - 1];
	}
}

static void walk_futures(struct rust_walk *w)
{
	struct rust_variants variants;
	const char *path;
	int step;

	for (step = 0; step < 4 * RUST_DEPTH_MAX; step++) {
		if (rust_die_variants(&w->type, &variants) && variants.selector &&
		    !strcmp(variants.selector, "__state")) {
			if (!walk_async(w, &variants))
				return;
			continue;
		}
		path = dwarf_tag(&w->type) == DW_TAG_pointer_type ? ""
								  : rust_path_of(w->rf, &w->type);
		if (!path)
			return;
		if (!walk_wrapper(w, path)) {
			if (path[0])
				walk_leaf(w, path);
			return;
		}
	}
}

/* From the cell to its future: core.stage, through the wrappers, to the variant Running. */
static bool walk_to_future(struct rust_walk *w, bool *is_finished)
{
	struct rust_variants variants;
	Dwarf_Die type, member;
	uint64_t value;
	uint32_t at;
	int step;

	if (!rust_die_member(&w->type, "core", &type, &at))
		return false;
	w->addr += at;
	w->type = type;
	if (!rust_die_member(&w->type, "stage", &type, &at))
		return false;
	for (step = 0; step < 8; step++) {
		const char *name;

		w->addr += at;
		w->type = type;
		name = dwarf_diename(&w->type);
		if (name && !strncmp(name, "Stage<", 6))
			break;
		if (!rust_die_first_member(&w->type, &type, &at))
			return false;
	}
	if (!rust_die_variants(&w->type, &variants) ||
	    !walk_read_number(w, w->addr + variants.offset, variants.size, &value) ||
	    !rust_die_variant(&variants, value, &member) || !rust_die_type(&member, &type))
		return false;
	*is_finished = strcmp(dwarf_diename(&member) ? dwarf_diename(&member) : "", "Running") != 0;
	if (*is_finished)
		return true;
	if (!rust_die_first_member(&type, &w->type, &at))
		return false;
	w->addr += at;
	return true;
}

/* The task as far as its function's name says it: "<server::serve::{async_fn_env#0}, ...". */
static bool walk_name(struct rust_walk *w, const struct rust_entry *e)
{
	char path[NAME_MAX_LEN], function[NAME_MAX_LEN];
	struct rust_place place = { 0 };

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(e->args + 1, "<,>"), e->args + 1);
	rust_plain_function(path, function, sizeof(function));
	place.function = rust_keep(w->rf, function);
	w->out->places[0] = place.function ? rust_place_keep(w->rf, place) : NULL;
	w->out->nr = w->out->places[0] != NULL;
	return w->out->nr;
}

bool rust_futures_read(struct rust_futures *rf, size_t number, uint64_t cell, rust_reader read,
		       void *arg, struct rust_stack *out)
{
	const struct rust_entry *e = &rf->entries[number];
	struct rust_walk w = { .rf = rf, .read = read, .arg = arg, .out = out, .addr = cell };

	*out = (struct rust_stack){ .wait.fd = -1 };
	if (!e->has_cell)
		return walk_name(&w, e);
	w.type = e->cell;
	if (!walk_to_future(&w, &out->is_finished))
		return false;
	if (out->is_finished)
		return true;
	walk_futures(&w);
	return out->nr ? true : walk_name(&w, e);
}

const struct rust_place *rust_futures_root(struct rust_futures *rf, size_t number)
{
	struct rust_stack out = { .nr = 0 };
	struct rust_walk w = { .rf = rf, .out = &out };

	return walk_name(&w, &rf->entries[number]) ? out.places[0] : NULL;
}

/* ---- the end --------------------------------------------------------------------- */

const char *rust_futures_problem(const struct rust_futures *rf)
{
	return rf->is_without_types ? "the types of Tokio's tasks are not in the debug "
				      "information: the tasks are "
				      "not found (build with debug = 2)"
				    : NULL;
}

void rust_futures_free(struct rust_futures *rf)
{
	size_t i;

	if (!rf)
		return;
	for (i = 0; i < rf->nr_places; i++)
		free(rf->places[i]);
	free(rf->places);
	free(rf->entries);
	u64map_release(&rf->paths);
	strtab_release(&rf->texts);
	strtab_release(&rf->keys);
	free(rf);
}
