/* SPDX-License-Identifier: MIT */
/* suspend_points.c - the lines at which a coroutine suspends, from its code and line table. */
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "symbols/code_sweep.h"
#include "symbols/coroutine_layout.h"

#define POINTS_MAX       4096
#define GCC_INITIAL      2 /* index of the initial suspend point */
#define GCC_FIRST_AWAIT  4
#define CODE_MAX         (1u << 24)
#define LINES_AFTER_CODE 256 /* bytes in which a better line is searched */

struct point_search {
	struct coro_type *type;
	const struct coro_source *source;
	bool any_register; /* also stores whose base may be another object */
	size_t room;
	bool *sure; /* of each point */
};

/* ---- lines ------------------------------------------------------------------- */

/* Compilers give code that they make up the line of the function itself. */
static bool point_is_own_line(const struct coro_type *type, const struct line_found *found)
{
	return type->file && (found->line == type->line || found->line == type->last_line);
}

/* The line of the code at @addr, or of the first code after it that has a line of its own. */
static bool point_line(const struct point_search *s, uint64_t addr, struct line_found *out)
{
	struct line_found later;
	uint64_t at;

	if (!line_index_find_outer(s->source->lines, s->source->module, addr, out))
		return false;
	if (!point_is_own_line(s->type, out))
		return true;
	for (at = addr + 4; at < addr + LINES_AFTER_CODE && at < s->type->code_end; at += 4) {
		if (!line_index_find_outer(s->source->lines, s->source->module, at, &later) ||
		    strcmp(later.file, out->file) != 0)
			break;
		if (!point_is_own_line(s->type, &later)) {
			*out = later;
			break;
		}
	}
	return true;
}

/* ---- points -------------------------------------------------------------------- */

static struct coro_point *point_at(struct coro_type *type, uint64_t index)
{
	size_t i;

	for (i = 0; i < type->nr_points; i++) {
		if (type->points[i].index == index)
			return &type->points[i];
	}
	return NULL;
}

static struct coro_point *point_more(struct point_search *s, uint64_t index)
{
	struct coro_type *type = s->type;

	if (type->nr_points == POINTS_MAX)
		return NULL;
	if (type->nr_points == s->room) {
		size_t room = s->room ? s->room * 2 : 16;
		struct coro_point *points = reallocarray(type->points, room, sizeof(*points));
		bool *sure;

		if (!points)
			return NULL;
		type->points = points;
		sure = reallocarray(s->sure, room, sizeof(*sure));
		if (!sure)
			return NULL;
		s->sure = sure;
		s->room = room;
	}
	s->sure[type->nr_points] = false;
	type->points[type->nr_points] = (struct coro_point){ .index = index };
	return &type->points[type->nr_points++];
}

/* The initial point belongs to no co_await: its line is that of the function. */
static bool point_is_initial(const struct point_search *s, const struct coro_point *point,
			     uint64_t addr)
{
	struct line_found found;

	if (s->type->is_gcc)
		return point->index == GCC_INITIAL;
	if (s->type->starts_suspended || s->type->starts_running)
		return point->index == 0 && s->type->starts_suspended;
	return point->index == 0 &&
	       line_index_find_outer(s->source->lines, s->source->module, addr, &found) &&
	       point_is_own_line(s->type, &found);
}

static void point_set_line(const struct point_search *s, struct coro_point *point, uint64_t addr)
{
	struct line_found found = { .file = s->type->file, .line = s->type->line };
	char path[PATH_MAX];

	point->is_initial = point_is_initial(s, point, addr);
	if (point->is_initial ? !found.file : !point_line(s, addr, &found))
		return;
	path_plain(found.file, path, sizeof(path));
	free(point->file);
	point->file = strdup(path);
	point->line = found.line;
}

static void point_add(void *arg, uint64_t addr, uint64_t value, bool is_frame)
{
	struct point_search *s = arg;
	uint64_t mask = s->type->index_size >= 8 ? UINT64_MAX
						 : (1ull << (s->type->index_size * 8)) - 1;
	struct coro_point *point;
	size_t number;

	value &= mask;
	/* gcc destroys with odd numbers. */
	if ((!is_frame && !s->any_register) || (s->type->is_gcc && (value & 1 || !value)))
		return;
	point = point_at(s->type, value);
	if (point && (s->sure[point - s->type->points] || !is_frame))
		return;
	if (!point)
		point = point_more(s, value);
	if (!point)
		return;
	number = (size_t)(point - s->type->points);
	s->sure[number] = is_frame;
	point->addr = addr;
	point_set_line(s, point, addr);
}

/* ---- code ---------------------------------------------------------------------- */

static bool points_code(Dwfl_Module *module, uint64_t start, uint64_t end, struct code_bytes *out)
{
	GElf_Addr at = start, bias;
	Elf_Scn *section = dwfl_module_address_section(module, &at, &bias);
	GElf_Addr elf_bias;
	Elf *elf = dwfl_module_getelf(module, &elf_bias);
	Elf_Data *data = section ? elf_rawdata(section, NULL) : NULL;
	GElf_Ehdr header;

	if (!data || !data->d_buf || at >= data->d_size || end <= start || end - start > CODE_MAX ||
	    !elf || !gelf_getehdr(elf, &header))
		return false;
	*out = (struct code_bytes){
		.data = (const uint8_t *)data->d_buf + at,
		.size = end - start < data->d_size - at ? end - start : data->d_size - at,
		.addr = start,
		.machine = header.e_machine,
	};
	return true;
}

