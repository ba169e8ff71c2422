/* SPDX-License-Identifier: MIT */
/* config_host.c - read this computer's data caches from sysfs. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "memory/sim/config.h"

#define INDEX_MAX 16
#define HINT      "name the caches: --cache 32K,8,64 --cache 8M,16,64, or --config FILE"

/*
 * Read the first line of a small file.  Returns false if there is none; if the file exists and
 * cannot be read, @err says so.
 */
static bool first_line(const char *path, char *out, size_t size, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : io_pread(fd, out, size - 1, 0);

	if (got < 0 && errno != ENOENT)
		err_errno(err, "cannot read '%s'", path);
	if (fd >= 0)
		close(fd);
	out[got > 0 ? got : 0] = '\0';
	out[strcspn(out, "\n")] = '\0';
	return got > 0;
}

static bool line_of(const char *root, unsigned index, const char *name, char *out, size_t size,
		    struct err *err)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cpu0/cache/index%u/%s", root, index, name);
	return first_line(path, out, size, err);
}

static uint64_t sim_config_number_of(const char *root, unsigned index, const char *name,
				     struct err *err)
{
	char text[64], *end;
	uint64_t n;

	if (!line_of(root, index, name, text, sizeof(text), err) ||
	    !isdigit((unsigned char)text[0]))
		return 0;
	n = strtoull(text, &end, 10);
	if (*end == 'K')
		n *= 1024;
	else if (*end == 'M')
		n *= UINT64_C(1024) * 1024;
	return n;
}

/* The number of CPUs in a list such as "0-3,8". */
static uint32_t cpus_in(const char *list)
{
	uint32_t nr = 0;

	while (isdigit((unsigned char)*list)) {
		char *end;
		unsigned long from = strtoul(list, &end, 10), to = from;

		if (*end == '-' && isdigit((unsigned char)end[1]))
			to = strtoul(end + 1, &end, 10);
		nr += to >= from && to - from < 65536 ? (uint32_t)(to - from + 1) : 0;
		list = *end == ',' ? end + 1 : end;
	}
	return nr;
}

static uint32_t sim_config_online(const char *root, struct err *err)
{
	char path[512], text[256];

	snprintf(path, sizeof(path), "%s/online", root);
	return first_line(path, text, sizeof(text), err) ? cpus_in(text) : 0;
}

/* A cache that cannot be read is an error: without it the result would be another machine. */
static int sim_config_is_incomplete(const char *root, unsigned index, const char *what,
				    struct err *err)
{
	char path[512];

	if (err->code)
		return err->code;
	snprintf(path, sizeof(path), "%s/cpu0/cache/index%u/%s", root, index, what);
	if (access(path, R_OK) < 0)
		return err_errno(err, "cannot read '%s'", path);
	return err_set(err, -EINVAL, "'%s' holds no number", path);
}

static bool sim_config_has_index(const char *root, unsigned index)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/cpu0/cache/index%u", root, index);
	return access(path, F_OK) == 0;
}

/*
 * Returns 1 for a data cache, 0 for an instruction cache or a missing index, or a negative
 * errno.
 */
static int take_index(const char *root, unsigned index, uint32_t cpus, struct sim_level_config *l,
		      uint64_t *level, struct err *err)
{
	char text[1024];
	uint32_t shared = 1;

	if (!sim_config_has_index(root, index))
		return 0;
	if (!line_of(root, index, "type", text, sizeof(text), err))
		return sim_config_is_incomplete(root, index, "type", err);
	if (!strcmp(text, "Instruction"))
		return 0;
	memset(l, 0, sizeof(*l));
	*level = sim_config_number_of(root, index, "level", err);
	snprintf(l->name, sizeof(l->name), "L%u", (unsigned)(*level % 100));
	l->size = sim_config_number_of(root, index, "size", err);
	l->line = (uint32_t)sim_config_number_of(root, index, "coherency_line_size", err);
	l->ways = (uint32_t)sim_config_number_of(root, index, "ways_of_associativity", err);
	if (line_of(root, index, "shared_cpu_list", text, sizeof(text), err))
		shared = cpus_in(text);
	l->share = shared >= cpus && cpus > 1 ? 0 : shared;
	if (l->share == 0 && shared == 0)
		l->share = 1;
	/* Associativity that does not match the size is unknown. */
	if (l->line && l->ways && l->size % ((uint64_t)l->line * l->ways))
		l->ways = 0;
	if (!l->size || !l->line)
		return sim_config_is_incomplete(root, index,
						l->size ? "coherency_line_size" : "size", err);
	return err->code ? err->code : 1;
}

static void by_level(struct sim_level_config *l, uint64_t *level, uint32_t nr)
{
	uint32_t i, k;

	for (i = 1; i < nr; i++) {
		for (k = i; k > 0 && level[k] < level[k - 1]; k--) {
			struct sim_level_config t = l[k];
			uint64_t n = level[k];

			l[k] = l[k - 1];
			l[k - 1] = t;
			level[k] = level[k - 1];
			level[k - 1] = n;
		}
	}
}

int sim_config_host(struct sim_config *c, const char *root, struct err *err)
{
	uint64_t level[SIM_LEVELS_MAX] = { 0 };
	uint32_t cpus = sim_config_online(root, err), nr = 0, smt, k;
	unsigned index;

	sim_config_default(c);
	for (index = 0; index < INDEX_MAX && nr < SIM_LEVELS_MAX; index++) {
		int got = take_index(root, index, cpus, &c->level[nr], &level[nr], err);

		if (got < 0 || err->code) {
			err_hint(err, HINT);
			return err->code;
		}
		nr += (uint32_t)got;
	}
	if (!nr) {
		err_set(err, -ENOENT, "%s/cpu0/cache describes no data cache", root);
		err_hint(err, HINT);
		return err->code;
	}
	by_level(c->level, level, nr);
	c->nr_levels = nr;
	/*
	 * Hardware threads of a core share its first cache; the simulation gives each its own
	 * core.
	 */
	smt = c->level[0].share ? c->level[0].share : 1;
	for (k = 0; k < nr; k++)
		c->level[k].share /= smt;
	return 0;
}
