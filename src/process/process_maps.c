/* SPDX-License-Identifier: MIT */
/* process_maps.c - read and parse /proc/PID/maps. */
#include "process/process_maps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/io.h"

/*
 * 65,530 mappings, the kernel's default limit, need 5 MB with usual paths.  The rest of a longer
 * text is not read: the process must not decide how much memory this one uses.
 */
#define MAPS_TEXT_MAX (UINT64_C(64) << 20)
#define MAPS_READ     65536 /* the kernel returns one page per call; a later one may return more */

/* ---- one line ------------------------------------------------------------ */

struct maps_cursor {
	const char *at, *end;
};

/* A number of at most 64 bits, then the byte @after. */
static bool maps_take_number(struct maps_cursor *c, unsigned base, char after, uint64_t *value)
{
	const char *first = c->at;

	for (*value = 0; c->at < c->end; c->at++) {
		char byte = *c->at;
		unsigned digit;

		if (byte >= '0' && byte <= '9')
			digit = (unsigned)(byte - '0');
		else if (byte >= 'a' && byte <= 'f')
			digit = (unsigned)(byte - 'a') + 10;
		else
			break;
		if (digit >= base || *value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
	}
	if (c->at == first || c->at == c->end || *c->at != after)
		return false;
	c->at++;
	return true;
}

/* "rwxs ", with a minus for each right that is missing; p: private. */
static bool maps_take_rights(struct maps_cursor *c, struct process_map *map)
{
	const char *r = c->at;

	if (c->end - r < 5 || (r[3] != 'p' && r[3] != 's') || r[4] != ' ')
		return false;
	map->read = r[0] == 'r';
	map->write = r[1] == 'w';
	map->exec = r[2] == 'x';
	map->shared = r[3] == 's';
	c->at += 5;
	return true;
}

/* Decode the path in place; the result is terminated. */
static void maps_take_path(char *path, char *end, struct process_map *map)
{
	static const char suffix[] = PROCESS_MAP_DELETED;
	size_t len = sizeof(suffix) - 1;
	char *to = path;

	if ((size_t)(end - path) > len && !memcmp(end - len, suffix, len)) {
		map->deleted = true;
		end -= len;
	}
	map->path = path < end ? path : NULL;
	while (path < end) {
		if (end - path >= 4 && !memcmp(path, "\\012", 4)) {
			*to++ = '\n';
			path += 4;
		} else {
			*to++ = *path++;
		}
	}
	*to = '\0';
}

/* The newline is at @end; it is overwritten. */
static bool maps_parse_line(char *line, char *end, struct process_map *map)
{
	struct maps_cursor c = { .at = line, .end = end };
	uint64_t major, minor;

	*map = (struct process_map){ 0 };
	*end = ' '; /* behind the inode of a line without a path */
	c.end++;
	if (!maps_take_number(&c, 16, '-', &map->start) ||
	    !maps_take_number(&c, 16, ' ', &map->end) || !maps_take_rights(&c, map) ||
	    !maps_take_number(&c, 16, ' ', &map->offset) ||
	    !maps_take_number(&c, 16, ':', &major) || !maps_take_number(&c, 16, ' ', &minor) ||
	    !maps_take_number(&c, 10, ' ', &map->inode) || map->start >= map->end)
		return false;
	map->dev = makedev((unsigned)major, (unsigned)minor);
	while (c.at < end && *c.at == ' ')
		c.at++;
	if (c.at < end)
		maps_take_path(line + (c.at - line), end, map);
	return true;
}

/* ---- all lines ----------------------------------------------------------- */

static int maps_add(struct process_maps *maps, const struct process_map *map)
{
	/* A process that changes its mappings meanwhile may show one twice. */
	if (maps->nr && map->start <= maps->list[maps->nr - 1].start)
		return 0;
	if (maps->nr == maps->room) {
		size_t room = maps->room ? maps->room * 2 : 64;
		struct process_map *list = realloc(maps->list, room * sizeof(*list));

		if (!list)
			return -ENOMEM;
		maps->list = list;
		maps->room = room;
	}
	maps->list[maps->nr++] = *map;
	return 0;
}

int process_maps_parse(char *text, size_t size, struct process_maps *maps)
{
	char *line = text, *end = text + size, *newline;
	struct process_map map;

	*maps = (struct process_maps){ .text = text };
	for (; (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1) {
		if (maps_parse_line(line, newline, &map) && maps_add(maps, &map) < 0) {
			process_maps_free(maps);
			return -ENOMEM;
		}
	}
	return 0;
}

/* ---- a process ----------------------------------------------------------- */

static int maps_read_text(int fd, struct bytes *text)
{
	ssize_t got = 1;

	while (got > 0 && text->size < MAPS_TEXT_MAX) {
		char *to = bytes_room(text, MAPS_READ);

		got = to ? io_read(fd, to, MAPS_READ) : -ENOMEM;
		text->size += got > 0 ? (size_t)got : 0;
	}
	return got < 0 ? (int)got : 0;
}

int process_maps_read(pid_t pid, struct process_maps *maps)
{
	struct bytes text = { 0 };
	char name[64];
	int fd, rc;

	*maps = (struct process_maps){ 0 };
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	rc = maps_read_text(fd, &text);
	close(fd);
	if (!rc)
		return process_maps_parse((char *)text.data, text.size, maps);
	bytes_release(&text);
	return rc;
}

const struct process_map *process_maps_find(const struct process_maps *maps, uint64_t address)
{
	size_t from = 0, to = maps->nr;

	while (from < to) {
		size_t middle = from + (to - from) / 2;

		if (maps->list[middle].start <= address)
			from = middle + 1;
		else
			to = middle;
	}
	return from && address < maps->list[from - 1].end ? &maps->list[from - 1] : NULL;
}

void process_maps_free(struct process_maps *maps)
{
	free(maps->list);
	free(maps->text);
	*maps = (struct process_maps){ 0 };
}

/* ---- files --------------------------------------------------------------- */

bool process_maps_file(pid_t pid, const char *path)
{
	struct process_maps maps;
	struct stat st;
	bool found = false;
	size_t i;

	if (process_maps_read(pid, &maps) < 0)
		return false;
	if (stat(path, &st) < 0)
		st.st_ino = 0;
	for (i = 0; i < maps.nr && !found; i++) {
		const struct process_map *map = &maps.list[i];

		found = (map->path && !strcmp(map->path, path)) ||
			(st.st_ino && map->inode == st.st_ino && map->dev == st.st_dev);
	}
	process_maps_free(&maps);
	return found;
}

bool process_map_same_file(const struct process_map *a, const struct process_map *b)
{
	return a->path && b->path && a->deleted == b->deleted && !strcmp(a->path, b->path);
}
