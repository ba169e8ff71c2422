/* SPDX-License-Identifier: MIT */
/* fault_stacks.c - tell the calls of a program apart by their call stacks. */
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fault_stacks.h"

#define ALL_FRAMES 64

static uint64_t exe_base, exe_size;

/* The first object is the executable. */
static int find_exe(struct dl_phdr_info *info, size_t size, void *arg)
{
	int i;

	(void)size;
	(void)arg;
	exe_base = info->dlpi_addr;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *head = &info->dlpi_phdr[i];

		if (head->p_type == PT_LOAD && head->p_vaddr + head->p_memsz > exe_size)
			exe_size = head->p_vaddr + head->p_memsz;
	}
	return 1;
}

void fault_stacks_prepare(void)
{
	void *one;

	dl_iterate_phdr(find_exe, NULL);
	backtrace(&one, 1); /* loads the unwinder */
}

static uint32_t frames_of_exe(uint64_t *frames)
{
	void *all[ALL_FRAMES];
	int i, nr_all = backtrace(all, ALL_FRAMES);
	uint32_t nr = 0;

	for (i = 0; i < nr_all && nr < FAULT_FRAMES; i++) {
		uint64_t offset = (uint64_t)(uintptr_t)all[i] - exe_base;

		if (offset < exe_size)
			frames[nr++] = offset;
	}
	return nr;
}

static uint64_t hash_frames(uint32_t call, const uint64_t *frames, uint32_t nr)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ call;
	uint32_t i;

	for (i = 0; i < nr; i++)
		hash = ((hash * UINT64_C(1099511628211)) ^ (hash >> 29)) + frames[i];
	return hash ? hash : 1;
}

uint64_t fault_stack_id(uint32_t call)
{
	uint64_t frames[FAULT_FRAMES];

	return hash_frames(call, frames, frames_of_exe(frames));
}

/* The slot of @id, new or not; NULL: the table is full. */
static struct fault_stack *stack_slot(struct fault_stack *table, uint64_t id, int *is_new)
{
	uint64_t i, none = 0;

	*is_new = 0;
	for (i = 0; i < FAULT_STACKS; i++) {
		struct fault_stack *slot = &table[(id + i) % FAULT_STACKS];

		none = 0;
		*is_new = __atomic_compare_exchange_n(&slot->id, &none, id, 0, __ATOMIC_RELAXED,
						      __ATOMIC_RELAXED);
		if (*is_new || none == id)
			return slot;
	}
	return NULL;
}

void fault_stack_note(struct fault_stack *table, uint32_t call)
{
	uint64_t frames[FAULT_FRAMES];
	uint32_t i, nr = frames_of_exe(frames);
	int is_new;
	struct fault_stack *slot = stack_slot(table, hash_frames(call, frames, nr), &is_new);

	if (!slot)
		return;
	__atomic_add_fetch(&slot->count, 1, __ATOMIC_RELAXED);
	if (!is_new)
		return;
	slot->call = call;
	slot->nr_frames = nr;
	for (i = 0; i < nr; i++)
		slot->frames[i] = frames[i];
}

static int is_c_library(const char *name)
{
	static const char *const names[] = { "libc.", "ld-", "libpthread.", "linux-vdso",
					     "libgcc_s" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strncmp(name, names[i], strlen(names[i])))
			return 1;
	}
	return 0;
}

void fault_stack_owner(char *name, unsigned size)
{
	void *all[ALL_FRAMES];
	int i, nr = backtrace(all, ALL_FRAMES);
	Dl_info here, info;

	name[0] = 0;
	if (!dladdr((void *)(uintptr_t)fault_stack_owner, &here))
		return;
	for (i = 0; i < nr; i++) {
		const char *file, *slash;

		if (!dladdr(all[i], &info) || info.dli_fbase == here.dli_fbase || !info.dli_fname)
			continue;
		slash = strrchr(info.dli_fname, '/');
		file = slash ? slash + 1 : info.dli_fname;
		if (is_c_library(file))
			continue;
		snprintf(name, size, "%s", file);
		return;
	}
}
