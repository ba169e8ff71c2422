/* SPDX-License-Identifier: MIT */
/* coroutine_types.c - find the coroutine functions of a program by the names of their symbols. */
#include "symbols/coroutine_types.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/u64map.h"
#include "corotracer/function.h"
#include "symbols/coroutine_layout.h"
#include "symbols/demangle.h"
#include "symbols/line_index.h"

struct coro_module {
	struct module_file file;
	struct line_index lines;
};

struct coro_entry {
	struct coro_type type;
	size_t base; /* number of the name without ".actor" */
	bool is_loaded;
};

struct coro_types {
	struct coro_module *modules;
	size_t nr_modules;
	struct coro_entry *entries;
	size_t nr, room;
	struct strtab bases;
	struct u64map by_resume;  /* resume address to 1 + entry */
	struct u64map by_destroy; /* destroy or cleanup address to 1 + base */
	struct u64map by_base;    /* base to 1 + its first entry */
	uint64_t low, high;
	uint64_t code_high; /* end of the last resume function */
	char problem[600];
};

struct coro_types *coro_types_new(void)
{
	struct coro_types *types = calloc(1, sizeof(*types));

	if (types)
		types->low = UINT64_MAX;
	return types;
}

/* ---- names of symbols ----------------------------------------------------- */

enum symbol_role {
	ROLE_NONE,
	ROLE_RESUME,
	ROLE_DESTROY,
};

static bool ends_with(const char *name, size_t len, const char *end)
{
	size_t size = strlen(end);

	return len > size && !memcmp(name + len - size, end, size);
}

/* Length without ".123" at the end, and without what link-time optimization puts before it. */
static size_t without_number(const char *name, size_t len)
{
	static const char *const clones[] = { ".lto_priv", ".llvm", ".constprop", ".isra" };
	size_t at = len, i;

	while (at && name[at - 1] >= '0' && name[at - 1] <= '9')
		at--;
	if (at == len || !at || name[at - 1] != '.')
		return len;
	at--;
	for (i = 0; i < sizeof(clones) / sizeof(clones[0]); i++) {
		if (ends_with(name, at, clones[i]))
			return at - strlen(clones[i]);
	}
	return at;
}

/* What the symbol is, and the length of the name that its pair shares. */
static enum symbol_role symbol_role_of(const char *name, size_t *base)
{
	static const struct {
		const char *end;
		enum symbol_role role;
	} ends[] = {
		{ ".actor", ROLE_RESUME },
		{ ".resume", ROLE_RESUME },
		{ ".destroy", ROLE_DESTROY },
		{ ".cleanup", ROLE_DESTROY },
	};
	size_t len = strlen(name), before, i;

	do {
		before = len;
		len = without_number(name, len);
	} while (len != before);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (ends_with(name, len, ends[i].end)) {
			*base = len - strlen(ends[i].end);
			return ends[i].role;
		}
	}
	return ROLE_NONE;
}

static char *coro_plain_name(const char *symbol)
{
	char *whole = symbol_demangle(symbol);
	size_t size = strlen(whole ? whole : symbol) + 1;
	char *plain = malloc(size);

	if (plain)
		ctp_function_plain(whole ? whole : symbol, plain, size);
	free(whole);
	return plain;
}

/* ---- one symbol ------------------------------------------------------------- */

static struct coro_entry *coro_types_more(struct coro_types *types)
{
	struct coro_entry *more;

	if (types->nr == types->room) {
		size_t room = types->room ? types->room * 2 : 64;

		more = reallocarray(types->entries, room, sizeof(*more));
		if (!more)
			return NULL;
		types->entries = more;
		types->room = room;
	}
	return &types->entries[types->nr];
}

static int coro_types_add_resume(struct coro_types *types, size_t base, const char *name,
				 uint64_t addr, uint64_t size)
{
	struct coro_entry *e = coro_types_more(types);
	uint64_t *first;

	if (!e)
		return -ENOMEM;
	*e = (struct coro_entry){ .base = base };
	e->type.function = coro_plain_name(name);
	e->type.resume = addr;
	e->type.code_end = addr + size;
	e->type.module = types->nr_modules - 1;
	if (!e->type.function || u64map_put(&types->by_resume, addr, types->nr + 1) < 0 ||
	    !(first = u64map_at(&types->by_base, base))) {
		free(e->type.function);
		return -ENOMEM;
	}
	if (!*first)
		*first = types->nr + 1;
	if (addr + size > types->code_high)
		types->code_high = addr + size;
	types->nr++;
	return 1;
}

static int coro_types_add_symbol(struct coro_types *types, const char *name, const GElf_Sym *sym,
				 uint64_t addr)
{
	size_t len = 0;
	enum symbol_role role = symbol_role_of(name, &len);
	int64_t base;
	char *text;
	int rc;

	if (role == ROLE_NONE || GELF_ST_TYPE(sym->st_info) != STT_FUNC ||
	    sym->st_shndx == SHN_UNDEF)
		return 0;
	text = strndup(name, len);
	base = text ? strtab_intern(&types->bases, text) : -ENOMEM;
	free(text);
	if (base < 0)
		return -ENOMEM;
	types->low = addr < types->low ? addr : types->low;
	types->high = addr > types->high ? addr : types->high;
	if (role == ROLE_DESTROY)
		return u64map_put(&types->by_destroy, addr, (uint64_t)base + 1);
	rc = u64map_get(&types->by_resume, addr, &(uint64_t){ 0 })
		     ? 0
		     : coro_types_add_resume(types, (size_t)base, name, addr, sym->st_size);
	return rc;
}

/* ---- modules ---------------------------------------------------------------- */

static void coro_types_note(struct coro_types *types, const char *path, const char *why)
{
	if (!types->problem[0])
		snprintf(types->problem, sizeof(types->problem), "'%.400s' %s", path, why);
}

