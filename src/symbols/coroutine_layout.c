/* SPDX-License-Identifier: MIT */
/* coroutine_layout.c - find the type of a coroutine's frame in DWARF. */
#include "symbols/coroutine_layout.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

#define LAYOUT_SIZE_MAX  (1u << 24) /* a larger frame is taken for a corrupt file */
#define LAYOUT_DEPTH_MAX 6
#define LINKAGE_MAX      4096
#define LAYOUT_DIES_MAX  (1u << 20)

/* ---- DIEs ------------------------------------------------------------------- */

static const char *layout_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

/* The struct that the type of @die is, or points to. */
static bool layout_struct_of(Dwarf_Die *die, Dwarf_Die *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	int step;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), &type))
		return false;
	for (step = 0; step < LAYOUT_DEPTH_MAX; step++) {
		int tag = dwarf_tag(&type);

		if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type) {
			*out = type;
			return true;
		}
		if (!dwarf_formref_die(dwarf_attr(&type, DW_AT_type, &attr), &type))
			return false;
	}
	return false;
}

static bool layout_member(Dwarf_Die *in, const char *name, Dwarf_Die *out)
{
	const char *found;

	if (dwarf_child(in, out) != 0)
		return false;
	do {
		found = dwarf_tag(out) == DW_TAG_member ? dwarf_diename(out) : NULL;
		if (found && !strcmp(found, name))
			return true;
	} while (dwarf_siblingof(out, out) == 0);
	return false;
}

static bool layout_is_frame(Dwarf_Die *type)
{
	Dwarf_Die member;

	return layout_member(type, "_Coro_resume_fn", &member) ||
	       layout_member(type, "__resume_fn", &member);
}

/* ---- find the type of the frame --------------------------------------------- */

