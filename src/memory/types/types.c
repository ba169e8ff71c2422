/* SPDX-License-Identifier: MIT */
/* types.c - the types of a program by number, name and address. */
#include "memory/types/types.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/types/type_model.h"

static const struct type unknown = { .kind = TYPE_UNKNOWN, .name = "?" };

struct types *types_new(void)
{
	return calloc(1, sizeof(struct types));
}

const char *types_keep(struct types *t, const char *text)
{
	int64_t number = strtab_intern(&t->texts, text);

	if (number < 0)
		t->no_memory = true;
	return number < 0 ? NULL : strtab_text(&t->texts, (size_t)number);
}

/* Only the first problem is kept: it usually causes the others. */
void types_say(struct types *t, const char *fmt, ...)
{
	va_list ap;

	if (t->problem[0])
		return;
	va_start(ap, fmt);
	vsnprintf(t->problem, sizeof(t->problem), fmt, ap);
	va_end(ap);
}

const struct type *types_get(const struct types *t, uint32_t number)
{
	return number && number <= t->nr ? t->types[number - 1] : &unknown;
}

uint32_t types_count(const struct types *t)
{
	return t->nr + 1;
}

/* ---- modules ------------------------------------------------------------- */

/* Record the end of the program, and the span of its libraries. */
static void note_place(struct types *t, const struct symbol_module *m)
{
	struct types_span *all = &t->mapped;

	if (!m->end || strstr(m->path, "vdso"))
		return;
	if (!t->program_end) {
		t->program_end = m->end;
		return;
	}
	if (!all->end || m->start < all->start)
		all->start = m->start;
	if (m->end > all->end)
		all->end = m->end;
}

struct types_module *types_push_module(struct types *t, const struct symbol_module *module)
{
	struct types_module *m;

	if (t->nr_modules == t->room_modules) {
		size_t room = t->room_modules ? t->room_modules * 2 : 16;
		void *more = realloc(t->modules, room * sizeof(struct types_module *));

		if (!more)
			return NULL;
		t->modules = more;
		t->room_modules = room;
	}
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	if (module_file_init(&m->file, module) < 0) {
		free(m);
		return NULL;
	}
	t->modules[t->nr_modules++] = m;
	t->all_indexed = false;
	note_place(t, &m->file.module);
	return m;
}

static int add_module(struct types *t, const struct mem_module *from)
{
	char build_id[65] = "";
	const struct symbol_module module = {
		.start = from->m.start,
		.end = from->m.end,
		.has_bias = true,
		.bias = from->m.bias,
		.path = from->path,
		.build_id = mem_module_build_id(from, build_id),
	};

	return types_push_module(t, &module) ? 0 : -ENOMEM;
}

int types_add_modules(struct types *t, const struct mem_facts *facts)
{
	for (; t->nr_facts < facts->nr_modules; t->nr_facts++) {
		const struct mem_module *m = &facts->modules[t->nr_facts];

		if (!m->m.gone && m->m.end > m->m.start && add_module(t, m) < 0)
			return -ENOMEM;
	}
	return 0;
}

static struct types_module *module_at(const struct types *t, uint64_t address)
{
	size_t i;

	/* The latest first: a module that was loaded later replaces what was mapped there. */
	for (i = t->nr_modules; i-- > 0;) {
		const struct symbol_module *m = &t->modules[i]->file.module;

		if (address >= m->start && address < m->end)
			return t->modules[i];
	}
	return NULL;
}

const char *types_module_at(const struct types *t, uint64_t address)
{
	const struct types_module *m = module_at(t, address);

	return m ? m->file.module.path : NULL;
}

/*
 * The program comes first in the trace's table.  The break follows it; libraries and mappings
 * are far above and grow downwards; the stack is above all of them (only the kernel's vdso is
 * higher).
 */
enum types_memory types_memory_at(const struct types *t, uint64_t address)
{
	const struct types_span *m = &t->mapped;

	if (address < t->program_end || !m->end)
		return TYPES_NO_IDEA;
	if (address >= m->end)
		return TYPES_STACK;
	return address < m->start && address - t->program_end < m->start - address ? TYPES_HEAP
										   : TYPES_MAPPING;
}

static void types_read_module(struct types *t, struct types_module *m)
{
	if (!module_file_ready(&m->file) && m->file.module.path[0] != '/')
		return; /* the kernel's vdso has no file */
	if (m->file.state != MODULE_READY)
		types_say(t, "'%.400s' %s: its variables and types have no names",
			  m->file.module.path, module_state_words(m->file.state));
	else if (types_index(t, m) < 0)
		t->no_memory = true;
}

