/* SPDX-License-Identifier: MIT */
/* symbol_spans.c - the symbol at an address, asked once between two bounds of symbols. */
#include "symbols/symbol_spans.h"

#include <stdlib.h>

#define BOUNDS_MAX (1u << 24) /* then libdwfl is asked each time */

/* ---- bounds ------------------------------------------------------------------ */

static void spans_add_bound(struct symbol_spans *x, uint64_t addr)
{
	if (x->nr == x->room && !x->is_failed) {
		size_t room = x->room ? x->room * 2 : 1024;
		uint64_t *more = room <= BOUNDS_MAX ? reallocarray(x->starts, room, sizeof(*more))
						    : NULL;

		if (more) {
			x->starts = more;
			x->room = room;
		}
		x->is_failed = !more;
	}
	if (!x->is_failed)
		x->starts[x->nr++] = addr;
}

static void spans_add_sections(struct symbol_spans *x, Elf *elf, uint64_t bias)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head) || !(head.sh_flags & SHF_ALLOC))
			continue;
		spans_add_bound(x, head.sh_addr + bias);
		spans_add_bound(x, head.sh_addr + bias + head.sh_size);
	}
}

static void spans_add_symbols(struct symbol_spans *x, Dwfl_Module *module)
{
	int nr = dwfl_module_getsymtab(module), i;
	Elf *elf = NULL, *last = NULL;
	GElf_Addr addr;
	Dwarf_Addr bias = 0;
	GElf_Sym sym;

	for (i = 0; i < nr && !x->is_failed; i++) {
		if (!dwfl_module_getsym_info(module, i, &sym, &addr, NULL, &elf, &bias))
			continue;
		spans_add_bound(x, addr);
		/* A label is found at its address even behind the end of its section. */
		spans_add_bound(x, addr + (sym.st_size ? sym.st_size : 1));
		if (elf && elf != last) /* the program, then its separate debug file */
			spans_add_sections(x, elf, bias);
		last = elf ? elf : last;
	}
}

static int bounds_by_address(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void spans_make(struct symbol_spans *x, Dwfl_Module *module)
{
	Elf *elf;
	GElf_Addr bias = 0;
	size_t i, kept = 0;

	x->is_made = true;
	elf = dwfl_module_getelf(module, &bias);
	spans_add_bound(x, 0);
	if (elf)
		spans_add_sections(x, elf, bias);
	spans_add_symbols(x, module);
	if (x->is_failed)
		return;
	qsort(x->starts, x->nr, sizeof(*x->starts), bounds_by_address);
	for (i = 0; i < x->nr; i++) {
		if (!kept || x->starts[i] != x->starts[kept - 1])
			x->starts[kept++] = x->starts[i];
	}
	x->nr = kept;
	x->found = calloc(x->nr + 1, sizeof(*x->found));
	x->is_failed = !x->found;
}

/* ---- answers ----------------------------------------------------------------- */

/* The last bound that is not after @addr; the first one is 0. */
static size_t spans_at(const struct symbol_spans *x, uint64_t addr)
{
	size_t low = 0, high = x->nr;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (x->starts[middle] <= addr)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Ask libdwfl, and keep the answer for the span.  NULL: no memory. */
static const struct symbol_answer *spans_ask(struct symbol_spans *x, Dwfl_Module *module,
					     size_t span, uint64_t addr)
{
	struct symbol_answer *answer;
	GElf_Off offset = 0;

	if (x->nr_answers == x->room_answers) {
		size_t room = x->room_answers ? x->room_answers * 2 : 64;
		struct symbol_answer *more = reallocarray(x->answers, room, sizeof(*more));

		if (!more)
			return NULL;
		x->answers = more;
		x->room_answers = room;
	}
	answer = &x->answers[x->nr_answers++];
	*answer = (struct symbol_answer){ 0 };
	answer->name = dwfl_module_addrinfo(module, addr, &offset, &answer->sym, NULL, NULL, NULL);
	answer->start = addr - offset;
	x->found[span] = (uint32_t)x->nr_answers;
	return answer;
}

const char *symbol_spans_find(struct symbol_spans *x, Dwfl_Module *module, uint64_t addr,
			      GElf_Off *offset, GElf_Sym *sym)
{
	const struct symbol_answer *answer = NULL;
	size_t span;

	if (!x->is_made)
		spans_make(x, module);
	if (!x->is_failed) {
		span = spans_at(x, addr);
		answer = x->found[span] ? &x->answers[x->found[span] - 1]
					: spans_ask(x, module, span, addr);
	}
	if (!answer)
		return dwfl_module_addrinfo(module, addr, offset, sym, NULL, NULL, NULL);
	if (!answer->name)
		return NULL;
	*offset = addr - answer->start;
	*sym = answer->sym;
	return answer->name;
}

void symbol_spans_release(struct symbol_spans *x)
{
	free(x->starts);
	free(x->found);
	free(x->answers);
	*x = (struct symbol_spans){ 0 };
}
