/* SPDX-License-Identifier: MIT */
/* rust_resources.c - find the descriptor and the time limit of a future of Tokio. */
#include "symbols/rust_resources.h"

#include <dwarf.h>
#include <string.h>

#include "symbols/rust_dies.h"
#include "symbols/rust_waits.h"

#define SEARCH_DEPTH 12
#define FD_MAX       (1 << 24)

/* ---- which types lead to a descriptor --------------------------------------------------- */

static bool resource_is_evented(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name && dwarf_tag(type) == DW_TAG_structure_type &&
	       (!strncmp(name, "PollEvented<", 12) || !strncmp(name, "AsyncFd<", 8));
}

static bool resource_leads(const struct rust_resources *r, Dwarf_Die *type, int depth);

struct resource_test {
	const struct rust_resources *r;
	int depth;
};

static bool resource_test_member(void *arg, Dwarf_Die *type)
{
	const struct resource_test *t = arg;

	return resource_leads(t->r, type, t->depth);
}

static bool resource_leads(const struct rust_resources *r, Dwarf_Die *type, int depth)
{
	struct resource_test test = { r, depth - 1 };
	Dwarf_Die target;
	uint64_t *known;
	bool does;

	if (depth <= 0)
		return false;
	if (dwarf_tag(type) == DW_TAG_pointer_type)
		return rust_die_target(r->layouts, type, &target) &&
		       resource_leads(r, &target, depth - 1);
	if (dwarf_tag(type) != DW_TAG_structure_type)
		return false;
	known = u64map_at(r->without, (uint64_t)(uintptr_t)type->addr);
	if (!known || *known)
		return known && *known == 2;
	*known = 1; /* while it is searched: a type may contain a pointer to itself */
	does = resource_is_evented(type) ||
	       rust_layout_any(rust_layout_find(r->layouts, type), resource_test_member, &test);
	known = u64map_at(r->without, (uint64_t)(uintptr_t)type->addr);
	if (known)
		*known = does ? 2 : 1;
	return does;
}

/* ---- the descriptor in a socket ------------------------------------------------------------ */

struct resource_visit {
	const struct rust_resources *r;
	bool (*visit)(struct resource_visit *v, Dwarf_Die *type, uint64_t addr, int depth);
	struct rust_wait *wait;
	unsigned nr; /* different descriptors that were found */
};

/* All members, or those of the current variant.  False: stop. */
static bool resource_members(struct resource_visit *v, Dwarf_Die *type, uint64_t addr, int depth)
{
	const struct rust_layout *layout = rust_layout_find(v->r->layouts, type);
	uint64_t value = 0;
	Dwarf_Die inner;
	size_t i;

	if (layout->has_variants) {
		const struct rust_variant *variant;

		if (!v->r->read(v->r->arg, addr + layout->selector_offset, &value,
				layout->selector_size))
			return true;
		variant = rust_die_variant(layout, value);
		if (!variant || !variant->has_type)
			return true;
		inner = variant->type;
		layout = rust_layout_find(v->r->layouts, &inner);
	}
	for (i = 0; i < layout->nr; i++) {
		inner = layout->members[i].type;
		if (!v->visit(v, &inner, addr + layout->members[i].offset, depth - 1))
			return false;
	}
	return true;
}

/* The first `int` is the descriptor. */
static bool resource_visit_number(struct resource_visit *v, Dwarf_Die *type, uint64_t addr,
				  int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;
	int32_t fd = -1;

	if (dwarf_tag(type) == DW_TAG_structure_type)
		return depth <= 0 || resource_members(v, type, addr, depth);
	if (dwarf_tag(type) != DW_TAG_base_type || rust_die_size(type) != 4 ||
	    dwarf_formudata(dwarf_attr(type, DW_AT_encoding, &attr), &encoding) != 0 ||
	    encoding != DW_ATE_signed)
		return true;
	if (v->r->read(v->r->arg, addr, &fd, 4) && fd >= 0 && fd < FD_MAX)
		v->wait->fd = fd;
	return false;
}

