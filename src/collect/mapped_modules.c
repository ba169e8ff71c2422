/* SPDX-License-Identifier: MIT */
/* mapped_modules.c - programs and libraries that a traced process has mapped. */
#include "collect/mapped_modules.h"

#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory_shortage.h"
#include "process/mapped_file.h"
#include "process/process_maps.h"

/* ---- build-ids ----------------------------------------------------------- */

/* NULL: no build-id, or the file cannot be read. */
static char *modules_build_id(uint32_t pid, const struct process_map *map)
{
	int fd = mapped_file_open((pid_t)pid, map);
	char text[BUILD_ID_TEXT], *copy = NULL;
	Elf *elf;

	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF && mapped_file_build_id(elf, text))
		copy = strdup(text);
	elf_end(elf);
	close(fd);
	return copy;
}

/* ---- the list ---------------------------------------------------------------- */

/* *@nr_of_process: all that are known of this process, if @new is not among them. */
static bool modules_is_known(const struct modules *m, const struct sidecar_module *new,
			     size_t *nr_of_process)
{
	size_t i;

	*nr_of_process = 0;
	for (i = 0; i < m->nr; i++) {
		if (m->list[i].pid != new->pid)
			continue;
		if (m->list[i].start == new->start && !strcmp(m->list[i].path, new->path))
			return true;
		++*nr_of_process;
	}
	return false;
}

/* Reuse the build-id of the same mapping of another process, as after fork(); NULL: unknown. */
static char *known_build_id(const struct modules *m, const struct sidecar_module *new)
{
	size_t i;

	for (i = m->nr; i-- > 0;) {
		const struct sidecar_module *old = &m->list[i];

		if (old->start == new->start && old->build_id && !strcmp(old->path, new->path))
			return strdup(old->build_id);
	}
	return NULL;
}

/* @map: a mapping of the module's file. */
static void modules_add(struct modules *m, const struct sidecar_module *new,
			const struct process_map *map)
{
	struct sidecar_module *list = m->list, *at;
	int before;

	if (m->nr == m->room) {
		size_t room = m->room ? m->room * 2 : 32;

		list = realloc(m->list, room * sizeof(*list));
		if (!list) {
			memory_shortage_note();
			return;
		}
		m->list = list;
		m->room = room;
	}
	before = memory_shortage_watch();
	at = &list[m->nr];
	*at = *new;
	at->path = strdup(new->path);
	at->build_id = known_build_id(m, new);
	if (!at->build_id)
		at->build_id = modules_build_id((uint32_t) new->pid, map);
	if (at->path)
		m->nr++;
	else
		free((void *)at->build_id);
	memory_shortage_check(before);
}

/* ---- mappings ------------------------------------------------------------ */

static bool modules_is_file(const struct process_map *map)
{
	return map->path && map->path[0] == '/';
}

/*
 * Consecutive mappings of the same file form one module, from the first to the last.  False: it
 * is left out for lack of room in the list.
 */
static bool modules_add_run(struct modules *m, uint32_t pid, const struct process_map *first,
			    size_t nr)
{
	struct sidecar_module new = {
		.pid = pid, .start = first->start, .end = first[nr - 1].end, .offset = first->offset
	};
	char path[PATH_MAX + sizeof(PROCESS_MAP_DELETED)];
	bool has_code = false;
	size_t i, nr_of_process;

	for (i = 0; i < nr; i++)
		has_code |= first[i].exec && modules_is_file(&first[i]);
	/* With the kernel's suffix: another file may have the name now. */
	snprintf(path, sizeof(path), "%s%s", first->path,
		 first->deleted ? PROCESS_MAP_DELETED : "");
	new.path = path;
	if (!has_code || modules_is_known(m, &new, &nr_of_process))
		return true;
	if (m->nr >= MODULES_MAX || nr_of_process >= MODULES_PER_PROCESS)
		return false;
	modules_add(m, &new, first);
	return true;
}

/* @nr: left out of this reading of the process.  The next reading finds them again. */
static void modules_count_left_out(struct modules *m, uint32_t pid, size_t nr)
{
	uint64_t before = 0;

	u64map_get(&m->left_out_of, pid, &before);
	if (nr <= before)
		return;
	if (u64map_put(&m->left_out_of, pid, nr) < 0)
		memory_shortage_note();
	else
		m->nr_left_out += nr - before;
}

static void modules_add_maps(struct modules *m, uint32_t pid, const struct process_maps *maps)
{
	size_t left_out = 0, from, to;

	for (from = 0; from < maps->nr; from = to) {
		const struct process_map *first = &maps->list[from];
		size_t last = from;

		/* Memory without a name between two parts of a file is a part of it too (.bss). */
		for (to = from + 1; to < maps->nr; to++) {
			if (!modules_is_file(&maps->list[to]))
				continue;
			if (!process_map_same_file(first, &maps->list[to]))
				break;
			last = to;
		}
		if (modules_is_file(first) && !modules_add_run(m, pid, first, last - from + 1))
			left_out++;
	}
	modules_count_left_out(m, pid, left_out);
}

size_t modules_read(struct modules *m, uint32_t pid)
{
	struct process_maps maps;

	if (process_maps_read((pid_t)pid, &maps) == 0) {
		modules_add_maps(m, pid, &maps);
		process_maps_free(&maps);
	}
	return m->nr;
}

void modules_release(struct modules *m)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		free((void *)m->list[i].path);
		free((void *)m->list[i].build_id);
	}
	free(m->list);
	u64map_release(&m->left_out_of);
	*m = (struct modules){ 0 };
}
