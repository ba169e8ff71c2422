/* SPDX-License-Identifier: MIT */
/* variable_list.c - the variables of a C++ coroutine at one of its suspend points. */
#include "symbols/variable_list.h"

#include <ctype.h>
#include <dwarf.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "symbols/member_path.h"
#include "symbols/type_name.h"
#include "symbols/variable_scope.h"

#define VARIABLE_GCC_FIRST   4          /* index of the first co_await */
#define VARIABLE_MEMBERS_MAX (1u << 14) /* of a frame; siblings of a corrupt file can be a loop */

struct variable_reader {
	struct variable_list *list;
	const struct coro_type *type;
	const struct coro_source *source;
	const struct coro_point *point; /* NULL: unknown */
	struct coro_store store;
	bool has_store;
	Dwarf_Die code;   /* the function with the store, or the resume function */
	Dwarf_Addr pc;    /* of the store, as in the file */
	Dwarf_Die resume; /* the resume function */
	Dwarf_Addr entry; /* its first instruction */
	Dwarf_Die frame;  /* the frame's type */
	bool has_frame;
	struct variable_scope scope;   /* of `code` */
	struct variable_scope resumed; /* of `resume`, for clang */
	struct variable_scope started; /* of the function that creates the frame */
	Dwarf_Addr start_pc;           /* an instruction of it after the frame was made */
};

/* ---- the list --------------------------------------------------------------------------- */

static int list_add(struct variable_list *list, const struct frame_variable *v)
{
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct frame_variable *more = reallocarray(list->variables, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			return -ENOMEM;
		}
		list->variables = more;
		list->room = room;
	}
	list->variables[list->nr++] = *v;
	return 0;
}

static const char *list_keep_name(struct variable_list *list, const char *name, size_t len)
{
	char **more = reallocarray(list->names, list->nr_names + 1, sizeof(*more));
	char *copy;

	copy = more ? strndup(name, len) : NULL;
	list->names = more ? more : list->names;
	if (copy)
		list->names[list->nr_names++] = copy;
	else
		memory_shortage_note();
	return copy;
}

/*
 * A local variable is alive in its block, behind the line of its declaration; out->may_be_unset: at
 * that line, or the suspend point is unknown.
 */
static bool variable_is_alive(const struct variable_reader *r, const struct scope_variable *v,
			      struct frame_variable *out)
{
	out->line = v ? v->line : 0;
	out->may_be_unset = !v || r->list->is_without_scope;
	if (r->point && r->point->is_initial)
		return false;
	if (r->list->is_without_scope || !v)
		return true;
	if (!r->scope.blocks[v->block].is_open)
		return false;
	if (!r->point || !r->point->file || !v->line)
		return true;
	out->may_be_unset = v->line == r->point->line;
	return v->line <= r->point->line;
}

/* ---- gcc ----------------------------------------------------------------------------------- */

/* "name_1_2": the length of "name"; 0: it has another form. */
static size_t member_stem(const char *name)
{
	size_t len = strlen(name);
	int numbers;

	for (numbers = 0; numbers < 2; numbers++) {
		size_t at = len;

		while (at && isdigit((unsigned char)name[at - 1]))
			at--;
		if (at == len || at < 2 || name[at - 1] != '_')
			return 0;
		len = at - 1;
	}
	return len;
}

/* Awaiters, temporaries and what the compiler needs. */
static bool member_is_internal(const char *name, size_t stem)
{
	size_t i;

	if (!strncmp(name, "_Coro_", 6) || strchr(name, '.'))
		return true;
	if (!stem)
		return false;
	if (stem == 2 && (!strncmp(name, "Is", 2) || !strncmp(name, "Fs", 2)))
		return true;
	for (i = 2; i < stem && isdigit((unsigned char)name[i]); i++)
		;
	return i == stem && i > 2 &&
	       (!strncmp(name, "Aw", 2) || !strncmp(name, "Yd", 2) || !strncmp(name, "_D", 2));
}

