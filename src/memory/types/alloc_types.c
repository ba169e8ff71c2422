/* SPDX-License-Identifier: MIT */
/* alloc_types.c - the type that an allocating call of a C++ container is for. */
#include "memory/types/alloc_types.h"

#include <dwarf.h>
#include <string.h>

#include "memory/types/type_model.h"
#include "symbols/die_sibling.h"

#define ALLOC_DEPTH    64u
#define ALLOC_SCOPES   32u
#define ALLOC_CHILDREN 4096u

/* The entry in a class that declares @die, which may be a copy of a function. */
static void alloc_declaration(Dwarf_Die *die, Dwarf_Die *out)
{
	static const unsigned links[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute attr;
	Dwarf_Die next;
	unsigned i, n;

	*out = *die;
	for (n = 0; n < 4; n++) {
		for (i = 0; i < 2; i++) {
			if (dwarf_attr(out, links[i], &attr) && dwarf_formref_die(&attr, &next))
				break;
		}
		if (i == 2)
			return;
		*out = next;
	}
}

/* The T of an allocator's allocate(); 0: @function is another function. */
static uint32_t alloc_type_of(struct types *t, Dwarf_Die *function)
{
	Dwarf_Die declared, scopes[ALLOC_SCOPES], type;
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr_integrate(function, DW_AT_name, &attr));

	if (!name || strcmp(name, "allocate") != 0)
		return 0;
	alloc_declaration(function, &declared);
	if (die_scopes(&declared, scopes, ALLOC_SCOPES) < 2)
		return 0;
	name = dwarf_diename(&scopes[1]);
	if (!name || !strstr(name, "allocator<") || !die_template_type(&scopes[1], &type))
		return 0;
	return types_build(t, &type);
}

/* The innermost allocate() around @addr. */
static uint32_t alloc_search(struct types *t, Dwarf_Die *parent, uint64_t addr, unsigned depth)
{
	Dwarf_Die die;
	uint32_t found;
	unsigned n = 0;
	bool more;

	if (depth > ALLOC_DEPTH)
		return 0;
	for (more = dwarf_child(parent, &die) == 0; more && n < ALLOC_CHILDREN;
	     more = die_next(&die), n++) {
		int tag = dwarf_tag(&die);

		if ((tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block) ||
		    dwarf_haspc(&die, addr) != 1)
			continue;
		found = alloc_search(t, &die, addr, depth + 1);
		if (!found && tag == DW_TAG_inlined_subroutine)
			found = alloc_type_of(t, &die);
		return found;
	}
	return 0;
}

uint32_t alloc_types_at(struct types *t, uint64_t pc)
{
	struct types_module *m;
	const struct types_function *f;
	Dwarf_Addr bias = 0;
	Dwarf_Die die;
	uint32_t found;

	/* The C library has no containers, and its debug information takes long to read. */
	if (!pc || types_is_c_library(t, pc - 1))
		return 0;
	m = types_ready_module(t, pc - 1);
	if (!m || !dwfl_module_getdwarf(m->file.dwfl_module, &bias))
		return 0;
	f = types_function_at(m, pc - 1 - bias);
	if (!f)
		return 0;
	die = f->die;
	found = alloc_search(t, &die, pc - 1 - bias, 0);
	return found ? found : alloc_type_of(t, &die);
}
