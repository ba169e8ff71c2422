/* SPDX-License-Identifier: MIT */
/*
 * dwarf_index.c - one pass over a file's DWARF: variables by address, types by name.
 *
 * The pass builds no types.  The file may be corrupt, so the pass only goes forward (it stops at
 * a sibling that is not after its predecessor), to a limited depth, and over at most as many
 * entries as a large program has.
 */
#include <dwarf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory/types/type_model.h"

#define DEPTH_MAX   512u
#define ENTRIES_MAX (UINT64_C(1) << 28)
#define NAME_MAX_   1024u

struct walk_state {
	struct types *t;
	struct types_module *m;
	Dwarf_Addr bias;
	uint64_t nr;
	const char *last;      /* the last entry visited in this unit */
	char scope[NAME_MAX_]; /* "ns::Class::" of the current entry */
	size_t scope_size;
	bool broken, no_memory;
};

static bool is_word(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
	       (c >= 'a' && c <= 'z');
}

const char *types_fold_name(const char *name, char *out, size_t size)
{
	size_t used = 0;

	for (; *name && used + 1 < size; name++) {
		if (*name == ' ' && !(used && is_word(out[used - 1]) && is_word(name[1])))
			continue;
		out[used++] = *name;
	}
	out[used] = '\0';
	return out;
}

/* ---- tables -------------------------------------------------------------- */

static uint64_t add_entry(struct types *t, const Dwarf_Die *die)
{
	if (t->nr_entries == t->room_entries) {
		size_t room = t->room_entries ? t->room_entries * 2 : 256;
		void *more = realloc(t->entries, room * sizeof(*t->entries));

		if (!more)
			return 0;
		t->entries = more;
		t->room_entries = room;
	}
	t->entries[t->nr_entries++] = *die;
	return t->nr_entries;
}

/* The first entry of a name is kept: the same type occurs once per translation unit. */
static bool types_enter(struct u64map *map, uint64_t text, uint64_t entry)
{
	uint64_t *at = u64map_at(map, text);

	if (at && !*at)
		*at = entry;
	return at != NULL;
}

/* Index by the last part of the name.  If several different types share it, the entry is 0. */
static bool enter_last(struct walk_state *w, const char *name, uint64_t text, uint64_t entry)
{
	int64_t last = strtab_intern(&w->t->texts, name);
	uint64_t before, *scoped;

	if (last < 0)
		return false;
	if (u64map_get(&w->t->last, (uint64_t)last, &before)) {
		scoped = before ? u64map_at(&w->t->scoped, die_key(&w->t->entries[before - 1]))
				: NULL;
		if (scoped && *scoped != text + 1)
			return u64map_put(&w->t->last, (uint64_t)last, 0) == 0;
		return true;
	}
	return u64map_put(&w->t->last, (uint64_t)last, entry) == 0;
}

static void add_type(struct walk_state *w, Dwarf_Die *die, const char *name, bool is_tag)
{
	char full[NAME_MAX_ * 2], folded[NAME_MAX_ * 2];
	struct u64map *map = is_tag ? &w->t->tags : &w->t->ordinary;
	int64_t text, plain;
	uint64_t entry, known;

	snprintf(full, sizeof(full), "%s%s", w->scope, name);
	plain = strtab_intern(&w->t->texts, full);
	text = strtab_intern(&w->t->texts, types_fold_name(full, folded, sizeof(folded)));
	if (plain < 0 || text < 0 ||
	    u64map_put(&w->t->scoped, die_key(die), (uint64_t)plain + 1) < 0)
		goto no_memory;
	/* A declaration has no members. */
	if (die_flag(die, DW_AT_declaration) || die_flag(die, DW_AT_signature))
		return;
	if (u64map_get(map, (uint64_t)text, &known) && known)
		return;
	entry = add_entry(w->t, die);
	if (!entry || !types_enter(map, (uint64_t)text, entry))
		goto no_memory;
	if (!w->scope_size ||
	    enter_last(w, types_fold_name(name, folded, sizeof(folded)), (uint64_t)plain, entry))
		return;
no_memory:
	w->no_memory = true;
}

