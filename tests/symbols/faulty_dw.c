/* SPDX-License-Identifier: MIT */
/*
 * faulty_dw.c - preloaded before libdw: simulates a crash of that library at one file.
 *
 * FAULTY_DW=PATH: the process ends when the debug information of that file is read.
 */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static int is_meant(Dwfl_Module *module)
{
	const char *path = getenv("FAULTY_DW"), *name;

	name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
	return path && name && strcmp(path, name) == 0;
}

const char *dwfl_module_addrinfo(Dwfl_Module *module, GElf_Addr address, GElf_Off *offset,
				 GElf_Sym *sym, GElf_Word *shndxp, Elf **elfp, Dwarf_Addr *bias)
{
	const char *(*next)(Dwfl_Module *, GElf_Addr, GElf_Off *, GElf_Sym *, GElf_Word *, Elf **,
			    Dwarf_Addr *);

	if (is_meant(module))
		raise(SIGSEGV);
	*(void **)&next = dlsym(RTLD_NEXT, "dwfl_module_addrinfo");
	return next(module, address, offset, sym, shndxp, elfp, bias);
}

Dwarf *dwfl_module_getdwarf(Dwfl_Module *module, Dwarf_Addr *bias)
{
	Dwarf *(*next)(Dwfl_Module *, Dwarf_Addr *);

	if (is_meant(module))
		raise(SIGSEGV);
	*(void **)&next = dlsym(RTLD_NEXT, "dwfl_module_getdwarf");
	return next(module, bias);
}
