/* SPDX-License-Identifier: MIT */
/* access_types.c - the types that instructions access, one function at a time, on demand. */
#include "memory/types/access_types.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"
#include "memory/types/type_model.h"
#include "memory/types/value_flow.h"

#define ACCESS_BITS    14u
#define ACCESS_CACHE   (1u << ACCESS_BITS)
#define FUNCTION_MAX   (1u << 22)
#define FUNCTION_PARTS 64u

/* What a function of the runtime does with its arguments. */
enum callee_kind {
	CALLEE_OTHER = 1,
	CALLEE_ACCESS, /* accesses its first argument */
	CALLEE_RANGE,  /* the same, of any length: the trace has several records of it */
	CALLEE_COPY,   /* writes its first argument, reads its second; of any length */
};

struct access_cache {
	uint64_t pc;
	struct access_type *found[2]; /* read, write */
};

struct access_types {
	struct types *types;
	struct pointees pointees;
	struct access_cache *cache;
	struct u64map by_pc;   /* to 1 + index in `found`, of the first argument */
	struct u64map by_copy; /* the same of the second */
	struct u64map callees; /* address to enum callee_kind */
	struct u64map hooks;   /* addresses of symbols named as the runtime's functions are */
	struct u64map listed;  /* modules whose symbols are in `hooks`: 1; 2: they are not */
	struct u64map results; /* address of a function to 1 + pointee */
	struct access_type **found;
	size_t nr, room;
	bool no_memory;
};

/* The function that is being read. */
struct access_reading {
	struct access_types *a;
	struct types_module *m;
	uint64_t bias; /* address in the process minus address in the file */
	Dwarf_CFI *cfi;
};

struct access_types *access_types_new(struct types *types)
{
	struct access_types *a = calloc(1, sizeof(*a));

	if (a)
		a->cache = calloc(ACCESS_CACHE, sizeof(*a->cache));
	if (!a || !a->cache) {
		free(a);
		return NULL;
	}
	a->types = types;
	a->pointees.types = types;
	return a;
}

/* ---- functions ------------------------------------------------------------- */

/* The bytes of code from @start to @end; NULL if the file does not have them. */
static const uint8_t *access_code(Dwfl_Module *module, uint64_t start, uint64_t end)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	while (elf && (section = elf_nextscn(elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_PROGBITS ||
		    !(head.sh_flags & SHF_EXECINSTR) || start < head.sh_addr ||
		    end > head.sh_addr + head.sh_size)
			continue;
		data = elf_rawdata(section, NULL);
		if (data && data->d_buf && end - head.sh_addr <= data->d_size)
			return (const uint8_t *)data->d_buf + (start - head.sh_addr);
	}
	return NULL;
}

static unsigned access_machine(Dwfl_Module *module)
{
	GElf_Addr bias;
	GElf_Ehdr head;
	Elf *elf = dwfl_module_getelf(module, &bias);

	return elf && gelf_getehdr(elf, &head) ? head.e_machine : EM_NONE;
}

/* ---- what value_flow.h asks --------------------------------------------------- */

static uint32_t access_result_of(void *arg, uint64_t target)
{
	struct access_reading *r = arg;
	const struct types_function *f;
	uint64_t *known = u64map_at(&r->a->results, target + r->bias);
	Dwarf_Die die, type;

	if (!known) {
		r->a->no_memory = true;
		return 0;
	}
	if (!*known) {
		f = types_function_at(r->m, target);
		*known = 1;
		if (f && f->start == target) {
			die = f->die;
			if (die_type(&die, &type))
				*known = (uint64_t)pointee_of_value(&r->a->pointees, &type) + 1;
		}
	}
	return (uint32_t)*known - 1;
}

static bool access_variable_at(void *arg, uint64_t addr, Dwarf_Die *type, uint64_t *offset)
{
	struct access_reading *r = arg;

	return types_variable_type(r->a->types, addr + r->bias, type, offset);
}

static bool access_frame_at(void *arg, uint64_t addr, int *reg, int64_t *offset)
{
	struct access_reading *r = arg;
	Dwarf_Frame *frame = NULL;
	Dwarf_Op *ops = NULL;
	size_t nr = 0;
	bool found = false;

	if (!r->cfi || dwarf_cfi_addrframe(r->cfi, addr, &frame) != 0)
		return false;
	if (dwarf_frame_cfa(frame, &ops, &nr) == 0 && nr == 1) {
		found = true;
		if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
			*reg = ops[0].atom - DW_OP_breg0;
			*offset = (int64_t)ops[0].number;
		} else if (ops[0].atom == DW_OP_bregx) {
			*reg = ops[0].number < STEP_REGISTERS ? (int)ops[0].number : -1;
			*offset = (int64_t)ops[0].number2;
		} else {
			found = false;
		}
	}
	free(frame);
	return found;
}

static bool access_has_prefix(const char *name, const char *prefix)
{
	return name && !strncmp(name, prefix, strlen(prefix));
}