/* The variable that the member was made of: the next one with that name that is not used yet. */
static struct scope_variable *member_variable(struct variable_reader *r, const char *name,
					      size_t len)
{
	size_t i;

	for (i = 0; i < r->scope.nr; i++) {
		struct scope_variable *v = &r->scope.variables[i];

		if (!v->is_used && strlen(v->name) == len && !strncmp(v->name, name, len)) {
			v->is_used = true;
			return v;
		}
	}
	return NULL;
}

static int gcc_add_member(struct variable_reader *r, Dwarf_Die *member)
{
	const char *name = dwarf_diename(member);
	size_t stem = name ? member_stem(name) : 0;
	struct scope_variable *v;
	struct frame_variable out = { .name = name, .place = VARIABLE_MEMBER };

	if (!name || member_is_internal(name, stem) || !type_of_die(member, &out.type) ||
	    !member_start(member, &out.offset))
		return 0;
	v = member_variable(r, name, strlen(name));
	if (v || !stem) {
		out.is_parameter = true;
		return list_add(r->list, &out);
	}
	v = member_variable(r, name, stem);
	if ((v && v->is_artificial) || !variable_is_alive(r, v, &out))
		return 0;
	out.name = list_keep_name(r->list, name, stem);
	return out.name ? list_add(r->list, &out) : -ENOMEM;
}

/*
 * The awaiter of a suspend point is a variable in the block of the co_await.  True if the blocks
 * are known by it.
 */
static bool gcc_open_awaiter(struct variable_reader *r, uint64_t index)
{
	size_t i, awaiters = 0, found = SIZE_MAX;
	char name[32];

	if (index < VARIABLE_GCC_FIRST)
		return index != 0;
	snprintf(name, sizeof(name), "Aw%llu",
		 (unsigned long long)(index - VARIABLE_GCC_FIRST) / 2);
	for (i = 0; i < r->scope.nr; i++) {
		const struct scope_variable *v = &r->scope.variables[i];

		if (!v->is_artificial || strncmp(v->name, "Aw", 2) != 0)
			continue;
		awaiters++;
		if (!strcmp(v->name, name))
			found = i;
	}
	/* Initial and final point have none; with another number the order is not known. */
	if (found == SIZE_MAX || awaiters + 2 != r->type->nr_points)
		return false;
	variable_scope_open(&r->scope, r->scope.variables[found].block);
	return true;
}

static int gcc_read_variables(struct variable_reader *r, uint64_t index)
{
	Dwarf_Attribute attr;
	Dwarf_Die origin = r->code, die;
	unsigned left = VARIABLE_MEMBERS_MAX;
	int rc;

	/* Optimized code has a variable only where it is used; the origin has all of them. */
	dwarf_formref_die(dwarf_attr(&r->code, DW_AT_abstract_origin, &attr), &origin);
	rc = variable_scope_read(&r->scope, &origin);
	if (rc || !r->has_frame || dwarf_child(&r->frame, &die) != 0)
		return rc;
	if (!gcc_open_awaiter(r, index)) {
		r->list->is_without_scope = !r->has_store;
		if (r->has_store)
			variable_scope_open_pc(&r->scope, &r->code, r->pc);
	}
	do {
		if (dwarf_tag(&die) == DW_TAG_member)
			rc = gcc_add_member(r, &die);
	} while (!rc && --left && dwarf_siblingof(&die, &die) == 0);
	return rc;
}

/* ---- clang --------------------------------------------------------------------------------- */

static bool variable_location(Dwarf_Die *die, Dwarf_Addr pc, Dwarf_Op **ops, size_t *nr)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, DW_AT_location, &attr) &&
	       dwarf_getlocation_addr(&attr, pc, ops, nr, 1) == 1 && *nr > 0;
}

