/* SPDX-License-Identifier: MIT */
/* rust_untyped.c - names, files and lines of async functions without their types. */
#include "symbols/rust_untyped.h"

#include <dwarf.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbols/demangle.h"
#include "symbols/die_sibling.h"

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

/* "{closure#0}" is the function "{closure#0}<T>" as well. */
static bool untyped_is_named(const char *name, const char *part)
{
	size_t len = strlen(part);

	return name && !strncmp(name, part, len) && (!name[len] || name[len] == '<');
}

static bool untyped_search(Dwarf_Die *parent, char *const *parts, size_t nr, Dwarf_Die *out)
{
	Dwarf_Die die;

	if (dwarf_child(parent, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) != (nr > 1 ? DW_TAG_namespace : DW_TAG_subprogram) ||
		    !untyped_is_named(dwarf_diename(&die), parts[0]))
			continue;
		if (nr > 1 && untyped_search(&die, parts + 1, nr - 1, out))
			return true;
		if (nr == 1 && dwarf_decl_file(&die)) {
			*out = die;
			return true;
		}
	} while (die_next(&die));
	return false;
}

bool rust_untyped_find(Dwfl_Module *module, const char *path, const char **file, int *line)
{
	char text[PATH_SIZE], *parts[PARTS_MAX];
	Dwarf_Die *unit = NULL, die;
	Dwarf_Addr bias;
	size_t nr;

	if ((size_t)snprintf(text, sizeof(text), "%s", path) >= sizeof(text))
		return false;
	nr = untyped_split(text, parts);
	while ((unit = dwfl_module_nextcu(module, unit, &bias))) {
		if (dwarf_srclang(unit) != DW_LANG_Rust || !untyped_search(unit, parts, nr, &die))
			continue;
		*file = dwarf_decl_file(&die);
		return *file && dwarf_decl_line(&die, line) == 0;
	}
	return false;
}

/* ---- macros --------------------------------------------------------------------------- */

/* The lowest line of @file in the code of @function. */
static uint32_t untyped_first_line(Dwarf_Die *unit, Dwarf_Die *function, const char *file)
{
	Dwarf_Addr low, high, at;
	Dwarf_Lines *lines;
	size_t nr, i;
	int first = 0;

	if (dwarf_lowpc(function, &low) != 0 || dwarf_highpc(function, &high) != 0 ||
	    dwarf_getsrclines(unit, &lines, &nr) != 0)
		return 0;
	for (i = 0; i < nr; i++) {
		Dwarf_Line *line = dwarf_onesrcline(lines, i);
		const char *source;
		char plain[PATH_MAX];
		int number;

		if (dwarf_lineaddr(line, &at) != 0 || at < low || at >= high ||
		    dwarf_lineno(line, &number) != 0 || number <= 0 || (first && number >= first) ||
		    !(source = dwarf_linesrc(line, NULL, NULL)))
			continue;
		path_plain(source, plain, sizeof(plain));
		if (!strcmp(plain, file))
			first = number;
	}
	return (uint32_t)first;
}

bool rust_untyped_macro(Dwarf_Die *closure, const char *path, const char *file, uint32_t *line)
{
	Dwarf *dwarf = dwarf_cu_getdwarf(closure->cu);
	char text[PATH_SIZE], *parts[PARTS_MAX];
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, die;
	size_t nr;

	if ((size_t)snprintf(text, sizeof(text), "%s", path) >= sizeof(text))
		return false;
	nr = untyped_split(text, parts);
	*line = 0;
	while (!*line && dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		if (dwarf_srclang(&unit) == DW_LANG_Rust && untyped_search(&unit, parts, nr, &die))
			*line = untyped_first_line(&unit, &die, file);
	}
	return *line;
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