/* True if the Option<Waker> with that name is a waker of the task. */
static bool resource_has_waker(const struct rust_resources *r, Dwarf_Die *waiters, uint64_t addr,
			       const char *name)
{
	uint64_t words[2];
	Dwarf_Die type;
	uint32_t at;

	return r->task && rust_die_member(r->layouts, waiters, name, &type, &at) &&
	       rust_die_size(&type) == 16 && r->read(r->arg, addr + at, words, sizeof(words)) &&
	       (words[0] == r->task || words[1] == r->task);
}

static void resource_read_wakers(const struct rust_resources *r, struct rust_wait *wait,
				 Dwarf_Die *io)
{
	Dwarf_Die waiters;
	uint32_t at = 0;

	if (!rust_die_inside(r->layouts, io, "Waiters", &waiters, &at))
		return;
	wait->is_read = resource_has_waker(r, &waiters, wait->io + at, "reader");
	wait->is_write = resource_has_waker(r, &waiters, wait->io + at, "writer");
	wait->is_registered = wait->is_read || wait->is_write;
}

/* The ScheduledIo that a registration shares with the driver. */
static void resource_read_io(const struct rust_resources *r, struct rust_wait *wait,
			     Dwarf_Die *evented, uint64_t addr)
{
	Dwarf_Die registration, shared, inner, target;
	uint32_t at, inside, offset = 0;
	int step;

	if (!rust_die_member(r->layouts, evented, "registration", &registration, &at) ||
	    !rust_die_member(r->layouts, &registration, "shared", &shared, &inside))
		return;
	addr += at + inside;
	for (step = 0; step < SEARCH_DEPTH && dwarf_tag(&shared) == DW_TAG_structure_type; step++) {
		if (!rust_die_first_member(r->layouts, &shared, &inner, &at))
			return;
		addr += at;
		shared = inner;
	}
	if (dwarf_tag(&shared) == DW_TAG_pointer_type &&
	    rust_die_target(r->layouts, &shared, &target) &&
	    rust_die_inside(r->layouts, &target, "ScheduledIo", &inner, &offset) &&
	    r->read(r->arg, addr, &wait->io, 8) && wait->io) {
		wait->io += offset;
		resource_read_wakers(r, wait, &inner);
	}
}

static void resource_read_evented(const struct rust_resources *r, struct rust_wait *wait,
				  Dwarf_Die *type, uint64_t addr)
{
	struct resource_visit v = { .r = r, .visit = resource_visit_number, .wait = wait };
	Dwarf_Die inner;
	uint32_t at;

	if (rust_die_member(r->layouts, type, "io", &inner, &at) ||
	    rust_die_member(r->layouts, type, "inner", &inner, &at))
		resource_visit_number(&v, &inner, addr + at, SEARCH_DEPTH);
	resource_read_io(r, wait, type, addr);
}

/* ---- the sockets in a future --------------------------------------------------------------- */

static bool resource_visit_socket(struct resource_visit *v, Dwarf_Die *type, uint64_t addr,
				  int depth)
{
	Dwarf_Die target;

	if (depth <= 0 || !resource_leads(v->r, type, depth))
		return true;
	if (dwarf_tag(type) == DW_TAG_pointer_type)
		return !rust_die_target(v->r->layouts, type, &target) ||
		       !v->r->read(v->r->arg, addr, &addr, 8) || !addr ||
		       resource_visit_socket(v, &target, addr, depth - 1);
	if (!resource_is_evented(type))
		return resource_members(v, type, addr, depth);
	if (v->nr) {
		struct rust_wait other = { .fd = -1 };

		resource_read_evented(v->r, &other, type, addr);
		v->nr += other.fd != v->wait->fd;
		return v->nr < 2;
	}
	resource_read_evented(v->r, v->wait, type, addr);
	v->nr = v->wait->fd >= 0;
	return true;
}

/* The descriptor that an object leads to; nothing if there are several. */
static void resource_search(const struct rust_resources *r, struct rust_wait *wait, Dwarf_Die *type,
			    uint64_t addr)
{
	struct rust_wait found = { .fd = -1 };
	struct resource_visit v = { .r = r, .visit = resource_visit_socket, .wait = &found };

	resource_visit_socket(&v, type, addr, SEARCH_DEPTH);
	if (v.nr != 1)
		return;
	wait->fd = found.fd;
	wait->io = found.io;
	wait->is_registered = found.is_registered;
	wait->is_read = found.is_read;
	wait->is_write = found.is_write;
}

