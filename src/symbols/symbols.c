/* SPDX-License-Identifier: MIT */
/* symbols.c - resolve addresses of a traced process to functions, files and lines. */
#include "symbols/symbols.h"

#include <corotracer/function.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "base/path.h"
#include "base/strtab.h"
#include "symbols/demangle.h"
#include "symbols/line_index.h"

struct file {
	struct module_file m;
	struct line_index lines;
	bool asked, has_lines;
};

#define FOUND_MAX (1u << 20) /* answers that are kept */

struct symbols {
	struct file *files;
	size_t nr, room;
	struct strtab texts;
	struct u64map by_addr; /* of any process: to 1 + index in `found` */
	struct symbol *found;
	size_t nr_found, room_found;
	char problem[600];
};

struct symbols *symbols_new(void)
{
	return calloc(1, sizeof(struct symbols));
}

int symbols_add(struct symbols *s, const struct symbol_module *module)
{
	struct file *f;

	if (s->nr == s->room) {
		size_t room = s->room ? s->room * 2 : 32;
		struct file *files = realloc(s->files, room * sizeof(*files));

		if (!files)
			return -ENOMEM;
		s->files = files;
		s->room = room;
	}
	u64map_release(&s->by_addr); /* the new module may replace another one */
	s->nr_found = 0;
	f = &s->files[s->nr];
	*f = (struct file){ 0 };
	if (module_file_init(&f->m, module) < 0)
		return -ENOMEM;
	s->nr++;
	return 0;
}

static void note_problem(struct symbols *s, const struct file *f)
{
	if (s->problem[0] || f->m.state == MODULE_READY || f->m.state == MODULE_UNTRIED)
		return;
	snprintf(s->problem, sizeof(s->problem), "Functions of '%.400s' have no names here: it %s.",
		 f->m.module.path, module_state_words(f->m.state));
}

/* ---- addresses ----------------------------------------------------------- */

static struct file *file_of(const struct symbols *s, uint32_t pid, uint64_t addr)
{
	size_t i;

	/* Latest first: a module loaded later replaces an earlier one at the same address. */
	for (i = s->nr; i-- > 0;) {
		struct file *f = &s->files[i];

		if ((!pid || f->m.module.pid == pid) && addr >= f->m.module.start &&
		    addr < f->m.module.end)
			return f;
	}
	return NULL;
}

static const char *symbols_keep(struct symbols *s, const char *text)
{
	int64_t number = strtab_intern(&s->texts, text);

	return number < 0 ? NULL : strtab_text(&s->texts, (size_t)number);
}

/* "server::serve::{{closure}}" becomes "serve", as in the Rust SDK; a generic name stays whole. */
static void plain_rust(char *name)
{
	static const char *const bodies[] = { "::{{closure}}", "::{closure#" };
	const char *last;
	size_t i;

	for (i = 0; i < 2; i++) {
		char *body = strstr(name, bodies[i]);

		if (body && !strchr(body, '<'))
			*body = '\0';
	}
	last = strpbrk(name, "<>") ? NULL : strrchr(name, ':');
	if (last)
		memmove(name, last + 1, strlen(last + 1) + 1);
}

/* Demangles C++ and Rust, legacy and v0; a C name is kept as it is. */
static const char *symbols_plain_name(struct symbols *s, const char *name, const char *file)
{
	char *whole = symbol_demangle(name);
	size_t size = strlen(whole ? whole : name) + 1, len = file ? strlen(file) : 0;
	char *plain = malloc(size);
	const char *kept = NULL;

	if (plain && len > 3 && !strcmp(file + len - 3, ".rs")) {
		memcpy(plain, whole ? whole : name, size);
		plain_rust(plain);
	} else if (plain) {
		ctp_function_plain(whole ? whole : name, plain, size);
	}
	if (plain)
		kept = symbols_keep(s, plain);
	free(plain);
	free(whole);
	return kept;
}

static bool is_mangled(const char *name)
{
	return !strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2);
}

/*
 * Set file and line of @at, and the function, which may be inlined into the function of symbol
 * @name.
 */
static void symbols_find_line(struct symbols *s, struct file *f, uint64_t at, const char *name,
			      struct symbol *out)
{
	struct line_found found;
	char path[PATH_MAX];

