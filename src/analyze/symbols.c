/* SPDX-License-Identifier: MIT */
/* symbols.c - addresses of a traced process to functions, files and lines. */
#include "analyze/symbols.h"

#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/strtab.h"

enum state { UNTRIED, READY, NO_FILE, OTHER_BUILD, NO_ELF };

struct file {
	struct sidecar_module module; /* its strings are copies */
	enum state state;
	bool asked, has_lines;
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
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

int symbols_add(struct symbols *s, const struct sidecar_module *module)
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
	*f = (struct file){ .module = *module };
	f->module.path = strdup(module->path ? module->path : "");
	f->module.build_id = module->build_id ? strdup(module->build_id) : NULL;
	if (!f->module.path || (module->build_id && !f->module.build_id)) {
		free((void *)f->module.path);
		free((void *)f->module.build_id);
		return -ENOMEM;
	}
	s->nr++;
	return 0;
}

/* ---- a file -------------------------------------------------------------- */

static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
};

/* How much higher it was mapped than its file says: from the segment that the mapping shows. */
static bool bias_of(int fd, const struct sidecar_module *m, uint64_t *bias)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool found = false;
	size_t nr = 0, i;

	if (elf && elf_getphdrnum(elf, &nr) == 0) {
		for (i = 0; i < nr && !found; i++) {
			uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE) - 1;
			GElf_Phdr ph;

			if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD ||
			    (ph.p_offset & ~page) != m->offset)
				continue;
			*bias = m->start - (ph.p_vaddr & ~page);
			found = true;
		}
	}
	elf_end(elf);
	return found;
}

static bool same_build(Dwfl_Module *module, const char *wanted)
{
	const unsigned char *bits;
	GElf_Addr ignored;
	int size = dwfl_module_build_id(module, &bits, &ignored), i;
	char hex[3];

	/* Without an id on both sides there is nothing to compare. */
	if (!wanted)
		return true;
	if (size <= 0 || strlen(wanted) != (size_t)size * 2)
		return false;
	for (i = 0; i < size; i++) {
		snprintf(hex, sizeof(hex), "%02x", bits[i]);
		if (memcmp(hex, wanted + (size_t)i * 2, 2) != 0)
			return false;
	}
	return true;
}

static enum state open_file(struct file *f)
{
	int fd = open(f->module.path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	uint64_t bias;

	if (fd < 0)
		return NO_FILE;
	elf_version(EV_CURRENT);
	if (!bias_of(fd, &f->module, &bias)) {
		close(fd);
		return NO_ELF;
	}
	f->dwfl = dwfl_begin(&callbacks);
	if (!f->dwfl) {
		close(fd);
		return NO_ELF;
	}
	dwfl_report_begin(f->dwfl);
	f->dwfl_module = dwfl_report_elf(f->dwfl, f->module.path, f->module.path, fd, bias, true);
	dwfl_report_end(f->dwfl, NULL, NULL);
	if (!f->dwfl_module) {
		close(fd);
		return NO_ELF;
	}
	return same_build(f->dwfl_module, f->module.build_id) ? READY : OTHER_BUILD;
}

static void note_problem(struct symbols *s, const struct file *f)
{
	static const char *const words[] = {
		[NO_FILE] = "is not there any more",
		[OTHER_BUILD] = "was built anew since",
		[NO_ELF] = "is no program that can be read",
	};

	if (s->problem[0] || f->state == READY || f->state == UNTRIED)
		return;
	snprintf(s->problem, sizeof(s->problem), "Functions of '%.400s' have no names here: it %s.",
		 f->module.path, words[f->state]);
}

/* ---- addresses ----------------------------------------------------------- */

static struct file *file_of(struct symbols *s, uint32_t pid, uint64_t addr)
{
	size_t i;

	/* The latest first: what was loaded later lies over what was there before. */
	for (i = s->nr; i-- > 0;) {
		struct file *f = &s->files[i];

		if ((!pid || f->module.pid == pid) && addr >= f->module.start &&
		    addr < f->module.end)
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
	Dwfl_Line *line = dwfl_module_getsrc(f->dwfl_module, addr);
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

	if (!f)
		return false;
	if (f->state == UNTRIED)
		f->state = open_file(f);
	note_problem(s, f);
	*out = (struct symbol){ .module = f->module.path, .offset = addr - f->module.start };
	if (f->state != READY)
		return true;
	name = dwfl_module_addrinfo(f->dwfl_module, addr, &offset, &sym, NULL, NULL, NULL);
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
			 s->files[i].module.path);
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
		if (s->files[i].dwfl)
			dwfl_end(s->files[i].dwfl);
		free((void *)s->files[i].module.path);
		free((void *)s->files[i].module.build_id);
	}
	free(s->files);
	strtab_release(&s->texts);
	free(s);
}