bool types_is_ready(struct types *t, struct types_module *m)
{
	int before = memory_shortage_watch();

	if (!m->indexed) {
		m->indexed = true;
		types_read_module(t, m);
	}
	memory_shortage_check(before);
	return m->file.state == MODULE_READY;
}

/* True if the file exports the start of every program, which only a C library does. */
static bool types_exports_start(Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	GElf_Sym sym;

	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;
		int i;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		for (i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(elf, head.sh_link, sym.st_name);

			if (name && sym.st_shndx != SHN_UNDEF && !strcmp(name, "__libc_start_main"))
				return true;
		}
	}
	return false;
}

bool types_is_c_library(struct types *t, uint64_t address)
{
	struct types_module *m = module_at(t, address);
	GElf_Addr bias;
	int before;

	if (!m)
		return false;
	before = memory_shortage_watch();
	if (!m->asked_c) {
		m->asked_c = true;
		m->is_c_library = module_file_ready(&m->file) &&
				  types_exports_start(
					  dwfl_module_getelf(m->file.dwfl_module, &bias));
	}
	memory_shortage_check(before);
	return m->is_c_library;
}

/* ---- names --------------------------------------------------------------- */

static uint32_t build_entry(struct types *t, const struct u64map *map, const char *name)
{
	int64_t text = strtab_find(&t->texts, name);
	uint64_t entry;

	if (text < 0 || !u64map_get(map, (uint64_t)text, &entry) || !entry || entry > t->nr_entries)
		return 0;
	return types_build(t, &t->entries[entry - 1]);
}

static uint32_t find_folded(struct types *t, const char *name, bool only_tags)
{
	uint32_t number = only_tags ? 0 : build_entry(t, &t->ordinary, name);

	if (!number)
		number = build_entry(t, &t->tags, name);
	if (!number)
		number = build_entry(t, &t->last, name);
	return number ? number : types_json_find(t, name, only_tags);
}

/* The name without its tag: "struct node", or "struct.node" as LLVM writes it. */
static const char *without_tag(const char *name)
{
	static const char *const words[] = { "struct", "class", "union", "enum" };
	size_t i, length;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		length = strlen(words[i]);
		if (!strncmp(name, words[i], length) &&
		    (name[length] == ' ' || name[length] == '.'))
			return name + length + 1;
	}
	return NULL;
}

static uint32_t types_find_name(struct types *t, const char *name)
{
	const char *tag;
	uint32_t number;
	char *dot;
	char folded[1024];

	types_fold_name(name, folded, sizeof(folded));
	tag = without_tag(folded);
	number = find_folded(t, tag ? tag : folded, tag != NULL);
	if (number || !tag)
		return number;
	/* LLVM numbers types that have the same name: "struct.node.17". */
	dot = strrchr(folded, '.');
	if (!dot || dot < tag || dot[1] == '\0' || dot[1 + strspn(dot + 1, "0123456789")] != '\0')
		return 0;
	*dot = '\0';
	return find_folded(t, tag, true);
}

/* By its complete name, in the modules that were read; the first of them that has it decides. */
static uint32_t find_complete(struct types *t, const char *name)
{
	char folded[1024];
	const char *tag;
	uint32_t number;

	types_fold_name(name, folded, sizeof(folded));
	tag = without_tag(folded);
	number = tag ? 0 : build_entry(t, &t->ordinary, folded);
	return number ? number : build_entry(t, &t->tags, tag ? tag : folded);
}

uint32_t types_by_name(struct types *t, const char *name)
{
	uint32_t number;
	size_t i;

	while (!strncmp(name, "const ", 6) || !strncmp(name, "volatile ", 9))
		name += name[0] == 'c' ? 6 : 9;
	/* Mostly the program has it: reading the C library's types takes longer than the rest. */
	for (i = 0; !t->all_indexed && i < t->nr_modules; i++) {
		types_is_ready(t, t->modules[i]);
		number = find_complete(t, name);
		if (number)
			return number;
	}
	t->all_indexed = true;
	return types_find_name(t, name);
}

/* ---- addresses ----------------------------------------------------------- */

static void build_variable(struct types *t, struct variable *v)
{
	Dwarf_Die type;

	v->built = true;
	if (!die_type(&v->die, &type))
		return;
	v->v.type = types_build(t, &type);
	v->v.size = types_get(t, v->v.type)->size;
}

