/* SPDX-License-Identifier: MIT */
/* line_index.c - map an address to its line and function with the DWARF of one module. */
#include "symbols/line_index.h"

#include <dwarf.h>
#include <stdlib.h>

/* More than any real program has; a corrupt file may claim any number. */
#define SPANS_MAX (1u << 22)
#define DIES_MAX  (1u << 22)
#define DEPTH_MAX 512

/* ---- units --------------------------------------------------------------- */

static bool add_span(struct line_index *x, uint64_t start, uint64_t end, Dwarf_Off unit)
{
	struct line_span *more;

	if (start >= end)
		return true;
	if (x->nr == SPANS_MAX)
		return false;
	if (x->nr == x->room) {
		size_t room = x->room ? x->room * 2 : 256;

		more = reallocarray(x->spans, room, sizeof(*more));
		if (!more)
			return false;
		x->spans = more;
		x->room = room;
	}
	x->spans[x->nr++] = (struct line_span){ start, end, unit };
	return true;
}

static bool add_unit(struct line_index *x, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0) {
		if (!add_span(x, start, end, dwarf_dieoffset(unit)))
			return false;
	}
	return true;
}

static int line_index_by_start(const void *a, const void *b)
{
	const struct line_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void make_index(struct line_index *x, Dwarf *dwarf)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	x->made = true;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		if (!add_unit(x, &unit))
			break;
	}
	if (x->nr)
		qsort(x->spans, x->nr, sizeof(*x->spans), line_index_by_start);
}

static bool line_index_find_span(const struct line_index *x, uint64_t addr, Dwarf_Off *unit)
{
	size_t low = 0, high = x->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->spans[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || addr >= x->spans[low - 1].end)
		return false;
	*unit = x->spans[low - 1].unit;
	return true;
}

/* The compilation unit of @addr, and its load bias in the process. */
static bool find_unit(struct line_index *x, Dwfl_Module *module, uint64_t addr, Dwarf_Die *unit,
		      Dwarf_Addr *bias)
{
	Dwarf_Die *known = dwfl_module_addrdie(module, addr, bias);
	Dwarf *dwarf;
	Dwarf_Off at;

	/*
	 * In a gap between known ranges libdwfl returns the preceding unit: check that it contains
	 * the address.
	 */
	if (known && dwarf_haspc(known, addr - *bias) > 0) {
		*unit = *known;
		return true;
	}
	dwarf = dwfl_module_getdwarf(module, bias);
	if (!dwarf)
		return false;
	if (!x->made)
		make_index(x, dwarf);
	return line_index_find_span(x, addr - *bias, &at) && dwarf_offdie(dwarf, at, unit) != NULL;
}

/* ---- lines --------------------------------------------------------------- */

/* Code with line 0 belongs to the line before it. */
static Dwarf_Line *line_before(Dwarf_Die *unit, Dwarf_Line *line)
{
	Dwarf_Lines *lines;
	Dwarf_Addr wanted, at;
	Dwarf_Line *last = NULL;
	size_t nr, i;
	bool ends;
	int number;

	if (dwarf_getsrclines(unit, &lines, &nr) != 0 || dwarf_lineaddr(line, &wanted) != 0)
		return NULL;
	for (i = 0; i < nr; i++) {
		Dwarf_Line *one = dwarf_onesrcline(lines, i);

		if (!one || dwarf_lineaddr(one, &at) != 0 || at > wanted)
			break;
		if (dwarf_lineendsequence(one, &ends) == 0 && ends)
			last = NULL;
		else if (dwarf_lineno(one, &number) == 0 && number > 0)
			last = one;
	}
	return last;
}

static bool line_index_find_line(Dwarf_Die *unit, Dwarf_Addr addr, struct line_found *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, addr);
	int number = 0;

	if (line && dwarf_lineno(line, &number) == 0 && number == 0)
		line = line_before(unit, line);
	if (!line || dwarf_lineno(line, &number) != 0 || number <= 0)
		return false;
	out->file = dwarf_linesrc(line, NULL, NULL);
	out->line = (uint32_t)number;
	return out->file != NULL;
}

/* ---- functions ------------------------------------------------------------- */

static const char *line_index_name_of(Dwarf_Die *die, bool *is_whole)
{
	static const unsigned names[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
	Dwarf_Attribute attr;
	const char *name = NULL;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]) && !name; i++) {
		if (dwarf_attr_integrate(die, names[i], &attr))
			name = dwarf_formstring(&attr);
	}
	*is_whole = name && (i < 3 || dwarf_tag(die) == DW_TAG_inlined_subroutine);
	return name;
}

/* With split DWARF the unit in the .dwo file, otherwise the unit in the program. */
static Dwarf_Die whole_unit(Dwarf_Die *unit)
{
	Dwarf_Die die, sub;
	uint8_t kind = 0;

	if (dwarf_cu_info(unit->cu, NULL, &kind, &die, &sub, NULL, NULL, NULL) == 0 &&
	    kind == DW_UT_skeleton && sub.addr)
		return sub;
	return *unit;
}