/* clang: code before the first suspension is in the function that creates the frame. */
static void points_sweep_start(const struct coro_source *source, const struct code_field *field,
			       code_store_handler handler, void *arg)
{
	int nr = dwfl_module_getsymtab(source->module), i;

	for (i = 1; i < nr; i++) {
		struct code_bytes code;
		GElf_Sym sym;
		GElf_Addr addr;
		const char *name = dwfl_module_getsym_info(source->module, i, &sym, &addr, NULL,
							   NULL, NULL);

		if (!name || strcmp(name, source->base) != 0 ||
		    !points_code(source->module, addr, addr + sym.st_size, &code))
			continue;
		code_find_stores(&code, field, handler, arg);
		return;
	}
}

/* gcc names awaiters Aw0, Aw1 ... in the order of the indices. */
static void points_name_gcc(struct coro_type *type)
{
	size_t i, k, awaiters = 0;
	char last[64] = "", prefix[32];

	for (i = 0; i < type->nr_fields; i++) {
		const char *path = type->fields[i].path;
		size_t len = path ? strcspn(path, "_.") : 0;

		if (len < 3 || len >= sizeof(last) || strncmp(path, "Aw", 2) != 0 ||
		    (strlen(last) == len && !strncmp(last, path, len)))
			continue;
		snprintf(last, sizeof(last), "%.*s", (int)len, path);
		awaiters++;
	}
	/* Initial and final point have none; with another number the order is not known. */
	if (!awaiters || awaiters + 2 != type->nr_points)
		return;
	for (k = 0; k < type->nr_points; k++) {
		if (type->points[k].index < GCC_FIRST_AWAIT)
			continue;
		snprintf(prefix, sizeof(prefix), "Aw%llu_",
			 (unsigned long long)(type->points[k].index - GCC_FIRST_AWAIT) / 2);
		for (i = 0; i < type->nr_fields && !type->points[k].awaits; i++) {
			if (type->fields[i].path && type->fields[i].root_type &&
			    !strncmp(type->fields[i].path, prefix, strlen(prefix)))
				type->points[k].awaits = strdup(type->fields[i].root_type);
		}
	}
}

/* A frame can rest at the initial point even if no store of its index was found. */
static void points_add_initial(struct point_search *s)
{
	struct coro_type *type = s->type;
	uint64_t index = type->is_gcc ? GCC_INITIAL : 0;
	struct coro_point *point;

	if (!type->starts_suspended || point_at(type, index) || !type->file)
		return;
	point = point_more(s, index);
	if (!point)
		return;
	point->is_initial = true;
	point->file = strdup(type->file);
	point->line = type->line;
}

void coro_points_read(struct coro_type *type, const struct coro_source *source)
{
	struct point_search s = { .type = type, .source = source };
	struct code_field field = { type->index_offset, type->index_size };
	struct code_bytes code;

	if (!points_code(source->module, type->resume, type->code_end, &code))
		return;
	if (!type->has_index) {
		type->has_index = code_find_index(&code, &field);
		if (!type->has_index)
			return;
		type->index_offset = field.offset;
		type->index_size = field.size;
	}
	code_find_stores(&code, &field, point_add, &s);
	/* Where the sweep lost the frame's register, a store at the same offset is nearly as good.
	 */
	s.any_register = true;
	code_find_stores(&code, &field, point_add, &s);
	if (!type->is_gcc)
		points_sweep_start(source, &field, point_add, &s);
	points_add_initial(&s);
	if (type->is_gcc)
		points_name_gcc(type);
	free(s.sure);
}

/* ---- one store ------------------------------------------------------------------- */

struct store_search {
	struct coro_store *store;
	uint64_t mask; /* of the index */
};

static void store_consider(void *arg, uint64_t addr, uint64_t value, bool is_frame)
{
	const struct store_search *s = arg;
	struct coro_store *store = s->store;

	if ((value & s->mask) != store->index || (store->addr && (store->is_sure || !is_frame)))
		return;
	store->addr = addr;
	store->is_sure = is_frame;
}

/* The register that holds the frame's address at the store. */
static bool store_read_base(const struct coro_source *source, struct coro_store *store)
{
	struct code_bytes code;

	if (!store->addr || !points_code(source->module, store->addr, store->addr + 15, &code))
		return false;
	store->base = code_store_base(&code);
	return true;
}

static void store_take_last(void *arg, uint64_t addr, uint64_t value, bool is_frame)
{
	struct coro_store *store = arg;

	(void)is_frame;
	store->addr = addr;
	store->index = value;
}

bool coro_store_find_start(const struct coro_type *type, const struct coro_source *source,
			   struct coro_store *store)
{
	struct code_field field = { type->index_offset, type->index_size };

	*store = (struct coro_store){ .base = -1 };
	if (type->has_index && !type->is_gcc)
		points_sweep_start(source, &field, store_take_last, store);
	return store_read_base(source, store);
}

bool coro_store_find(const struct coro_type *type, const struct coro_source *source,
		     struct coro_store *store)
{
	struct code_field field = { type->index_offset, type->index_size };
	struct store_search s = {
		.store = store,
		.mask = type->index_size >= 8 ? UINT64_MAX : (1ull << (type->index_size * 8)) - 1,
	};
	struct code_bytes code;

	store->addr = 0;
	store->base = -1;
	if (!type->has_index || !points_code(source->module, type->resume, type->code_end, &code))
		return false;
	code_find_stores(&code, &field, store_consider, &s);
	if (!store->addr && !type->is_gcc)
		points_sweep_start(source, &field, store_consider, &s);
	return store_read_base(source, store);
}