/* Note where the module's symbols are that may be functions of the runtime.  False: not known. */
static bool access_list_hooks(struct access_reading *r)
{
	Dwfl_Module *module = r->m->file.dwfl_module;
	int nr = dwfl_module_getsymtab(module), i;
	GElf_Addr addr;
	GElf_Sym sym;

	for (i = 0; i < nr; i++) {
		const char *name = dwfl_module_getsym_info(module, i, &sym, &addr, NULL, NULL,
							   NULL);

		if ((access_has_prefix(name, "__tsan_") || access_has_prefix(name, "__wrap_")) &&
		    u64map_put(&r->a->hooks, addr, 1) < 0)
			return false;
	}
	return nr >= 0;
}

/*
 * True if @addr may be a function of the runtime.  Most calls are of other functions: to ask libdw
 * for the symbol of each would take a search through all symbols.
 */
static bool access_is_hook(struct access_reading *r, uint64_t addr)
{
	uint64_t *listed = u64map_at(&r->a->listed, (uintptr_t)r->m);

	if (!listed)
		return true;
	if (!*listed)
		*listed = access_list_hooks(r) ? 1 : 2;
	return *listed == 2 || u64map_get(&r->a->hooks, addr, &(uint64_t){ 0 });
}

static enum callee_kind access_callee_kind(const char *name)
{
	static const struct {
		const char *part;
		enum callee_kind kind;
	} names[] = { { "memcpy", CALLEE_COPY },
		      { "memmove", CALLEE_COPY },
		      { "memset", CALLEE_RANGE },
		      { "_range", CALLEE_RANGE } };
	bool is_hook = access_has_prefix(name, "__tsan_");
	size_t i;

	if (!is_hook && !access_has_prefix(name, "__wrap_"))
		return CALLEE_OTHER;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strstr(name, names[i].part))
			return names[i].kind;
	}
	return is_hook && strcmp(name, "__tsan_func_entry") != 0 ? CALLEE_ACCESS : CALLEE_OTHER;
}

static enum callee_kind access_callee(struct access_reading *r, uint64_t target)
{
	uint64_t *known = u64map_at(&r->a->callees, target + r->bias);
	GElf_Off offset = 1;
	GElf_Sym sym;
	const char *name;

	if (!known) {
		r->a->no_memory = true;
		return CALLEE_OTHER;
	}
	if (!*known && !access_is_hook(r, target + r->bias))
		*known = CALLEE_OTHER;
	if (!*known) {
		name = module_file_symbol(&r->m->file, target + r->bias, &offset, &sym);
		*known = access_callee_kind(offset ? NULL : name);
	}
	return (enum callee_kind) * known;
}

static void access_note(struct access_types *a, struct u64map *map, uint64_t pc,
			const struct flow_target *target, bool is_exact)
{
	const struct pointee *of = pointee_get(&a->pointees, target->pointee);
	struct access_type *found;

	if (a->nr == a->room) {
		size_t room = a->room ? a->room * 2 : 256;
		void *more = realloc(a->found, room * sizeof(struct access_type *));

		if (!more) {
			a->no_memory = true;
			return;
		}
		a->found = more;
		a->room = room;
	}
	found = malloc(sizeof(*found));
	if (!found || u64map_put(map, pc, a->nr + 1) < 0) {
		free(found);
		a->no_memory = true;
		return;
	}
	*found = (struct access_type){ .offset = target->offset };
	if (of) {
		found->is_record = of->is_record;
		found->is_exact = is_exact;
		found->is_indexed = target->is_indexed;
		found->type = pointee_type(&a->pointees, target->pointee);
	}
	a->found[a->nr++] = found;
}

static void access_each_call(void *arg, uint64_t addr, uint64_t target,
			     const struct flow_target targets[2])
{
	struct access_reading *r = arg;
	enum callee_kind kind = target ? access_callee(r, target) : CALLEE_OTHER;

	if (kind == CALLEE_OTHER)
		return;
	access_note(r->a, &r->a->by_pc, addr + r->bias, &targets[0], kind == CALLEE_ACCESS);
	if (kind == CALLEE_COPY)
		access_note(r->a, &r->a->by_copy, addr + r->bias, &targets[1], false);
}

/* ---- reading a function ---------------------------------------------------------- */

