/* SPDX-License-Identifier: MIT */
/* described_types.c - resolve the members of described types, and read objects of them. */
#include "symbols/described_types.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define TYPE_PATH_MAX   2048
#define QUEUE_MAX       1000000
#define WAITER_SIZE_MAX 512
#define LOW_ADDRESS     4096 /* smaller values are marks, not pointers */

struct described_types {
	const struct type_rules *rules;
	struct described_type **list;
	size_t nr;
	struct u64map
		by_die[RULE_THROUGH + 1]; /* address of a type's DIE: 1 + number, or 1 << 32 */
};

#define NOT_DESCRIBED ((uint64_t)1 << 32)

struct described_types *described_types_new(const struct type_rules *rules)
{
	struct described_types *types = calloc(1, sizeof(*types));

	if (types)
		types->rules = rules;
	return types;
}

/* ---- members ------------------------------------------------------------------------ */

/*
 * The members of @line in @type.  @waiter, may be NULL: the type of an awaiter, where the queue of
 * a resource has no type of its own.
 */
static bool described_resolve(struct described_line *out, const struct rule_line *line,
			      Dwarf_Die *type, Dwarf_Die *waiter, Dwarf_Die *target)
{
	bool is_pointer;

	*out = (struct described_line){ .rule = line };
	if (!member_path_resolve(&out->path, type, line->path, line->key != RULE_OBJECT, target))
		return false;
	if (!line->next)
		return true;
	is_pointer = out->path.end == MEMBER_POINTER;
	return (is_pointer && member_path_resolve(&out->next, target, line->next, true, NULL)) ||
	       (waiter && member_path_resolve(&out->next, waiter, line->next, true, NULL));
}

/* True if @type already has a line of that key: further ones are for other versions. */
static bool described_has(const struct described_type *type, enum rule_key key)
{
	size_t i;

	for (i = 0; i < type->nr_lines; i++) {
		if (type->lines[i].rule->key == key)
			return key != RULE_WHILE && key != RULE_QUEUE;
	}
	return false;
}

static struct described_type *described_make(struct described_types *types,
					     const struct type_rule *rule, const char *path,
					     Dwarf_Die *die, Dwarf_Die *waiter)
{
	struct described_type *made = calloc(1, sizeof(*made));
	struct described_type **more;
	Dwarf_Word size = 0;
	Dwarf_Die target;
	size_t i;

	more = reallocarray(types->list, types->nr + 1, sizeof(struct described_type *));
	if (more)
		types->list = more;
	if (!made || !more || !(made->name = strdup(path)) ||
	    !(made->lines = calloc(rule->nr_lines + 1, sizeof(*made->lines)))) {
		free(made ? made->name : NULL);
		free(made);
		return NULL;
	}
	types->list[types->nr++] = made;
	made->rule = rule;
	if (dwarf_aggregate_size(die, &size) == 0 && size <= UINT32_MAX)
		made->size = (uint32_t)size;
	for (i = 0; i < rule->nr_lines; i++) {
		struct described_line *line = &made->lines[made->nr_lines];

		if (described_has(made, rule->lines[i].key) ||
		    !described_resolve(line, &rule->lines[i], die, waiter, &target))
			continue;
		made->nr_lines++;
		if (line->rule->key == RULE_OBJECT) {
			char name[TYPE_PATH_MAX];
			const struct type_rule *of = NULL;

			if (member_type_path(&target, name, sizeof(name)))
				of = type_rules_find(types->rules, RULE_RESOURCE, name);
			if (of)
				made->resource = described_make(types, of, name, &target, die);
		}
	}
	return made;
}

const struct described_type *described_types_at(struct described_types *types, enum rule_role role,
						const char *path, Dwarf_Die *members)
{
	uint64_t *slot = u64map_at(&types->by_die[role], (uint64_t)(uintptr_t)members->addr);
	const struct type_rule *rule;
	size_t before;

	if (!slot)
		return NULL;
	if (!*slot) {
		*slot = NOT_DESCRIBED;
		rule = type_rules_find(types->rules, role, path);
		before = types->nr;
		if (rule && described_make(types, rule, path, members, NULL))
			*slot = before + 1;
	}
	return *slot == NOT_DESCRIBED ? NULL : types->list[*slot - 1];
}

const struct described_type *described_types_find(struct described_types *types,
						  enum rule_role role, Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);
	char path[TYPE_PATH_MAX];
	uint64_t known;

	if (!name || !type_rules_have_name(types->rules, role, name, strcspn(name, "<")))
		return NULL;
	if (u64map_get(&types->by_die[role], (uint64_t)(uintptr_t)type->addr, &known) &&
	    known == NOT_DESCRIBED)
		return NULL;
	if (!member_type_path(type, path, sizeof(path)))
		return NULL;
	return described_types_at(types, role, path, type);
}

