/* SPDX-License-Identifier: MIT */
/* mapped_modules.c - programs and libraries that a traced process has mapped. */
#include "collect/mapped_modules.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One line of /proc/PID/maps; a path may contain any byte but a newline. */
#define LINE_SIZE (PATH_MAX + 128)

/* ---- build-ids ----------------------------------------------------------- */

static char *hex_of(const uint8_t *bytes, size_t size)
{
	char *text = malloc(size * 2 + 1), *p = text;
	size_t i;

	for (i = 0; text && i < size; i++)
		p += sprintf(p, "%02x", bytes[i]);
	return text;
}

/* NULL: no build-id, or the file cannot be read. */
static char *build_id_of(uint32_t pid, const char *path)
{
	char name[PATH_MAX + 64];
	const void *bytes;
	char *text = NULL;
	ssize_t size;
	Elf *elf;
	int fd;

	/* The path as the process sees it: it may be in a container. */
	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/root%s", pid, path);
	fd = open(name, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (elf && elf_kind(elf) == ELF_K_ELF) {
		size = dwelf_elf_gnu_build_id(elf, &bytes);
		if (size > 0 && size <= 64)
			text = hex_of(bytes, (size_t)size);
	}
	elf_end(elf);
	close(fd);
	return text;
}

/* ---- maps ---------------------------------------------------------------- */

static bool modules_is_known(const struct modules *m, const struct sidecar_module *new)
{
	size_t i;

	for (i = 0; i < m->nr; i++) {
		if (m->list[i].pid == new->pid && m->list[i].start == new->start &&
		    !strcmp(m->list[i].path, new->path))
			return true;
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

static void modules_add(struct modules *m, const struct sidecar_module *new)
{
	struct sidecar_module *list = m->list, *at;

	if (m->nr == m->room) {
		size_t room = m->room ? m->room * 2 : 32;

		if (m->nr >= MODULES_MAX)
			return;
		list = realloc(m->list, room * sizeof(*list));
		if (!list)
			return;
		m->list = list;
		m->room = room;
	}
	at = &list[m->nr];
	*at = *new;
	at->path = strdup(new->path);
	at->build_id = known_build_id(m, new);
	if (!at->build_id)
		at->build_id = build_id_of((uint32_t) new->pid, new->path);
	if (at->path)
		m->nr++;
	else
		free((void *)at->build_id);
}

/* Parse one line; false if it does not map a file.  *@path points to the path in @line. */
static bool parse_line(char *line, struct sidecar_module *out, bool *is_code, char **path)
{
	uint64_t start, end, offset;
	char flags[5];
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &start, &end, flags,
		   &offset, &at) != 4 ||
	    !at || line[at] != '/')
		return false;
	*path = line + at;
	(*path)[strcspn(*path, "\n")] = '\0';
	out->start = start;
	out->end = end;
	out->offset = offset;
	*is_code = flags[2] == 'x';
	return true;
}

/* Consecutive lines of the same file form one module, from the first to the last. */
struct run_of_lines {
	struct sidecar_module module;
	char path[LINE_SIZE];
	bool has_code;
};

static void finish_run(struct modules *m, struct run_of_lines *run)
{
	if (run->has_code) {
		run->module.path = run->path;
		if (!modules_is_known(m, &run->module))
			modules_add(m, &run->module);
	}
	run->has_code = false;
	run->path[0] = '\0';
}

static void modules_read_maps(struct modules *m, uint32_t pid, FILE *maps)
{
	struct run_of_lines run = { .path = "" };
	size_t most = m->nr + MODULES_PER_PROCESS;
	char line[LINE_SIZE], *path;

	while (fgets(line, sizeof(line), maps) && m->nr < most) {
		struct sidecar_module now = { .pid = pid };
		bool is_code;

		if (!parse_line(line, &now, &is_code, &path))
			continue;
		if (strcmp(path, run.path) != 0) {
			finish_run(m, &run);
			run.module = now;
			snprintf(run.path, sizeof(run.path), "%s", path);
		}
		run.module.end = now.end;
		run.has_code |= is_code;
	}
	finish_run(m, &run);
}

size_t modules_read(struct modules *m, uint32_t pid)
{
	char name[64];
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%" PRIu32 "/maps", pid);
	maps = fopen(name, "re");
	if (!maps)
		return m->nr;
	modules_read_maps(m, pid, maps);
	fclose(maps);
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
	*m = (struct modules){ 0 };
}