/* Only names for other modules are left, and there is no debug file. */
static bool symbols_are_stripped(Dwfl_Module *module)
{
	const char *debug_file = NULL;
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, NULL, &debug_file);
	while (elf && (section = elf_nextscn(elf, section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB)
			return false;
	}
	return !debug_file;
}

static int coro_types_read_symbols(struct coro_types *types, Dwfl_Module *module, const char *path)
{
	int nr = dwfl_module_getsymtab(module), i, found = 0;

	for (i = 1; i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(module, i, &sym, &addr, NULL, NULL,
							   NULL);
		int rc = name ? coro_types_add_symbol(types, name, &sym, addr) : 0;

		if (rc < 0)
			return rc;
		found += rc;
	}
	/* Libraries without symbols are common, and rarely have coroutines. */
	if (!found && types->nr_modules == 1 && symbols_are_stripped(module))
		coro_types_note(types, path,
				"has no symbols (it is stripped): its coroutines are not found");
	return found;
}

int coro_types_add(struct coro_types *types, const struct symbol_module *module,
		   const char *open_path)
{
	struct symbol_module opened = *module;
	struct coro_module *more;

	more = reallocarray(types->modules, types->nr_modules + 1, sizeof(*more));
	if (!more)
		return -ENOMEM;
	types->modules = more;
	more += types->nr_modules;
	*more = (struct coro_module){ 0 };
	opened.path = open_path;
	if (module_file_init(&more->file, &opened) < 0)
		return -ENOMEM;
	more->file.real_path = strdup(module->path);
	types->nr_modules++;
	if (!module_file_ready(&more->file)) {
		coro_types_note(types, module->path, module_state_words(more->file.state));
		return 0;
	}
	return coro_types_read_symbols(types, more->file.dwfl_module, module->path);
}

/* ---- lookups ---------------------------------------------------------------- */

struct Dwfl_Module *coro_types_module(struct coro_types *types, size_t number)
{
	if (number >= types->nr_modules || !module_file_ready(&types->modules[number].file))
		return NULL;
	return types->modules[number].file.dwfl_module;
}

size_t coro_types_count(const struct coro_types *types)
{
	return types->nr;
}

void coro_types_bounds(const struct coro_types *types, uint64_t *low, uint64_t *high)
{
	*low = types->low;
	*high = types->high;
}

int64_t coro_types_find(const struct coro_types *types, uint64_t resume, uint64_t destroy)
{
	uint64_t base, entry;

	if (!u64map_get(&types->by_destroy, destroy, &base))
		return -1;
	if (!resume)
		return u64map_get(&types->by_base, base - 1, &entry) ? (int64_t)entry - 1 : -1;
	if (!u64map_get(&types->by_resume, resume, &entry) ||
	    types->entries[entry - 1].base != base - 1)
		return -1;
	return (int64_t)entry - 1;
}

int64_t coro_types_at(const struct coro_types *types, uint64_t pc)
{
	size_t i;

	if (pc < types->low || pc > types->code_high)
		return -1;
	for (i = 0; i < types->nr; i++) {
		const struct coro_type *type = &types->entries[i].type;

		if (pc >= type->resume && pc < type->code_end)
			return (int64_t)i;
	}
	return -1;
}

const struct coro_type *coro_types_get(struct coro_types *types, size_t number)
{
	struct coro_entry *e = &types->entries[number];
	struct coro_module *m = &types->modules[e->type.module];

	if (!e->is_loaded && module_file_ready(&m->file)) {
		struct coro_source source = {
			.module = m->file.dwfl_module,
			.lines = &m->lines,
			.base = strtab_text(&types->bases, e->base),
		};

		coro_layout_read(&e->type, &source);
		if (!e->type.has_promise && !e->type.file)
			coro_types_note(types, m->file.real_path,
					"has no debug information for its coroutines (compile "
					"with -g)");
	}
	e->is_loaded = true;
	return &e->type;
}

bool coro_types_dies(struct coro_types *types, size_t number, Dwarf_Die *frame,
		     Dwarf_Die *function)
{
	struct coro_entry *e = &types->entries[number];
	struct coro_module *m = &types->modules[e->type.module];
	struct coro_source source = { .base = strtab_text(&types->bases, e->base) };

	if (!coro_types_get(types, number)->has_layout || !module_file_ready(&m->file))
		return false;
	source.module = m->file.dwfl_module;
	source.lines = &m->lines;
	return coro_layout_dies(&e->type, &source, frame, function);
}

const struct coro_point *coro_type_point(const struct coro_type *type, uint64_t index)
{
	size_t i;

	for (i = 0; i < type->nr_points; i++) {
		if (type->points[i].index == index)
			return &type->points[i];
	}
	return NULL;
}

bool coro_type_has_index(const struct coro_type *type, uint64_t index)
{
	/* gcc: odd numbers destroy; 0 is the start of the function. */
	if (type->is_gcc && (index & 1))
		return false;
	return !type->nr_points || coro_type_point(type, index) || index < type->nr_points * 2 + 4;
}

const char *coro_types_problem(const struct coro_types *types)
{
	return types->problem[0] ? types->problem : NULL;
}

void coro_types_free(struct coro_types *types)
{
	size_t i;

	if (!types)
		return;
	for (i = 0; i < types->nr; i++)
		coro_layout_release(&types->entries[i].type);
	for (i = 0; i < types->nr_modules; i++) {
		line_index_release(&types->modules[i].lines);
		module_file_release(&types->modules[i].file);
	}
	free(types->modules);
	free(types->entries);
	strtab_release(&types->bases);
	u64map_release(&types->by_resume);
	u64map_release(&types->by_destroy);
	u64map_release(&types->by_base);
	free(types);
}
