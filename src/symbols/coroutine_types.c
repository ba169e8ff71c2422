/* SPDX-License-Identifier: MIT */
/* coroutine_types.c - find the coroutine functions of a program by the names of their symbols. */
#include "symbols/coroutine_types.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/strtab.h"
#include "base/u64map.h"
#include "corotracer/function.h"
#include "symbols/code_sweep.h"
#include "symbols/coroutine_index.h"
#include "symbols/coroutine_layout.h"
#include "symbols/demangle.h"
#include "symbols/line_index.h"

struct coro_module {
	struct module_file file;
	struct line_index lines;
	char entry[INDEX_CACHE_NAME_MAX]; /* in the cache; "": the module is not kept there */
	struct coro_index index;          /* its functions, without their layouts */
	bool is_changed;                  /* the entry is to be written */
};

struct coro_entry {
	struct coro_type type;
	size_t base; /* number of the name without ".actor" */
	bool is_loaded;
	bool has_cached; /* the layout came from the cache */
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
	char cache_note[300];
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

/* @symbol: its function is copied, and its layout taken over. */
static int coro_types_add_resume(struct coro_types *types, size_t base,
				 struct coro_index_symbol *symbol, uint64_t addr)
{
	struct coro_entry *e = coro_types_more(types);
	uint64_t *first;

