/* SPDX-License-Identifier: MIT */
/* rust_vtables.c - the tables of functions of futures behind `dyn Future`. */
#include "symbols/rust_vtables.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* "<T as core::future::future::Future>::{vtable}"; before rustc 1.58 "vtable". */
static bool vtable_is_of_future(const char *name)
{
	return name && (!strcmp(name, "vtable") ||
			(strstr(name, "{vtable}") && strstr(name, "future::Future")));
}

static bool vtable_address(Dwarf_Die *variable, uint64_t *addr)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t nr;

	if (!dwarf_attr(variable, DW_AT_location, &attr) ||
	    dwarf_getlocation(&attr, &ops, &nr) != 0 || nr != 1 || ops[0].atom != DW_OP_addr)
		return false;
	*addr = ops[0].number;
	return *addr;
}

static bool vtable_type(Dwarf_Die *variable, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die table;

	return dwarf_formref_die(dwarf_attr(variable, DW_AT_type, &attr), &table) &&
	       dwarf_formref_die(dwarf_attr(&table, DW_AT_containing_type, &attr), type);
}

int rust_vtables_add(struct rust_vtables *v, Dwarf_Die *variable, uint64_t bias)
{
	Dwarf_Die type;
	uint64_t addr;

	if (!vtable_is_of_future(dwarf_diename(variable)) || !vtable_address(variable, &addr) ||
	    !vtable_type(variable, &type))
		return 0;
	if (v->nr == v->room) {
		size_t room = v->room ? v->room * 2 : 64;
		Dwarf_Die *more = reallocarray(v->types, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		v->types = more;
		v->room = room;
	}
	v->types[v->nr++] = type;
	return u64map_put(&v->by_addr, addr + bias, v->nr);
}

bool rust_vtables_find(const struct rust_vtables *v, uint64_t addr, Dwarf_Die *type)
{
	uint64_t number;

	if (!u64map_get(&v->by_addr, addr, &number))
		return false;
	*type = v->types[number - 1];
	return true;
}

void rust_vtables_release(struct rust_vtables *v)
{
	free(v->types);
	u64map_release(&v->by_addr);
	*v = (struct rust_vtables){ 0 };
}