	if (!line_index_find(&f->lines, f->m.dwfl_module, at, &found))
		return;
	f->has_lines = true;
	path_plain(found.file, path, sizeof(path));
	out->file = symbols_keep(s, path);
	out->line = found.line;
	/* DWARF names a lambda "operator()": its mangled symbol is more specific. */
	if (found.function && (found.is_whole || !name || !is_mangled(name)))
		out->function = symbols_plain_name(s, found.function, path);
}

static bool symbols_look(struct symbols *s, uint32_t pid, uint64_t addr, bool behind_call,
			 struct symbol *out)
{
	struct file *f = file_of(s, pid, addr);
	const char *name;
	GElf_Off offset = 0;
	GElf_Sym sym;
	bool ready;

	if (!f)
		return false;
	ready = module_file_ready(&f->m);
	note_problem(s, f);
	*out = (struct symbol){ .module = f->m.module.path, .offset = addr - f->m.module.start };
	if (!ready)
		return true;
	name = module_file_symbol(&f->m, addr, &offset, &sym);
	if (behind_call && (!name || offset) && addr > f->m.module.start) {
		name = module_file_symbol(&f->m, addr - 1, &offset, &sym);
		addr--;
		offset += name != NULL;
	}
	if (name)
		out->offset = offset;
	symbols_find_line(s, f, addr, name, out);
	if (!out->function && name)
		out->function = symbols_plain_name(s, name, out->file);
	f->asked = true;
	return true;
}

static bool symbols_symbols_find(struct symbols *s, uint32_t pid, uint64_t addr, bool behind_call,
				 struct symbol *out)
{
	int before = memory_shortage_watch();
	bool is_found = symbols_look(s, pid, addr, behind_call, out);

	memory_shortage_check(before);
	return is_found;
}

const char *symbols_module_path(const struct symbols *s, uint32_t pid, uint64_t addr)
{
	const struct file *f = file_of(s, pid, addr);

	return f ? f->m.module.path : NULL;
}

bool symbols_has(const struct symbols *s, uint32_t pid, uint64_t addr)
{
	return file_of(s, pid, addr) != NULL;
}

bool symbols_has_process(const struct symbols *s, uint32_t pid)
{
	size_t i;

	for (i = 0; i < s->nr; i++) {
		if (!pid || s->files[i].m.module.pid == pid)
			return true;
	}
	return false;
}

/* Keep an answer, if there is memory. */
static void symbols_keep_found(struct symbols *s, uint64_t addr, const struct symbol *found)
{
	if (s->nr_found == s->room_found) {
		size_t room = s->room_found ? s->room_found * 2 : 256;
		struct symbol *more = room <= FOUND_MAX
					      ? reallocarray(s->found, room, sizeof(*more))
					      : NULL;

		if (!more)
			return;
		s->found = more;
		s->room_found = room;
	}
	if (u64map_put(&s->by_addr, addr, s->nr_found + 1) == 0)
		s->found[s->nr_found++] = *found;
}

/* The functions of call stacks are looked up again and again. */
bool symbols_find(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out)
{
	uint64_t known;

	if (pid)
		return symbols_symbols_find(s, pid, addr, false, out);
	if (u64map_get(&s->by_addr, addr, &known)) {
		*out = s->found[known - 1];
		return true;
	}
	if (!symbols_symbols_find(s, 0, addr, false, out))
		return false;
	symbols_keep_found(s, addr, out);
	return true;
}

bool symbols_find_resume(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out)
{
	return symbols_symbols_find(s, pid, addr, true, out);
}

const char *symbols_problem(const struct symbols *s)
{
	static _Thread_local char text[600];
	size_t i;

	if (s->problem[0])
		return s->problem;
	for (i = 0; i < s->nr; i++) {
		if (!s->files[i].asked || s->files[i].has_lines)
			continue;
		snprintf(text, sizeof(text),
			 "'%.400s' has no debug information: functions are named, lines are not "
			 "(compile with -g).",
			 s->files[i].m.module.path);
		return text;
	}
	return NULL;
}

void symbols_free(struct symbols *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->nr; i++) {
		line_index_release(&s->files[i].lines);
		module_file_release(&s->files[i].m);
	}
	free(s->files);
	free(s->found);
	u64map_release(&s->by_addr);
	strtab_release(&s->texts);
	free(s);
}