/* In a function: the parameter of gcc, the variable of clang, or a struct inside. */
static bool layout_frame_in(Dwarf_Die *function, Dwarf_Die *out, unsigned depth)
{
	Dwarf_Die die;

	if (depth > LAYOUT_DEPTH_MAX || dwarf_child(function, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name = NULL;

		if (tag == DW_TAG_formal_parameter || tag == DW_TAG_variable)
			name = layout_name(&die);
		if (name && (!strcmp(name, "frame_ptr") || !strcmp(name, "__coro_frame")) &&
		    layout_struct_of(&die, out) && layout_is_frame(out))
			return true;
		if (tag == DW_TAG_structure_type && layout_is_frame(&die)) {
			*out = die;
			return true;
		}
		if (tag == DW_TAG_lexical_block && layout_frame_in(&die, out, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* The variable of clang that is the promise: its type. */
static bool layout_promise_in(Dwarf_Die *function, Dwarf_Die *out, unsigned depth)
{
	Dwarf_Die die;

	if (depth > LAYOUT_DEPTH_MAX || dwarf_child(function, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name = tag == DW_TAG_variable ? layout_name(&die) : NULL;

		if (name && !strcmp(name, "__promise") && layout_struct_of(&die, out))
			return true;
		if (tag == DW_TAG_lexical_block && layout_promise_in(&die, out, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

typedef bool (*layout_finder)(Dwarf_Die *function, Dwarf_Die *out, unsigned depth);

struct layout_search {
	const char *base;
	size_t base_len;
	unsigned left;
	layout_finder find_in; /* in the function that creates the frame */
	Dwarf_Die *out;
};

static bool layout_is_named(const struct layout_search *s, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name && !strncmp(name, s->base, s->base_len) &&
	       !strcmp(name + s->base_len, ".coro_frame_ty");
}

static bool layout_has_linkage(const struct layout_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	return name && !strcmp(name, s->base);
}

/* clang: the type is beside the function, or in the function that creates the frame. */
static bool layout_search_below(struct layout_search *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die;

	if (depth > LAYOUT_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (!s->left--)
			return false;
		if (tag == DW_TAG_structure_type && layout_is_named(s, &die)) {
			*s->out = die;
			return true;
		}
		if (tag == DW_TAG_subprogram && layout_has_linkage(s, &die) &&
		    s->find_in(&die, s->out, 0))
			return true;
		if ((tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
		     tag == DW_TAG_class_type) &&
		    layout_search_below(s, &die, depth + 1))
			return true;
	} while (s->left && dwarf_siblingof(&die, &die) == 0);
	return false;
}

static bool layout_find(Dwarf_Die *function, const char *base, layout_finder find_in,
			Dwarf_Die *out)
{
	struct layout_search s = {
		.base = base,
		.base_len = strlen(base),
		.left = LAYOUT_DIES_MAX,
		.find_in = find_in,
		.out = out,
	};
	Dwarf_Die unit;

	return find_in(function, out, 0) ||
	       (dwarf_diecu(function, &unit, NULL, NULL) && layout_search_below(&s, &unit, 0));
}

bool coro_frame_type(const struct coro_source *source, Dwarf_Die *resume, Dwarf_Die *out)
{
	return layout_find(resume, source->base, layout_frame_in, out);
}

/* ---- read it ---------------------------------------------------------------- */

static bool frame_member_place(Dwarf_Die *frame, const char *name, uint32_t *offset, uint32_t *size)
{
	Dwarf_Attribute attr;
	Dwarf_Die member, type;
	Dwarf_Word at = 0, bytes = 1;

	if (!layout_member(frame, name, &member) ||
	    dwarf_formudata(dwarf_attr(&member, DW_AT_data_member_location, &attr), &at) != 0)
		return false;
	if (dwarf_formref_die(dwarf_attr(&member, DW_AT_type, &attr), &type))
		dwarf_aggregate_size(&type, &bytes);
	if (at > LAYOUT_SIZE_MAX || bytes > LAYOUT_SIZE_MAX)
		return false;
	*offset = (uint32_t)at;
	*size = bytes ? (uint32_t)bytes : 1;
	return true;
}

/* The result type of initial_suspend() in the struct @promise or its base classes. */
static const char *layout_initial_type(Dwarf_Die *promise, unsigned depth)
{
	const char *found = NULL, *name;
	Dwarf_Die die, type;

	if (depth > LAYOUT_DEPTH_MAX || dwarf_child(promise, &die) != 0)
		return NULL;
	do {
		int tag = dwarf_tag(&die);

		name = tag == DW_TAG_subprogram ? dwarf_diename(&die) : NULL;
		if (name && !strcmp(name, "initial_suspend") && layout_struct_of(&die, &type))
			return dwarf_diename(&type);
		if (tag == DW_TAG_inheritance && layout_struct_of(&die, &type))
			found = layout_initial_type(&type, depth + 1);
	} while (!found && dwarf_siblingof(&die, &die) == 0);
	return found;
}

static void layout_note_initial(struct coro_type *type, Dwarf_Die *promise)
{
	const char *name = layout_initial_type(promise, 0);

	type->starts_suspended = name && !strcmp(name, "suspend_always");
	type->starts_running = name && !strcmp(name, "suspend_never");
}

static void layout_read_initial(struct coro_type *type, Dwarf_Die *member)
{
	Dwarf_Die promise;

	if (layout_struct_of(member, &promise))
		layout_note_initial(type, &promise);
}

static void layout_read_frame(struct coro_type *type, Dwarf_Die *frame)
{
	struct coro_field_list list = { 0 };
	Dwarf_Word size;
	Dwarf_Die promise;
	int line = 0;

	if (dwarf_aggregate_size(frame, &size) != 0 || size < 16 || size > LAYOUT_SIZE_MAX)
		return;
	type->size = (uint32_t)size;
	type->has_layout = true;
	dwarf_decl_line(frame, &line);
	type->last_line = line > 0 ? (uint32_t)line : 0;
	type->has_index = frame_member_place(frame, "_Coro_resume_index", &type->index_offset,
					     &type->index_size) ||
			  frame_member_place(frame, "__coro_index", &type->index_offset,
					     &type->index_size);
	if (type->index_size > 8 || type->index_offset > type->size - type->index_size)
		type->has_index = false;
	type->has_promise = frame_member_place(frame, "_Coro_promise", &type->promise_offset,
					       &type->promise_size) ||
			    frame_member_place(frame, "__promise", &type->promise_offset,
					       &type->promise_size);
	if (layout_member(frame, "_Coro_promise", &promise) ||
	    layout_member(frame, "__promise", &promise))
		layout_read_initial(type, &promise);
	coro_fields_read(&list, frame);
	type->fields = list.fields;
	type->nr_fields = list.nr;
}

/*
 * clang 17 and later may leave the frame's type out of optimized code.  The promise follows the two
 * addresses, at its own alignment.
 */
static void layout_read_promise(struct coro_type *type, Dwarf_Die *promise)
{
	struct coro_field_list list = { 0 };
	Dwarf_Attribute attr;
	Dwarf_Word size = 0, align = 0;

	if (dwarf_aggregate_size(promise, &size) != 0 || !size || size > LAYOUT_SIZE_MAX)
		return;
	dwarf_formudata(dwarf_attr(promise, DW_AT_alignment, &attr), &align);
	type->has_promise = true;
	type->promise_offset = align > 16 && align <= 4096 ? (uint32_t)align : 16;
	type->promise_size = (uint32_t)size;
	layout_note_initial(type, promise);
	coro_promise_fields_read(&list, promise, type->promise_offset);
	type->fields = list.fields;
	type->nr_fields = list.nr;
}

/* ---- where the function begins ------------------------------------------------- */

struct declaration_search {
	const char *linkage;
	const char *name; /* without scopes; gcc leaves the linkage name of static functions out */
	uint32_t at_most; /* the line is not behind this one; 0: unknown */
	uint32_t line;    /* best so far; 0: none */
	bool has_linkage; /* found by its linkage name */
	unsigned left;
};

static void declaration_consider(struct declaration_search *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage = dwarf_formstring(dwarf_attr(die, DW_AT_linkage_name, &attr));
	const char *name = dwarf_diename(die);
	Dwarf_Word line = 0;

	if (dwarf_hasattr(die, DW_AT_artificial) ||
	    dwarf_formudata(dwarf_attr(die, DW_AT_decl_line, &attr), &line) != 0 || !line ||
	    line > UINT32_MAX)
		return;
	if (linkage && !strcmp(linkage, s->linkage)) {
		s->line = (uint32_t)line;
		s->has_linkage = true;
	} else if (!linkage && name && !strcmp(name, s->name) && line > s->line &&
		   (!s->at_most || line <= s->at_most)) {
		s->line = (uint32_t)line;
	}
}

static void declaration_search_below(struct declaration_search *s, Dwarf_Die *parent,
				     unsigned depth)
{
	Dwarf_Die die;

	if (depth > LAYOUT_DEPTH_MAX || dwarf_child(parent, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if (!s->left--)
			return;
		if (tag == DW_TAG_subprogram)
			declaration_consider(s, &die);
		else if (tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
			 tag == DW_TAG_class_type)
			declaration_search_below(s, &die, depth + 1);
	} while (s->left && !s->has_linkage && dwarf_siblingof(&die, &die) == 0);
}

static const char *layout_last_name(const char *function)
{
	const char *colon = strrchr(function, ':');

	return colon ? colon + 1 : function;
}

/* Its declaration, or else the line of its first instruction. */
static void layout_read_start(struct coro_type *type, const struct coro_source *source,
			      Dwarf_Die *function, const char *linkage)
{
	struct declaration_search s = {
		.linkage = linkage,
		.name = layout_last_name(type->function),
		.at_most = type->last_line,
		.left = LAYOUT_DIES_MAX,
	};
	struct line_found found;
	char path[PATH_MAX];
	Dwarf_Attribute attr;
	Dwarf_Die unit, origin;

	if (!line_index_find_outer(source->lines, source->module, type->resume, &found))
		return;
	path_plain(found.file, path, sizeof(path));
	type->file = strdup(path);
	type->line = found.line;
	/* With link-time optimization the declaration is in the unit of the origin. */
	if (function &&
	    dwarf_formref_die(dwarf_attr(function, DW_AT_abstract_origin, &attr), &origin))
		function = &origin;
	if (function && dwarf_diecu(function, &unit, NULL, NULL))
		declaration_search_below(&s, &unit, 0);
	if (s.line)
		type->line = s.line;
}

/* gcc: the frame's type is named after the function. */
static void layout_linkage(const struct coro_source *source, Dwarf_Die *frame, char *out,
			   size_t size)
{
	const char *name = frame ? dwarf_diename(frame) : NULL;
	size_t len = name ? strlen(name) : 0;

	if (len > 6 && !strcmp(name + len - 6, ".Frame"))
		snprintf(out, size, "%.*s", (int)(len - 6), name);
	else
		snprintf(out, size, "%s", source->base);
}

void coro_layout_read(struct coro_type *type, const struct coro_source *source)
{
	Dwarf_Die function, frame;
	Dwarf_Addr bias;
	bool has_function;
	char linkage[LINKAGE_MAX];

	layout_linkage(source, NULL, linkage, sizeof(linkage));
	type->is_gcc = strlen(source->base) > 6 &&
		       !strcmp(source->base + strlen(source->base) - 6, ".Frame");
	has_function = line_index_function(source->lines, source->module, type->resume, &function,
					   &bias);
	if (has_function && layout_find(&function, source->base, layout_frame_in, &frame)) {
		layout_linkage(source, &frame, linkage, sizeof(linkage));
		layout_read_frame(type, &frame);
	} else if (has_function &&
		   layout_find(&function, source->base, layout_promise_in, &frame)) {
		layout_read_promise(type, &frame);
	}
	layout_read_start(type, source, has_function ? &function : NULL, linkage);
	coro_points_read(type, source);
}

bool coro_layout_dies(const struct coro_type *type, const struct coro_source *source,
		      Dwarf_Die *frame, Dwarf_Die *function)
{
	Dwarf_Addr bias;

	return type->has_layout &&
	       line_index_function(source->lines, source->module, type->resume, function, &bias) &&
	       layout_find(function, source->base, layout_frame_in, frame);
}

void coro_layout_release(struct coro_type *type)
{
	size_t i;

	for (i = 0; i < type->nr_fields; i++) {
		free(type->fields[i].path);
		free(type->fields[i].type);
		free(type->fields[i].owner);
		free(type->fields[i].root_type);
	}
	for (i = 0; i < type->nr_points; i++) {
		free(type->points[i].file);
		free(type->points[i].awaits);
	}
	free(type->fields);
	free(type->points);
	free(type->function);
	free(type->file);
}
