/* SPDX-License-Identifier: MIT */
/* test_symbol_spans.c - symbols by span are those that libdwfl finds by comparing all symbols. */
#include "symbols/symbol_spans.h"

#include <string.h>

#include "check.h"
#include "symbols/module.h"

static void compare_at(struct module_file *f, uint64_t addr)
{
	GElf_Off offset = 0, wanted_offset = 0;
	GElf_Sym sym = { 0 }, wanted_sym = { 0 };
	const char *found = module_file_symbol(f, addr, &offset, &sym);
	const char *wanted = dwfl_module_addrinfo(f->dwfl_module, addr, &wanted_offset, &wanted_sym,
						  NULL, NULL, NULL);

	CHECK_EQ(found != NULL, wanted != NULL);
	if (!found || !wanted)
		return;
	CHECK(!strcmp(found, wanted));
	CHECK_EQ(offset, wanted_offset);
	CHECK_EQ(sym.st_value, wanted_sym.st_value);
	CHECK_EQ(sym.st_size, wanted_sym.st_size);
}

static void answers_are_those_of_libdwfl(void)
{
	const struct symbol_module module = {
		.start = 0, .end = 1 << 30, .has_bias = true, .path = "/proc/self/exe"
	};
	struct module_file f;
	GElf_Addr addr;
	GElf_Sym sym;
	int nr, i;

	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(module_file_ready(&f));
	nr = dwfl_module_getsymtab(f.dwfl_module);
	CHECK(nr > 20);
	for (i = 0; i < nr && i < 600; i++) {
		if (!dwfl_module_getsym_info(f.dwfl_module, i, &sym, &addr, NULL, NULL, NULL))
			continue;
		compare_at(&f, addr - 1);
		compare_at(&f, addr);
		compare_at(&f, addr + sym.st_size / 2);
		compare_at(&f, addr + sym.st_size - 1);
		compare_at(&f, addr + sym.st_size);
		compare_at(&f, addr + sym.st_size + 1);
	}
	module_file_release(&f);
}

int main(void)
{
	answers_are_those_of_libdwfl();
	return 0;
}
