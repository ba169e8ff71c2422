/* SPDX-License-Identifier: MIT */
/* rust_waits.c - the table of known futures. */
#include "symbols/rust_waits.h"

#include <dwarf.h>
#include <string.h>

#include "symbols/rust_dies.h"

#define WAIT_STEPS_MAX 8

/* A path that begins so is of that kind; the outermost future that is known decides. */
static const struct {
	const char *path, *kind;
} kinds[] = {
	{ "tokio::time::", "timer" },
	{ "tokio::sync::mutex::", "lock" },
	{ "tokio::sync::rwlock::", "lock" },
	{ "tokio::sync::mpsc::", "channel" },
	{ "tokio::sync::oneshot::", "channel" },
	{ "tokio::sync::broadcast::", "channel" },
	{ "tokio::sync::watch::", "channel" },
	{ "tokio::sync::notify::", "notify" },
	{ "tokio::sync::semaphore::", "semaphore" },
	{ "tokio::sync::batch_semaphore::", "semaphore" },
	{ "tokio::sync::barrier::", "barrier" },
	{ "tokio::runtime::task::join::", "task" },
	{ "tokio::task::join_set::", "task" },
	{ "tokio::process::", "child" },
	{ "tokio::net::", "descriptor" },
	{ "tokio::io::", "descriptor" },
	{ "tokio::runtime::io::", "descriptor" },
};

static const struct {
	const char *path, *member;
} wrappers[] = {
	{ "core::pin::Pin", "" },
	{ "alloc::boxed::Box", "" },
	{ "core::future::from_generator::GenFuture", "" }, /* rustc before 1.69 */
	{ "tokio::time::timeout::Timeout", "value" },
	{ "tokio::task::coop::Coop", "fut" },
	{ "tokio::task::coop::unconstrained::Unconstrained", "inner" },
	{ "tracing::instrument::Instrumented", "inner" },
};

void rust_wait_note(struct rust_wait *wait, const char *path)
{
	size_t i;

	for (i = 0; path && !wait->kind && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (!strncmp(path, kinds[i].path, strlen(kinds[i].path))) {
			wait->kind = kinds[i].kind;
			wait->type = path;
		}
	}
}

const char *rust_wait_follows(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++) {
		if (!strcmp(path, wrappers[i].path))
			return wrappers[i].member;
	}
	return NULL;
}

/* The scalar in nested structs of one member each. */
static bool wait_scalar(Dwarf_Die *type, uint64_t *addr, uint32_t *size)
{
	int step;

	for (step = 0; step < WAIT_STEPS_MAX; step++) {
		uint32_t at;
		Dwarf_Die inner;

		if (dwarf_tag(type) != DW_TAG_structure_type) {
			*size = rust_die_size(type);
			return *size && *size <= 8;
		}
		if (!rust_die_first_member(type, &inner, &at))
			return false;
		*addr += at;
		*type = inner;
	}
	return false;
}

static bool wait_member(Dwarf_Die *in, const char *name, uint64_t addr, rust_reader read, void *arg,
			uint64_t *value)
{
	Dwarf_Die type;
	uint32_t at, size;

	*value = 0;
	if (!rust_die_member(in, name, &type, &at))
		return false;
	addr += at;
	return wait_scalar(&type, &addr, &size) && read(arg, addr, value, size);
}

/* std's Instant is a struct in a struct, as deep as the platform has it. */
static void wait_read_deadline(struct rust_wait *wait, Dwarf_Die *sleep, uint64_t addr,
			       rust_reader read, void *arg)
{
	uint64_t seconds, nanoseconds;
	Dwarf_Die type, inner;
	uint32_t at;
	int step;

	if (!rust_die_member(sleep, "deadline", &type, &at))
		return;
	for (step = 0; step < WAIT_STEPS_MAX; step++) {
		addr += at;
		if (wait_member(&type, "tv_sec", addr, read, arg, &seconds) &&
		    wait_member(&type, "tv_nsec", addr, read, arg, &nanoseconds) &&
		    nanoseconds < 1000000000) {
			wait->has_deadline = true;
			wait->seconds = (int64_t)seconds;
			wait->nanoseconds = (uint32_t)nanoseconds;
			return;
		}
		if (!rust_die_first_member(&type, &inner, &at))
			return;
		type = inner;
	}
}

void rust_wait_read(struct rust_wait *wait, Dwarf_Die *type, const char *path, uint64_t addr,
		    rust_reader read, void *arg)
{
	uint32_t size;

	if (!strcmp(path, "tokio::time::sleep::Sleep"))
		wait_read_deadline(wait, type, addr, read, arg);
	else if (!strcmp(path, "tokio::runtime::task::join::JoinHandle") &&
		 wait_scalar(type, &addr, &size) && size == 8)
		read(arg, addr, &wait->object, 8);
}