static int parts_by_start(const void *a, const void *b)
{
	const struct types_span *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static bool access_decode(const struct access_reading *r, Dwarf_Die *function, unsigned machine,
			  struct code_steps *steps)
{
	struct types_span parts[FUNCTION_PARTS];
	Dwarf_Addr base, start, end;
	ptrdiff_t pos = 0;
	size_t nr = 0, i;

	while (nr < FUNCTION_PARTS && (pos = dwarf_ranges(function, pos, &base, &start, &end)) > 0)
		parts[nr++] = (struct types_span){ start, end };
	qsort(parts, nr, sizeof(parts[0]), parts_by_start);
	for (i = 0; i < nr; i++) {
		uint64_t size = parts[i].end - parts[i].start;
		const uint8_t *code = size && size <= FUNCTION_MAX
					      ? access_code(r->m->file.dwfl_module, parts[i].start,
							    parts[i].end)
					      : NULL;

		if (!code || !code_decode(steps, machine, code, size, parts[i].start))
			return false;
	}
	return nr > 0;
}

static void access_read_function(struct access_types *a, struct types_module *m, uint64_t bias,
				 struct types_function *f)
{
	struct access_reading r = { .a = a, .m = m, .bias = bias };
	unsigned machine = access_machine(m->file.dwfl_module);
	struct variable_ranges ranges = { 0 };
	struct code_steps steps = { 0 };
	Dwarf_Die die = f->die;
	Dwarf_Addr entry = f->start, cfi_bias;
	struct flow_input in = {
		.steps = &steps,
		.machine = code_machine(machine),
		.ranges = &ranges,
		.pointees = &a->pointees,
		.arg = &r,
		.result_of = access_result_of,
		.variable_at = access_variable_at,
		.frame_at = access_frame_at,
		.each_call = access_each_call,
	};

	if (!in.machine) {
		types_say(a->types,
			  "the disassembler (libcapstone) is missing, or does not know the "
			  "program's machine: heap blocks without annotations have no types");
		return;
	}
	r.cfi = dwfl_module_eh_cfi(m->file.dwfl_module, &cfi_bias);
	dwarf_entrypc(&die, &entry);
	in.entry = entry;
	in.has_handlers = die_is_cxx(&die);
	if (access_decode(&r, &die, machine, &steps) &&
	    variable_ranges_read(&ranges, &a->pointees, &die) == 0)
		value_flow_run(&in);
	variable_ranges_release(&ranges);
	code_steps_release(&steps);
}

/* Read the function that contains @pc, with all its parts, once. */
static void access_read(struct access_types *a, uint64_t pc)
{
	struct types_module *m = types_ready_module(a->types, pc - 1);
	struct types_function *f;
	Dwarf_Addr bias = 0;
	size_t i;
	int before;

	if (!m || !m->nr_functions || !dwfl_module_getdwarf(m->file.dwfl_module, &bias))
		return;
	f = types_function_at(m, pc - 1 - bias);
	if (!f || f->is_seen)
		return;
	for (i = 0; i < m->nr_functions; i++) {
		if (m->functions[i].die.addr == f->die.addr)
			m->functions[i].is_seen = true;
	}
	before = memory_shortage_watch();
	access_read_function(a, m, bias, f);
	memory_shortage_check(before);
}

static struct access_type *access_get(const struct access_types *a, const struct u64map *map,
				      uint64_t pc)
{
	uint64_t index;

	if (!u64map_get(map, pc, &index))
		return NULL;
	return a->found[index - 1]->type ? a->found[index - 1] : NULL;
}

struct access_type *access_types_find(struct access_types *a, uint64_t pc, bool is_write)
{
	struct access_cache *c = &a->cache[pc * UINT64_C(0x9e3779b97f4a7c15) >> (64 - ACCESS_BITS)];
	struct access_type *first, *second;

	if (!pc)
		return NULL;
	if (c->pc != pc) {
		access_read(a, pc);
		first = access_get(a, &a->by_pc, pc);
		second = access_get(a, &a->by_copy, pc);
		*c = (struct access_cache){ pc, { second, first } };
		/* Only copies have a second argument that is accessed. */
		if (!u64map_get(&a->by_copy, pc, &(uint64_t){ 0 }))
			c->found[0] = first;
	}
	return c->found[is_write];
}

/* The same without an answer that is kept. */
static bool access_finds_field(const struct types *t, const struct access_type *found,
			       uint32_t size)
{
	uint64_t end;

	return !found->is_record || !types_get(t, found->type)->nr_leaves ||
	       types_leaf_at(t, found->type, found->offset, size, &end) != LEAF_PADDING;
}

bool access_tells_field(const struct types *t, struct access_type *found, uint32_t size)
{
	uint8_t bit;

	if (!found || !found->is_exact)
		return false;
	if (!size || size & (size - 1) || size > 128)
		return access_finds_field(t, found, size);
	bit = (uint8_t)size;
	if (!(found->told & bit)) {
		found->told |= bit;
		if (access_finds_field(t, found, size))
			found->tells |= bit;
	}
	return found->tells & bit;
}

void access_types_free(struct access_types *a)
{
	size_t i;

	if (!a)
		return;
	for (i = 0; i < a->nr; i++)
		free(a->found[i]);
	free(a->found);
	u64map_release(&a->by_pc);
	u64map_release(&a->by_copy);
	u64map_release(&a->callees);
	u64map_release(&a->hooks);
	u64map_release(&a->listed);
	u64map_release(&a->results);
	pointees_release(&a->pointees);
	free(a->cache);
	free(a);
}