void rust_resources_note(const struct rust_resources *r, struct rust_wait *wait, const char *path,
			 Dwarf_Die *variant, uint64_t addr)
{
	Dwarf_Die type;
	uint32_t at;

	if (wait->fd >= 0 ||
	    (strncmp(path, "tokio::net::", 12) != 0 && strncmp(path, "tokio::io::", 11) != 0) ||
	    !rust_die_member(r->layouts, variant, "self", &type, &at))
		return;
	resource_search(r, wait, &type, addr + at);
}

/* Which readiness the waiter in a Readiness asks for: bit 0 to read, bit 1 to write. */
static void resource_read_interest(const struct rust_resources *r, struct rust_wait *wait,
				   Dwarf_Die *readiness, uint64_t addr)
{
	Dwarf_Die waiter, interest, type;
	uint32_t offset = 0, at, size;
	uint64_t value = 0;

	if (rust_die_member(r->layouts, readiness, "scheduled_io", &type, &at) &&
	    dwarf_tag(&type) == DW_TAG_pointer_type)
		r->read(r->arg, addr + at, &wait->io, 8);
	if (!rust_die_inside(r->layouts, readiness, "Waiter", &waiter, &offset) ||
	    !rust_die_member(r->layouts, &waiter, "interest", &interest, &at))
		return;
	offset += at;
	if (!rust_die_scalar(r->layouts, &interest, &offset, &size) ||
	    !r->read(r->arg, addr + offset, &value, size))
		return;
	wait->is_read = value & 1;
	wait->is_write = value & 2;
	wait->is_registered = true;
}

void rust_resources_read(const struct rust_resources *r, struct rust_wait *wait, Dwarf_Die *type,
			 const char *path, uint64_t addr)
{
	const char *name = strrchr(path, ':');

	name = name ? name + 1 : path;
	if (!strcmp(name, "Readiness")) {
		resource_read_interest(r, wait, type, addr);
	} else if (!strncmp(path, "tokio::io::", 11) || !strncmp(path, "tokio::net::", 12)) {
		if (wait->fd < 0)
			resource_search(r, wait, type, addr);
	}
}

/* ---- time limits --------------------------------------------------------------------------- */

void rust_wait_earlier(struct rust_wait *wait, const struct rust_wait *other)
{
	if (!other->has_deadline ||
	    (wait->has_deadline &&
	     (wait->seconds < other->seconds ||
	      (wait->seconds == other->seconds && wait->nanoseconds <= other->nanoseconds))))
		return;
	wait->has_deadline = true;
	wait->seconds = other->seconds;
	wait->nanoseconds = other->nanoseconds;
}

void rust_resources_limit(const struct rust_resources *r, struct rust_wait *wait, Dwarf_Die *type,
			  const char *path, uint64_t addr)
{
	struct rust_wait limit = { .fd = -1 };
	const struct rust_layout *layout;
	const struct rust_variant *variant;
	Dwarf_Die sleep, payload;
	uint64_t value = 0;
	uint32_t at;

	if (strcmp(path, "tokio::time::timeout::Timeout") != 0 ||
	    !rust_die_member(r->layouts, type, "delay", &sleep, &at))
		return;
	addr += at;
	layout = rust_layout_find(r->layouts, &sleep);
	/* An Option in newer versions; None: no limit. */
	if (layout->has_variants) {
		if (!r->read(r->arg, addr + layout->selector_offset, &value, layout->selector_size))
			return;
		variant = rust_die_variant(layout, value);
		if (!variant || !variant->has_type)
			return;
		payload = variant->type;
		if (!rust_die_first_member(r->layouts, &payload, &sleep, &at))
			return;
		addr += at;
	}
	rust_wait_read_deadline(&limit, &sleep, addr, r->read, r->arg);
	rust_wait_earlier(wait, &limit);
}
