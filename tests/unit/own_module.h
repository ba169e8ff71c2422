/* SPDX-License-Identifier: MIT */
/* own_module.h - the test program itself as a module: its file and where it is mapped. */
#ifndef TESTS_OWN_MODULE_H
#define TESTS_OWN_MODULE_H

#include <link.h>
#include <unistd.h>

#include "check.h"
#include "symbols/module.h"

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

static inline struct symbol_module own_module(void)
{
	static char path[4096];
	struct symbol_module m = { .path = path };
	ssize_t nr = readlink("/proc/self/exe", path, sizeof(path) - 1);

	CHECK(nr > 0);
	path[nr] = '\0';
	dl_iterate_phdr(own_module_read, &m);
	return m;
}

#endif
