/* SPDX-License-Identifier: MIT */
/* rust_untyped.c - names, files and lines of async functions without their types. */
#include "symbols/rust_untyped.h"

#include <dwarf.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

#define PARTS_MAX 32
#define PATH_SIZE 1024

/* ---- functions --------------------------------------------------------------------- */

/* The parts of a path, in @text; the last is the function: {async_fn_env#0} is {async_fn#0}. */
static size_t untyped_split(char *text, char *parts[PARTS_MAX])
{
	size_t nr = 0;
	char *end, *env;

	while (nr < PARTS_MAX) {
		parts[nr++] = text;
		end = strstr(text, "::");
		if (!end)
			break;
		*end = 0;
		text = end + 2;
	}
	env = strstr(parts[nr - 1], "_env#");
	if (env)
		memmove(env, env + 4, strlen(env + 4) + 1);
	return nr;
}

static bool untyped_search(Dwarf_Die *parent, char *const *parts, size_t nr, const char **file,
			   int *line)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		const char *name;

		if (tag != (nr > 1 ? DW_TAG_namespace : DW_TAG_subprogram))
			continue;
		name = dwarf_diename(&die);
		if (!name || strcmp(name, parts[0]) != 0)
			continue;
		if (nr > 1 && untyped_search(&die, parts + 1, nr - 1, file, line))
			return true;
		if (nr == 1 && (*file = dwarf_decl_file(&die)) && dwarf_decl_line(&die, line) == 0)
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool rust_untyped_find(Dwfl_Module *module, const char *path, const char **file, int *line)
{
	char text[PATH_SIZE], *parts[PARTS_MAX];
	Dwarf_Die *unit = NULL;
	Dwarf_Addr bias;
	size_t nr;

	if ((size_t)snprintf(text, sizeof(text), "%s", path) >= sizeof(text))
		return false;
	nr = untyped_split(text, parts);
	while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
		if (dwarf_srclang(unit) == DW_LANG_Rust &&
		    untyped_search(unit, parts, nr, file, line))
			return true;
	}
	return false;
}

/* ---- symbols ------------------------------------------------------------------------ */

static int untyped_visit_symbol(const char *name, uint64_t addr, rust_symbol_visitor visit,
				void *arg)
{
	static const char poll[] = "tokio::runtime::task::raw::poll";
	char *plain;
	int rc = 0;

	if (!strstr(name, "4task3raw4poll"))
		return 0;
	plain = symbol_demangle(name);
	if (plain && !strncmp(plain, poll, sizeof(poll) - 1)) {
		const char *rest = plain + sizeof(poll) - 1;

		/* The newer scheme: "::<T, S>"; the older one: "::h0123456789abcdef" or nothing. */
		if (!strncmp(rest, "::<", 3))
			rc = visit(arg, rest + 2, addr);
		else
			rc = visit(arg, "<?>", addr);
	}
	free(plain);
	return rc;
}

int rust_untyped_symbols(Dwfl_Module *module, rust_symbol_visitor visit, void *arg)
{
	int nr = dwfl_module_getsymtab(module), i, rc = 0;

	for (i = 1; !rc && i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(module, i, &sym, &addr, NULL, NULL,
							   NULL);

		if (name && GELF_ST_TYPE(sym.st_info) == STT_FUNC && sym.st_value)
			rc = untyped_visit_symbol(name, addr, visit, arg);
	}
	return rc;
}