	if (!e)
		return -ENOMEM;
	*e = (struct coro_entry){ .base = base };
	if (symbol->type) {
		e->type = *symbol->type;
		e->has_cached = true;
		*symbol->type = (struct coro_type){ 0 };
	}
	e->type.function = strdup(symbol->function);
	e->type.resume = addr;
	e->type.code_end = addr + symbol->size;
	if (e->has_cached)
		coro_index_settle(&e->type);
	e->type.module = types->nr_modules - 1;
	if (!e->type.function || u64map_put(&types->by_resume, addr, types->nr + 1) < 0 ||
	    !(first = u64map_at(&types->by_base, base))) {
		coro_layout_release(&e->type);
		return -ENOMEM;
	}
	if (!*first)
		*first = types->nr + 1;
	if (addr + symbol->size > types->code_high)
		types->code_high = addr + symbol->size;
	types->nr++;
	return 1;
}

/* 1: a coroutine function was added; 0; -ENOMEM. */
static int coro_types_add_function(struct coro_types *types, struct coro_index_symbol *symbol,
				   uint64_t addr)
{
	struct coro_module *m = &types->modules[types->nr_modules - 1];
	int64_t base = strtab_intern(&types->bases, symbol->base);
	struct coro_index_symbol kept = *symbol;

	if (base < 0)
		return -ENOMEM;
	kept.base = strtab_text(&types->bases, (size_t)base);
	kept.function = NULL;
	kept.type = NULL;
	if (m->entry[0] && coro_index_add(&m->index, &kept) < 0)
		return -ENOMEM;
	types->low = addr < types->low ? addr : types->low;
	types->high = addr > types->high ? addr : types->high;
	if (!symbol->is_resume)
		return u64map_put(&types->by_destroy, addr, (uint64_t)base + 1);
	return u64map_get(&types->by_resume, addr, &(uint64_t){ 0 })
		       ? 0
		       : coro_types_add_resume(types, (size_t)base, symbol, addr);
}

static int coro_types_add_symbol(struct coro_types *types, const char *name, const GElf_Sym *sym,
				 uint64_t addr)
{
	size_t len = 0;
	enum symbol_role role = symbol_role_of(name, &len);
	struct coro_index_symbol symbol = {
		.addr = addr - types->modules[types->nr_modules - 1].file.module.bias,
		.size = sym->st_size,
		.is_resume = role == ROLE_RESUME,
	};
	char *base, *function;
	int rc = -ENOMEM;

	if (role == ROLE_NONE || GELF_ST_TYPE(sym->st_info) != STT_FUNC ||
	    sym->st_shndx == SHN_UNDEF)
		return 0;
	base = strndup(name, len);
	function = role == ROLE_RESUME ? coro_plain_name(name) : NULL;
	symbol.base = base;
	symbol.function = function;
	if (base && (function || role == ROLE_DESTROY))
		rc = coro_types_add_function(types, &symbol, addr);
	free(base);
	free(function);
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

static int coro_types_read_symbols(struct coro_types *types, Dwfl_Module *module)
{
	struct coro_module *m = &types->modules[types->nr_modules - 1];
	int nr = dwfl_module_getsymtab(module), i, found = 0;

	m->is_changed = true;
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
	if (!found && (m->entry[0] || types->nr_modules == 1) && symbols_are_stripped(module))
		m->index.flags |= CORO_INDEX_STRIPPED;
	return found;
}

/* ---- the cache -------------------------------------------------------------- */

/* Every function has to be in the module. */
static bool coro_module_has_all(const struct coro_module *m, const struct coro_index *index)
{
	const struct symbol_module *module = &m->file.module;
	size_t i;

	for (i = 0; i < index->nr; i++) {
		uint64_t addr = index->symbols[i].addr + module->bias;

		if (addr < module->start || addr >= module->end ||
		    index->symbols[i].size > module->end - addr)
			return false;
	}
	return true;
}

/* The entry of @m in the cache, into @index; false: there is none that can be used. */
static bool coro_module_read_entry(struct coro_types *types, struct coro_module *m,
				   struct coro_index *index)
{
	struct bytes content = { 0 };
	const char *problem = NULL;
	bool is_there;

	if (!module_entry_name(&m->file, m->entry)) {
		m->entry[0] = '\0';
		return false;
	}
	is_there = index_cache_read(m->entry, &content, types->cache_note,
				    sizeof(types->cache_note));
	if (is_there) {
		problem = coro_index_take(index, &content, m->file.module.build_id);
		if (!problem && !coro_module_has_all(m, index))
			problem = "it does not fit the program";
		/* Companions that have changed are no damage, as another version is none. */
		if (!problem && !module_companions_unchanged(&index->companions))
			problem = "";
	}
	if (problem && *problem)
		snprintf(types->cache_note, sizeof(types->cache_note),
			 "ignoring '%s' in the cache: %s", m->entry, problem);
	bytes_release(&content);
	return is_there && !problem;
}

/* The number of coroutine functions, -ENOMEM, or -ENOENT: the cache does not have the module. */
static int coro_types_read_entry(struct coro_types *types)
{
	struct coro_module *m = &types->modules[types->nr_modules - 1];
	struct coro_index index = { 0 };
	int found = 0, rc = 0;
	size_t i;

	if (!index_cache_is_used() || !coro_module_read_entry(types, m, &index)) {
		coro_index_release(&index);
		return -ENOENT;
	}
	m->index.flags = index.flags;
	for (i = 0; rc >= 0 && i < index.nr; i++) {
		rc = coro_types_add_function(types, &index.symbols[i],
					     index.symbols[i].addr + m->file.module.bias);
		found += rc;
	}
	coro_index_release(&index);
	return rc < 0 ? rc : found;
}

static void code_ignore_store(void *arg, uint64_t addr, uint64_t value, bool is_frame)
{
	(void)arg;
	(void)addr;
	(void)value;
	(void)is_frame;
}

/* Without a disassembler layouts lack their suspend points: they are not kept. */
static bool coro_module_is_whole(const struct coro_module *m)
{
	struct code_bytes none = { .data = (const uint8_t *)"" };
	GElf_Addr bias;
	GElf_Ehdr header;
	Elf *elf = dwfl_module_getelf(m->file.dwfl_module, &bias);

	if (!m->index.nr)
		return true;
	if (!elf || !gelf_getehdr(elf, &header))
		return false;
	none.machine = header.e_machine;
	return code_find_stores(&none, &(struct code_field){ 0, 2 }, code_ignore_store, NULL);
}

static void coro_module_store(struct coro_types *types, struct coro_module *m)
{
	struct bytes content = { 0 };
	size_t i;

	for (i = 0; i < m->index.nr; i++) {
		struct coro_index_symbol *s = &m->index.symbols[i];
		uint64_t number;

		if (!s->is_resume ||
		    !u64map_get(&types->by_resume, s->addr + m->file.module.bias, &number))
			continue;
		s->type = &types->entries[number - 1].type;
		s->function = s->type->function;
		s->is_loaded = types->entries[number - 1].is_loaded ||
			       types->entries[number - 1].has_cached;
	}
	if (coro_module_has_all(m, &m->index) && coro_module_is_whole(m) &&
	    module_companions_find(&m->file, &m->index.companions) &&
	    coro_index_put(&m->index, m->file.module.build_id, &content))
		index_cache_write(m->entry, &content);
	bytes_release(&content);
}

void coro_types_store(struct coro_types *types)
{
	size_t i;

	for (i = 0; i < types->nr_modules; i++) {
		struct coro_module *m = &types->modules[i];

		if (m->entry[0] && m->is_changed && m->file.state == MODULE_READY &&
		    !memory_shortage_noted())
			coro_module_store(types, m);
		m->is_changed = false;
	}
}

const char *coro_types_cache_note(const struct coro_types *types)
{
	return types->cache_note[0] ? types->cache_note : NULL;
}

bool coro_types_may_have_tokio(const struct coro_types *types, size_t number)
{
	return number >= types->nr_modules ||
	       !(types->modules[number].index.flags & CORO_INDEX_NO_TOKIO);
}

void coro_types_set_no_tokio(struct coro_types *types, size_t number)
{
	if (number >= types->nr_modules || !coro_types_may_have_tokio(types, number))
		return;
	types->modules[number].index.flags |= CORO_INDEX_NO_TOKIO;
	types->modules[number].is_changed = true;
}

/* ---- adding ----------------------------------------------------------------- */

static int coro_types_add_module(struct coro_types *types, const struct symbol_module *module,
				 const char *open_path)
{
	struct symbol_module opened = *module;
	struct coro_module *more;
	int found;

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
	if (!more->file.real_path) {
		module_file_release(&more->file);
		return -ENOMEM;
	}
	types->nr_modules++;
	if (!module_file_ready(&more->file)) {
		coro_types_note(types, module->path, module_state_words(more->file.state));
		return 0;
	}
	found = coro_types_read_entry(types);
	if (found == -ENOENT)
		found = coro_types_read_symbols(types, more->file.dwfl_module);
	/* Libraries without symbols are common, and rarely have coroutines. */
	if (!found && types->nr_modules == 1 && (more->index.flags & CORO_INDEX_STRIPPED))
		coro_types_note(types, module->path,
				"has no symbols (it is stripped): its coroutines are not found");
	return found;
}

int coro_types_add(struct coro_types *types, const struct symbol_module *module,
		   const char *open_path)
{
	int before = memory_shortage_watch();
	int found = coro_types_add_module(types, module, open_path);

	memory_shortage_check(before);
	return found;
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

bool coro_types_source(struct coro_types *types, size_t number, struct coro_source *out)
{
	const struct coro_entry *e = &types->entries[number];
	struct coro_module *m = &types->modules[e->type.module];

	if (!module_file_ready(&m->file))
		return false;
	*out = (struct coro_source){
		.module = m->file.dwfl_module,
		.lines = &m->lines,
		.base = strtab_text(&types->bases, e->base),
	};
	return true;
}

const struct coro_type *coro_types_get(struct coro_types *types, size_t number)
{
	struct coro_entry *e = &types->entries[number];
	struct coro_module *m = &types->modules[e->type.module];
	struct coro_source source;
	int before = memory_shortage_watch();

	if (!e->is_loaded && coro_types_source(types, number, &source)) {
		if (!e->has_cached) {
			coro_layout_read(&e->type, &source);
			m->is_changed = true;
		}
		if (!e->type.has_promise && !e->type.file)
			coro_types_note(types, m->file.real_path,
					"has no debug information for its coroutines (compile "
					"with -g)");
	}
	e->is_loaded = true;
	memory_shortage_check(before);
	return &e->type;
}

bool coro_types_dies(struct coro_types *types, size_t number, Dwarf_Die *frame, Dwarf_Die *function)
{
	struct coro_source source;

	return coro_types_get(types, number)->has_layout &&
	       coro_types_source(types, number, &source) &&
	       coro_layout_dies(&types->entries[number].type, &source, frame, function);
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
		free(types->modules[i].index.symbols);
		module_companions_release(&types->modules[i].index.companions);
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