/* ---- values --------------------------------------------------------------------------- */

bool described_value_read(const struct described_type *type, uint64_t addr, memory_reader read,
			  void *arg, struct described_value *out)
{
	size_t i;

	*out = (struct described_value){ .type = type, .addr = addr, .fd = -1 };
	for (i = 0; i < type->nr_lines; i++) {
		const struct described_line *line = &type->lines[i];
		uint64_t value = 0;

		if (line->rule->key == RULE_DEADLINE) {
			out->has_deadline = member_path_read_time(&line->path, addr,
								  line->rule->number, read, arg,
								  &out->deadline_ns);
			continue;
		}
		if (!member_path_read(&line->path, addr, read, arg, &value)) {
			if (line->rule->key == RULE_WHILE)
				return false;
			continue;
		}
		if (line->rule->key == RULE_OBJECT) {
			out->object = value;
		} else if (line->rule->key == RULE_TASK) {
			out->task = value;
		} else if (line->rule->key == RULE_WHILE) {
			out->is_over = out->is_over || !rule_line_holds(line->rule, value);
		} else if (line->rule->key == RULE_DESCRIPTOR) {
			out->fd = (int64_t)value >= 0 && value < 1u << 24 ? (int64_t)value : -1;
			out->direction = line->rule->to;
		}
	}
	return true;
}

/* Note the waiters of one queue of the resource at @addr. */
static int described_walk_queue(const struct described_line *line, uint64_t addr, uint64_t first,
				struct described_queues *queues, memory_reader read, void *arg)
{
	uint64_t at = first;
	size_t steps;

	for (steps = 0; at >= LOW_ADDRESS && steps < QUEUE_MAX; steps++) {
		if (u64map_put(&queues->waiters, at, addr) < 0)
			return -ENOMEM;
		if (!line->next.nr || !member_path_read(&line->next, at, read, arg, &at) ||
		    at == first)
			break;
	}
	return 0;
}

/* Read the queues of the resource at @addr, if that was not done before. */
static int described_read_queues(const struct described_type *type, uint64_t addr,
				 struct described_queues *queues, memory_reader read, void *arg)
{
	uint64_t value;
	size_t i;
	int rc = 0;

	if (u64map_get(&queues->resources, addr, &value))
		return 0;
	for (i = 0; !rc && i < type->nr_lines; i++) {
		const struct described_line *line = &type->lines[i];

		if (line->rule->key == RULE_QUEUE &&
		    member_path_read(&line->path, addr, read, arg, &value))
			rc = described_walk_queue(line, addr, value, queues, read, arg);
	}
	return rc ? rc : u64map_put(&queues->resources, addr, 1);
}

/* A queue may link a part of the waiter, for example its base class. */
static bool described_is_queued(const struct described_value *waiter,
				const struct described_queues *queues)
{
	uint64_t offset = 0, resource;

	do {
		if (u64map_get(&queues->waiters, waiter->addr + offset, &resource) &&
		    resource == waiter->object)
			return true;
		offset += 8;
	} while (offset < waiter->type->size && offset < WAITER_SIZE_MAX);
	return false;
}

int described_resource_read(const struct described_value *waiter, struct described_queues *queues,
			    memory_reader read, void *arg, struct described_resource *out)
{
	const struct described_type *type = waiter->type->resource;
	uint64_t value = 0;
	size_t i;
	int rc = 0;

	*out = (struct described_resource){ 0 };
	for (i = 0; type && waiter->object && !rc && i < type->nr_lines; i++) {
		const struct described_line *line = &type->lines[i];

		if (!member_path_read(&line->path, waiter->object, read, arg, &value))
			continue;
		if (line->rule->key == RULE_HELD) {
			out->has_state = true;
			out->is_held = rule_line_holds(line->rule, value);
		} else if (line->rule->key == RULE_HOLDER) {
			out->has_holder = true;
			out->holder = value;
		} else if (line->rule->key == RULE_QUEUE && !out->has_queue) {
			out->has_queue = true;
			rc = described_read_queues(type, waiter->object, queues, read, arg);
			out->is_queued = !rc && described_is_queued(waiter, queues);
		}
	}
	return rc;
}

void described_queues_release(struct described_queues *queues)
{
	u64map_release(&queues->resources);
	u64map_release(&queues->waiters);
}

void described_types_free(struct described_types *types)
{
	size_t i;

	if (!types)
		return;
	for (i = 0; i < types->nr; i++) {
		free(types->list[i]->name);
		free(types->list[i]->lines);
		free(types->list[i]);
	}
	for (i = 0; i < sizeof(types->by_die) / sizeof(types->by_die[0]); i++)
		u64map_release(&types->by_die[i]);
	free(types->list);
	free(types);
}