/* What holds the frame's address at @pc, by the variables that are the frame or its promise. */
static void clang_learn_base(const struct variable_reader *r, struct variable_scope *scope,
			     Dwarf_Addr pc, struct frame_base *base)
{
	size_t i;

	for (i = 0; i < scope->nr; i++) {
		struct scope_variable *v = &scope->variables[i];
		bool is_frame = !strcmp(v->name, "__coro_frame");
		Dwarf_Op *ops;
		size_t nr;

		if (!v->is_artificial || (!is_frame && strcmp(v->name, "__promise") != 0) ||
		    (!is_frame && !r->type->has_promise) ||
		    !variable_location(&v->die, pc, &ops, &nr))
			continue;
		frame_base_learn(base, ops, nr, is_frame ? 0 : r->type->promise_offset);
	}
}

static bool clang_locate(struct frame_variable *out, Dwarf_Die *die, Dwarf_Addr pc,
			 const struct frame_base *base)
{
	Dwarf_Op *ops;
	size_t nr;

	if (!variable_location(die, pc, &ops, &nr) || !frame_location_usable(base, ops, nr))
		return false;
	out->place = VARIABLE_LOCATED;
	out->ops = ops;
	out->nr_ops = nr;
	out->base = base;
	return true;
}

/* The same variable in another copy of the function. */
static struct scope_variable *clang_same(struct variable_scope *scope,
					 const struct scope_variable *v)
{
	size_t i;

	for (i = 0; i < scope->nr; i++) {
		struct scope_variable *w = &scope->variables[i];

		if (!strcmp(w->name, v->name) && w->line == v->line &&
		    w->is_parameter == v->is_parameter)
			return w;
	}
	return NULL;
}

/* The member of the frame with that name, if it is the only one. */
static bool clang_member(struct variable_reader *r, struct frame_variable *out)
{
	unsigned found = 0, left = VARIABLE_MEMBERS_MAX;
	Dwarf_Die die;
	size_t i, same = 0;

	for (i = 0; i < r->scope.nr; i++)
		same += !strcmp(r->scope.variables[i].name, out->name);
	if (same != 1 || !r->has_frame || dwarf_child(&r->frame, &die) != 0)
		return false;
	do {
		const char *name = dwarf_tag(&die) == DW_TAG_member ? dwarf_diename(&die) : NULL;

		if (name && !strcmp(name, out->name) && member_start(&die, &out->offset))
			found++;
	} while (--left && dwarf_siblingof(&die, &die) == 0);
	if (found == 1)
		out->place = VARIABLE_MEMBER;
	return found == 1;
}

/* At the suspension; at the start of the resume function; by name. */
static void clang_place(struct variable_reader *r, struct scope_variable *v,
			struct frame_variable *out)
{
	struct scope_variable *same;

	if (r->has_store && clang_locate(out, &v->die, r->pc, &r->list->bases[0]))
		return;
	same = clang_same(&r->resumed, v);
	if ((same && clang_locate(out, &same->die, r->entry, &r->list->bases[1])) ||
	    clang_member(r, out))
		return;
	/* A parameter has one place for the life of the frame. */
	same = v->is_parameter ? clang_same(&r->started, v) : NULL;
	if (same)
		clang_locate(out, &same->die, r->start_pc, &r->list->bases[2]);
}

static int clang_add_variable(struct variable_reader *r, struct scope_variable *v)
{
	struct frame_variable out = {
		.name = v->name,
		.is_parameter = v->is_parameter,
	};

	if ((v->is_artificial && strcmp(v->name, "this") != 0) ||
	    !type_of_die(&v->die, &out.type) ||
	    (!v->is_parameter && !variable_is_alive(r, v, &out)))
		return 0;
	clang_place(r, v, &out);
	return list_add(r->list, &out);
}

/* The function that creates the frame. */
static int clang_read_start(struct variable_reader *r)
{
	struct coro_store store;
	Dwarf_Die start;
	Dwarf_Addr bias;
	int rc;

	if (!coro_store_find_start(r->type, r->source, &store) || store.base < 0 ||
	    !line_index_function(r->source->lines, r->source->module, store.addr, &start, &bias))
		return 0;
	rc = variable_scope_read(&r->started, &start);
	r->start_pc = store.addr - bias;
	frame_base_add_register(&r->list->bases[2], (unsigned)store.base);
	return rc;
}