/* typedef struct { ... } name: the name of the typedef becomes the name of the struct. */
static void name_nameless(struct walk_state *w, Dwarf_Die *die, const char *name)
{
	char full[NAME_MAX_ * 2];
	Dwarf_Die of;
	int64_t text;
	int tag;

	if (!die_type(die, &of) || dwarf_diename(&of))
		return;
	tag = dwarf_tag(&of);
	if (tag != DW_TAG_structure_type && tag != DW_TAG_union_type && tag != DW_TAG_class_type)
		return;
	snprintf(full, sizeof(full), "%s%s", w->scope, name);
	text = strtab_intern(&w->t->texts, full);
	if (text < 0 || u64map_put(&w->t->scoped, die_key(&of), (uint64_t)text + 1) < 0 ||
	    u64map_put(&w->t->nameless, die_key(&of), 1) < 0)
		w->no_memory = true;
}

/* ---- variables ----------------------------------------------------------- */

/* The fixed address of a variable; thread-local and register variables have none. */
static bool fixed_address(Dwarf_Die *die, Dwarf_Addr *out)
{
	Dwarf_Attribute attr, address;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &ops, &nr) != 0 ||
	    nr != 1)
		return false;
	if (ops[0].atom == DW_OP_addr) {
		*out = ops[0].number;
		return true;
	}
	return (ops[0].atom == DW_OP_addrx || ops[0].atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(&attr, &ops[0], &address) == 0 &&
	       dwarf_formaddr(&address, out) == 0;
}

static struct variable *new_variable(struct types_module *m)
{
	if (m->nr_variables == m->room) {
		size_t room = m->room ? m->room * 2 : 64;
		void *more = realloc(m->variables, room * sizeof(*m->variables));

		if (!more)
			return NULL;
		m->variables = more;
		m->room = room;
	}
	return &m->variables[m->nr_variables];
}

/*
 * A static member is declared in its class and defined outside of it: use the name from the
 * class.
 */
static const char *scoped_name(struct walk_state *w, Dwarf_Die *die, char *out, size_t size)
{
	Dwarf_Attribute attr;
	Dwarf_Die declared;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	uint64_t text;

	if (!name)
		return NULL;
	if (dwarf_attr(die, DW_AT_specification, &attr) && dwarf_formref_die(&attr, &declared) &&
	    u64map_get(&w->t->scoped, die_key(&declared), &text))
		return strtab_text(&w->t->texts, text - 1);
	snprintf(out, size, "%s%s", w->scope, name);
	return out;
}

static void add_variable(struct walk_state *w, Dwarf_Die *die)
{
	char name[NAME_MAX_ * 2];
	struct variable *v;
	const char *found, *file;
	Dwarf_Addr address;
	int line = 0;

	if (!fixed_address(die, &address))
		return;
	found = scoped_name(w, die, name, sizeof(name));
	v = new_variable(w->m);
	if (!v) {
		w->no_memory = true;
		return;
	}
	file = die_file(die);
	dwarf_decl_line(die, &line);
	*v = (struct variable){ .die = *die,
				.v = { .name = types_keep(w->t, found ? found : "(no name)"),
				       .file = file ? types_keep(w->t, file) : NULL,
				       .line = (uint32_t)(line > 0 ? line : 0),
				       .address = address + w->bias } };
	w->m->nr_variables++;
}

/* Record the code of a function. */
static void add_function(struct walk_state *w, Dwarf_Die *die)
{
	struct types_module *m = w->m;
	Dwarf_Addr base, start, end;
	ptrdiff_t pos = 0;

	while ((pos = dwarf_ranges(die, pos, &base, &start, &end)) > 0) {
		if (start >= end)
			continue;
		if (m->nr_functions == m->room_functions) {
			size_t room = m->room_functions ? m->room_functions * 2 : 64;
			void *more = realloc(m->functions, room * sizeof(*m->functions));

			if (!more) {
				w->no_memory = true;
				return;
			}
			m->functions = more;
			m->room_functions = room;
		}
		m->functions[m->nr_functions++] = (struct types_function){ .start = start,
									   .end = end,
									   .die = *die };
	}
}

/* Record the name of a static member with its class, for its definition. */
static void remember_member(struct walk_state *w, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);
	char full[NAME_MAX_ * 2];
	int64_t text;

	if (!name || !die_flag(die, DW_AT_declaration))
		return;
	snprintf(full, sizeof(full), "%s%s", w->scope, name);
	text = strtab_intern(&w->t->texts, full);
	if (text < 0 || u64map_put(&w->t->scoped, die_key(die), (uint64_t)text + 1) < 0)
		w->no_memory = true;
}

/* ---- the walk ------------------------------------------------------------ */

static void walk_children(struct walk_state *w, Dwarf_Die *parent, unsigned depth);