struct search {
	Dwarf_Addr addr;
	unsigned left; /* DIEs that may still be visited */
	const char *last;
	struct line_found *out;
	Dwarf_Die function; /* the innermost that is not inlined; addr NULL: none */
	Dwarf_Die inlined;  /* the outermost inlined into it; addr NULL: none */
};

/* Enter a function or block that contains the address. */
static void search_enter(struct search *s, Dwarf_Die *die, int tag)
{
	if (!function_tag_is_function(tag))
		return;
	s->out->function = line_index_name_of(die, &s->out->is_whole);
	if (tag == DW_TAG_subprogram) {
		s->function = *die;
		s->inlined = (Dwarf_Die){ 0 };
	} else if (!s->inlined.addr) {
		s->inlined = *die;
	}
}

/*
 * Find the innermost function below @parent, which is code, that contains the address; true once
 * one is found.  Does not use dwarf_getscopes(): its recursion depth, and so its stack use, is set
 * by the file.
 */
static bool search_below(struct search *s, Dwarf_Die *parent, unsigned depth)
{
	Dwarf_Die die, next;

	if (dwarf_child(parent, &die) != 0)
		return false;
	/*
	 * dwarf_siblingof() walks all DIEs nested below the current one, at every level: deep
	 * nesting, which no real program has, would take quadratic time.
	 */
	if (depth > DEPTH_MAX)
		s->left = 0;
	for (; s->left; die = next) {
		int tag = dwarf_tag(&die);

		/*
		 * DIEs are stored one after the other: a lower address is a loop in a corrupt file.
		 */
		if ((const char *)die.addr <= s->last)
			return false;
		s->last = die.addr;
		s->left--;
		if ((function_tag_is_function(tag) || function_tag_is_block(tag)) &&
		    dwarf_haspc(&die, s->addr) > 0) {
			search_enter(s, &die, tag);
			search_below(s, &die, depth + 1);
			return true;
		}
		if (function_tag_is_scope(tag) && search_below(s, &die, depth + 1))
			return true;
		if (!s->left || dwarf_siblingof(&die, &next) != 0)
			return false;
	}
	return false;
}

static void search_unit(struct line_index *x, struct search *s, Dwarf_Die *unit)
{
	Dwarf_Die in = whole_unit(unit), die;

	if (!function_index_find(&x->functions, &in, s->addr, &die))
		return;
	s->last = die.addr;
	search_enter(s, &die, dwarf_tag(&die));
	search_below(s, &die, 1);
}

bool line_index_find(struct line_index *x, Dwfl_Module *module, uint64_t addr,
		     struct line_found *out)
{
	struct search s = { .left = DIES_MAX, .out = out };
	Dwarf_Addr bias = 0;
	Dwarf_Die unit;

	*out = (struct line_found){ 0 };
	if (!find_unit(x, module, addr, &unit, &bias) ||
	    !line_index_find_line(&unit, addr - bias, out))
		return false;
	s.addr = addr - bias;
	search_unit(x, &s, &unit);
	return true;
}

bool line_index_function(struct line_index *x, Dwfl_Module *module, uint64_t addr,
			 Dwarf_Die *function, Dwarf_Addr *bias)
{
	struct line_found found = { 0 };
	struct search s = { .left = DIES_MAX, .out = &found };
	Dwarf_Die unit;

	if (!find_unit(x, module, addr, &unit, bias))
		return false;
	s.addr = addr - *bias;
	search_unit(x, &s, &unit);
	*function = s.function;
	return s.function.addr != NULL;
}

static bool line_index_call_line(Dwarf_Die *inlined, struct line_found *out)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;
	size_t nr;
	Dwarf_Die unit;

	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attr), &line) != 0 ||
	    dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attr), &file) != 0 ||
	    !dwarf_diecu(inlined, &unit, NULL, NULL) ||
	    dwarf_getsrcfiles(&unit, &files, &nr) != 0 || file >= nr || !line || line > UINT32_MAX)
		return false;
	out->file = dwarf_filesrc(files, file, NULL, NULL);
	out->line = (uint32_t)line;
	return out->file != NULL;
}

bool line_index_find_outer(struct line_index *x, Dwfl_Module *module, uint64_t addr,
			   struct line_found *out)
{
	struct search s = { .left = DIES_MAX, .out = out };
	Dwarf_Addr bias = 0;
	Dwarf_Die unit;

	*out = (struct line_found){ 0 };
	if (!find_unit(x, module, addr, &unit, &bias))
		return false;
	s.addr = addr - bias;
	search_unit(x, &s, &unit);
	if (s.function.addr)
		out->function = line_index_name_of(&s.function, &out->is_whole);
	return (s.inlined.addr && line_index_call_line(&s.inlined, out)) ||
	       line_index_find_line(&unit, addr - bias, out);
}

void line_index_release(struct line_index *x)
{
	free(x->spans);
	function_index_release(&x->functions);
	*x = (struct line_index){ 0 };
}