static int clang_read_variables(struct variable_reader *r)
{
	int rc = variable_scope_read(&r->scope, &r->code);
	size_t i;

	if (!rc)
		rc = variable_scope_read(&r->resumed, &r->resume);
	if (!rc)
		rc = clang_read_start(r);
	if (rc)
		return rc;
	if (r->has_store)
		variable_scope_open_pc(&r->scope, &r->code, r->pc);
	else if (!r->point || !r->point->is_initial)
		r->list->is_without_scope = true;
	if (r->has_store && r->store.base >= 0)
		frame_base_add_register(&r->list->bases[0], (unsigned)r->store.base);
	clang_learn_base(r, &r->scope, r->pc, &r->list->bases[0]);
	clang_learn_base(r, &r->resumed, r->entry, &r->list->bases[1]);
	for (i = 0; !rc && i < r->scope.nr; i++) {
		if (r->scope.variables[i].is_parameter)
			rc = clang_add_variable(r, &r->scope.variables[i]);
	}
	for (i = 0; !rc && i < r->scope.nr; i++) {
		if (!r->scope.variables[i].is_parameter)
			rc = clang_add_variable(r, &r->scope.variables[i]);
	}
	return rc;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* The first argument of a function. */
static void variable_entry_base(struct variable_reader *r)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(r->source->module, &bias);
	GElf_Ehdr header;

	if (elf && gelf_getehdr(elf, &header))
		frame_base_add_register(&r->list->bases[1], header.e_machine == EM_X86_64 ? 5 : 0);
}

static int variable_by_line(const void *a, const void *b)
{
	const struct frame_variable *x = a, *y = b;

	if (x->is_parameter != y->is_parameter)
		return x->is_parameter ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return 0;
}

/* A stable sort: variables of one line stay in their order. */
static void list_sort(struct variable_list *list)
{
	size_t i, k;

	for (i = 1; i < list->nr; i++) {
		struct frame_variable v = list->variables[i];

		for (k = i; k && variable_by_line(&list->variables[k - 1], &v) > 0; k--)
			list->variables[k] = list->variables[k - 1];
		list->variables[k] = v;
	}
}

static int variable_list_fill(struct variable_reader *r, uint64_t index)
{
	Dwarf_Addr bias, code_bias;
	int rc;

	if (!line_index_function(r->source->lines, r->source->module, r->type->resume, &r->resume,
				 &bias)) {
		r->list->is_without_types = true;
		return 0;
	}
	r->entry = r->type->resume - bias;
	r->code = r->resume;
	r->pc = r->entry;
	r->has_frame = coro_frame_type(r->source, &r->resume, &r->frame);
	r->point = coro_type_point(r->type, index);
	r->has_store = coro_store_find(r->type, r->source, &r->store) &&
		       line_index_function(r->source->lines, r->source->module, r->store.addr,
					   &r->code, &code_bias);
	if (r->has_store)
		r->pc = r->store.addr - code_bias;
	variable_entry_base(r);
	rc = r->type->is_gcc ? gcc_read_variables(r, index) : clang_read_variables(r);
	if (!rc)
		list_sort(r->list);
	return rc;
}

struct variable_list *variable_list_read(const struct coro_type *type,
					 const struct coro_source *source, uint64_t index)
{
	struct variable_reader r = {
		.list = calloc(1, sizeof(*r.list)),
		.type = type,
		.source = source,
		.store.index = index,
	};
	int before = memory_shortage_watch();

	if (!r.list)
		memory_shortage_note();
	if (r.list && variable_list_fill(&r, index) < 0) {
		variable_list_free(r.list);
		r.list = NULL;
	}
	variable_scope_release(&r.scope);
	variable_scope_release(&r.resumed);
	variable_scope_release(&r.started);
	memory_shortage_check(before);
	return r.list;
}

void variable_list_free(struct variable_list *list)
{
	size_t i;

	if (!list)
		return;
	for (i = 0; i < list->nr_names; i++)
		free(list->names[i]);
	free(list->names);
	free(list->variables);
	free(list);
}