static void walk_scope(struct walk_state *w, Dwarf_Die *die, const char *name, unsigned depth)
{
	size_t before = w->scope_size, length = name ? strlen(name) : 0;

	if (name) {
		if (length + 3 > sizeof(w->scope) - before)
			return;
		memcpy(w->scope + before, name, length);
		memcpy(w->scope + before + length, "::", 3);
		w->scope_size += length + 2;
	}
	walk_children(w, die, depth + 1);
	w->scope_size = before;
	w->scope[before] = '\0';
}

static void walk_one(struct walk_state *w, Dwarf_Die *die, unsigned depth)
{
	const char *name = dwarf_diename(die);

	switch (dwarf_tag(die)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		if (name)
			add_type(w, die, name, true);
		walk_scope(w, die, name, depth);
		break;
	case DW_TAG_enumeration_type:
		if (name)
			add_type(w, die, name, true);
		break;
	case DW_TAG_typedef:
		if (name)
			name_nameless(w, die, name);
		__attribute__((fallthrough));
	case DW_TAG_base_type:
		if (name)
			add_type(w, die, name, false);
		break;
	case DW_TAG_namespace:
		walk_scope(w, die, name ? name : "(anonymous namespace)", depth);
		break;
	case DW_TAG_subprogram:
		add_function(w, die);
		walk_scope(w, die, name, depth);
		break;
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_module:
		walk_scope(w, die, NULL, depth);
		break;
	case DW_TAG_member:
		remember_member(w, die);
		break;
	case DW_TAG_variable:
		remember_member(w, die);
		add_variable(w, die);
		break;
	default:
		break;
	}
}

static void walk_children(struct walk_state *w, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die, next;
	int more;

	if (dwarf_child(parent, &die) != 0)
		return;
	/* dwarf_siblingof() may walk over all nested entries; no program nests this deep. */
	if (depth > DEPTH_MAX) {
		w->broken = true;
		return;
	}
	do {
		if (w->no_memory || w->broken)
			return;
		/* Entries are visited in the order of the file, so none is visited twice. */
		if (++w->nr > ENTRIES_MAX || (const char *)die.addr <= w->last) {
			w->broken = true;
			return;
		}
		w->last = die.addr;
		walk_one(w, &die, depth);
		if (w->broken)
			return;
		more = dwarf_siblingof(&die, &next);
		die = next;
	} while (more == 0);
	if (more < 0)
		w->broken = true;
}

static int by_address(const void *a, const void *b)
{
	const struct variable *x = a, *y = b;

	return x->v.address < y->v.address ? -1 : x->v.address > y->v.address;
}

static int functions_by_start(const void *a, const void *b)
{
	const struct types_function *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void walk_unit(struct walk_state *w, Dwarf_CU *cu)
{
	Dwarf_Die die, sub;
	uint8_t kind = 0;

	if (dwarf_cu_info(cu, NULL, &kind, &die, &sub, NULL, NULL, NULL) != 0) {
		w->broken = true;
		return;
	}
	w->last = NULL;
	if (kind != DW_UT_skeleton) {
		walk_children(w, &die, 0);
	} else if (sub.addr) {
		walk_children(w, &sub, 0);
	} else {
		types_say(w->t,
			  "'%.400s' was built with -gsplit-dwarf and its .dwo files are not "
			  "there: its variables and types have no names",
			  w->m->file.module.path);
	}
}

int types_index(struct types *t, struct types_module *m)
{
	struct walk_state w = { .t = t, .m = m };
	Dwarf *dwarf = dwfl_module_getdwarf(m->file.dwfl_module, &w.bias);
	Dwarf_CU *cu = NULL;
	int got = 1;

	if (!dwarf) {
		m->no_debug = true;
		return 0;
	}
	while (!w.no_memory && (got = dwarf_get_units(dwarf, cu, &cu, NULL, NULL, NULL, NULL)) == 0)
		walk_unit(&w, cu);
	if (got < 0 || w.broken)
		types_say(t,
			  "the debug information of '%.400s' is damaged: some variables and types "
			  "have no names",
			  m->file.module.path);
	if (m->nr_variables)
		qsort(m->variables, m->nr_variables, sizeof(*m->variables), by_address);
	if (m->nr_functions)
		qsort(m->functions, m->nr_functions, sizeof(*m->functions), functions_by_start);
	return w.no_memory ? -ENOMEM : 0;
}