static struct type_variable *keep_symbol(struct types *t, const struct type_variable *found)
{
	uint64_t *at = u64map_at(&t->by_symbol, found->address);
	struct type_variable *kept;

	if (at && *at)
		return t->symbols[*at - 1];
	if (t->nr_symbols == t->room_symbols) {
		size_t room = t->room_symbols ? t->room_symbols * 2 : 64;
		void *more = realloc(t->symbols, room * sizeof(struct type_variable *));

		if (!more)
			return NULL;
		t->symbols = more;
		t->room_symbols = room;
	}
	kept = malloc(sizeof(*kept));
	if (!at || !kept) {
		free(kept);
		return NULL;
	}
	*kept = *found;
	t->symbols[t->nr_symbols++] = kept;
	*at = t->nr_symbols;
	return kept;
}

/* Reported for the program only: libraries are usually stripped. */
static void say_stripped(struct types *t, const struct types_module *m)
{
	if (m->no_debug && m == t->modules[0])
		types_say(
			t,
			"'%.400s' is stripped: its variables have neither names nor types (use the "
			"file before strip, or its separate debug information)",
			m->file.module.path);
}

/* The variable from the symbol table, if DWARF has none: a name and a size. */
static const struct type_variable *from_symbol(struct types *t, struct types_module *m,
					       uint64_t address)
{
	struct type_variable found = { 0 };
	GElf_Off offset = 0;
	GElf_Sym sym;
	const char *name = module_file_symbol(&m->file, address, &offset, &sym);

	if (!name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || offset >= sym.st_size) {
		say_stripped(t, m);
		return NULL;
	}
	/* Small variables of libc occur in every program; only larger ones are worth a message. */
	if (m->no_debug || sym.st_size >= 64)
		types_say(t,
			  "'%.400s' has no debug information of '%.100s': variables have names, "
			  "but no "
			  "types and fields (compile with -g, or install its debug symbols)",
			  m->file.module.path, name);
	found.name = types_keep(t, name);
	found.address = address - offset;
	found.size = sym.st_size;
	return found.name ? keep_symbol(t, &found) : NULL;
}

struct types_module *types_ready_module(struct types *t, uint64_t address)
{
	struct types_module *m = module_at(t, address);

	return m && types_is_ready(t, m) ? m : NULL;
}

struct types_function *types_function_at(const struct types_module *m, uint64_t addr)
{
	size_t low = 0, high = m->nr_functions;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->functions[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low && addr < m->functions[low - 1].end ? &m->functions[low - 1] : NULL;
}

static struct variable *find_variable(struct types *t, const struct types_module *m,
				      uint64_t address)
{
	size_t low = 0, high = m->nr_variables;
	struct variable *v;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->variables[middle].v.address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	v = &m->variables[low - 1];
	if (!v->built)
		build_variable(t, v);
	return address - v->v.address < v->v.size ? v : NULL;
}

const struct type_variable *types_variable_at(struct types *t, uint64_t address)
{
	struct types_module *m = types_ready_module(t, address);
	struct variable *v = m ? find_variable(t, m, address) : NULL;

	if (!m)
		return NULL;
	return v ? &v->v : from_symbol(t, m, address);
}

bool types_variable_type(struct types *t, uint64_t address, Dwarf_Die *type, uint64_t *offset)
{
	struct types_module *m = types_ready_module(t, address);
	struct variable *v = m ? find_variable(t, m, address) : NULL;

	if (!v || !die_type(&v->die, type))
		return false;
	*offset = address - v->v.address;
	return true;
}

const char *types_problem(const struct types *t)
{
	return t->problem[0] ? t->problem : NULL;
}

void types_free(struct types *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->nr; i++) {
		free(t->types[i]->members);
		free(t->types[i]->leaves);
		free(t->types[i]);
	}
	for (i = 0; i < t->nr_modules; i++) {
		module_file_release(&t->modules[i]->file);
		free(t->modules[i]->variables);
		free(t->modules[i]->functions);
		free(t->modules[i]);
	}
	for (i = 0; i < t->nr_symbols; i++)
		free(t->symbols[i]);
	free(t->symbols);
	u64map_release(&t->by_symbol);
	free(t->types);
	free(t->modules);
	free(t->entries);
	u64map_release(&t->by_die);
	u64map_release(&t->by_identity);
	u64map_release(&t->scoped);
	u64map_release(&t->nameless);
	u64map_release(&t->tags);
	u64map_release(&t->ordinary);
	u64map_release(&t->last);
	u64map_release(&t->from_json);
	strtab_release(&t->texts);
	free(t);
}
