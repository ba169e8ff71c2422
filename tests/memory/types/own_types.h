/* SPDX-License-Identifier: MIT */
/* own_types.h - the types of the test program itself, from its debug information. */
#ifndef TESTS_OWN_TYPES_H
#define TESTS_OWN_TYPES_H

#include <link.h>
#include <unistd.h>

#include "check.h"
#include "memory/types/type_model.h"

/* The first object is the program. */
static inline int own_module_read(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct symbol_module *m = arg;
	int i;

	(void)size;
	m->has_bias = true;
	m->bias = info->dlpi_addr;
	m->start = UINT64_MAX;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		m->start = start < m->start ? start : m->start;
		m->end = start + p->p_memsz > m->end ? start + p->p_memsz : m->end;
	}
	return 1;
}

static inline struct types *own_types_open(void)
{
	static char path[4096];
	struct symbol_module m = { .path = path };
	ssize_t nr = readlink("/proc/self/exe", path, sizeof(path) - 1);
	struct types *t = types_new();

	CHECK(nr > 0 && t);
	path[nr] = '\0';
	dl_iterate_phdr(own_module_read, &m);
	CHECK(types_push_module(t, &m));
	return t;
}

/* The type of a global variable of the test. */
static inline Dwarf_Die own_type_of(struct types *t, const void *variable)
{
	uint64_t offset = 1;
	Dwarf_Die type;

	CHECK(types_variable_type(t, (uintptr_t)variable, &type, &offset));
	CHECK_EQ(offset, 0);
	return type;
}

#endif
