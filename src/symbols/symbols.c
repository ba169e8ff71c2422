/* SPDX-License-Identifier: MIT */
/* symbols.c - addresses of a traced process to functions, files and lines. */
#include "symbols/symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"

struct file {
	struct module_file m;
	bool asked, has_lines;
};

struct symbols {
	struct file *files;
	size_t nr, room;
	struct strtab texts;
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

static struct file *file_of(struct symbols *s, uint32_t pid, uint64_t addr)
{
	size_t i;

	/* The latest first: what was loaded later lies over what was there before. */
	for (i = s->nr; i-- > 0;) {
		struct file *f = &s->files[i];

		if ((!pid || f->m.module.pid == pid) && addr >= f->m.module.start &&
		    addr < f->m.module.end)
			return f;
	}
	return NULL;
}

static const char *keep(struct symbols *s, const char *text)
{
	int64_t number = strtab_intern(&s->texts, text);

	return number < 0 ? NULL : strtab_text(&s->texts, (size_t)number);
}

/*
 * gcc names the body of a coroutine by what it makes of it, "f(f(int)::_Z1fi.Frame*) [clone
 * .actor]": what is inside, up to the frame, is the function as it was written.
 */
static void tidy_coroutine(char *name)
{
	char *open = strchr(name, '('), *frame = strstr(name, "::_Z");

	if (!open || !frame || frame < open || !strstr(frame, ".Frame*)"))
		return;
	*frame = '\0';
	memmove(name, open + 1, strlen(open + 1) + 1);
}

/* C++ and Rust, old and new; a name of C is its own. */
static const char *demangled(struct symbols *s, const char *name)
{
	char *plain = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI | DMGL_AUTO);
	const char *kept;

	if (plain)
		tidy_coroutine(plain);
	kept = keep(s, plain ? plain : name);

	free(plain);
	return kept;
}

static void find_line(struct symbols *s, struct file *f, uint64_t addr, struct symbol *out)
{
	Dwfl_Line *line = dwfl_module_getsrc(f->m.dwfl_module, addr);
	const char *name;
	int nr = 0;

	name = line ? dwfl_lineinfo(line, NULL, &nr, NULL, NULL, NULL) : NULL;
	if (!name || nr <= 0)
		return;
	f->has_lines = true;
	out->file = keep(s, name);
	out->line = (uint32_t)nr;
}

bool symbols_find(struct symbols *s, uint32_t pid, uint64_t addr, struct symbol *out)
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
	name = dwfl_module_addrinfo(f->m.dwfl_module, addr, &offset, &sym, NULL, NULL, NULL);
	if (name) {
		out->function = demangled(s, name);
		out->offset = offset;
	}
	find_line(s, f, addr, out);
	f->asked = true;
	return true;
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
	for (i = 0; i < s->nr; i++)
		module_file_release(&s->files[i].m);
	free(s->files);
	strtab_release(&s->texts);
	free(s);
}
