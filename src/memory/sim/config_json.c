/* SPDX-License-Identifier: MIT */
/*
 * config_json.c - read a machine from JSON, in the corotracer or the Cacheray suite format.
 *
 * An unknown key is an error: it may be misspelt, and the simulation of a machine that the user
 * did not mean looks just as plausible.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/json_parse.h"
#include "memory/sim/config.h"

#define FILE_MAX (1u << 20)

/* The current position in the document, for messages: "cache.json: levels[1]". */
struct config_place {
	const char *file;
	char path[96];
	struct err *err;
};

static int sim_config_set_error(const struct config_place *p, const char *key, const char *what)
{
	err_set(p->err, -EINVAL, "%s: %s%s%s: %s", p->file, p->path, *p->path && *key ? "." : "",
		key, what);
	return -EINVAL;
}

/* ---- values ------------------------------------------------------------------ */

static int get_size(const struct config_place *p, const char *key, const json_t *v, uint64_t *out)
{
	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*out = (uint64_t)json_integer_value(v);
		return 0;
	}
	if (json_is_string(v) && sim_size_of(json_string_value(v), out))
		return 0;
	return sim_config_set_error(p, key, "expected a size: bytes, or a text such as \"32K\"");
}

static int sim_config_get_number(const struct config_place *p, const char *key, const json_t *v,
				 uint32_t *out)
{
	json_int_t n = json_integer_value(v);

	if (!json_is_integer(v) || n < 0 || n > UINT32_MAX)
		return sim_config_set_error(p, key, "expected a whole number that is not negative");
	*out = (uint32_t)n;
	return 0;
}

/* A number, or the word that stands for @meaning. */
static int get_number_or(const struct config_place *p, const char *key, const json_t *v,
			 const char *word, uint32_t meaning, uint32_t *out)
{
	const char *text = json_string_value(v);
	char what[80];

	if (text && !strcmp(text, word)) {
		*out = meaning;
		return 0;
	}
	if (!text)
		return sim_config_get_number(p, key, v, out);
	snprintf(what, sizeof(what), "expected a number or \"%s\"", word);
	return sim_config_set_error(p, key, what);
}

static int sim_config_get_name(const struct config_place *p, const char *key, const json_t *v,
			       char *out)
{
	const char *text = json_string_value(v);
	size_t i;

	if (!text || !*text || strlen(text) >= SIM_NAME_MAX)
		return sim_config_set_error(p, key, "expected a text of 1 to 15 bytes");
	for (i = 0; text[i]; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return sim_config_set_error(p, key,
						    "expected a name without control characters");
	}
	snprintf(out, SIM_NAME_MAX, "%s", text);
	return 0;
}

static int get_word(const struct config_place *p, const char *key, const json_t *v,
		    int (*find)(const char *), const char *which)
{
	const char *text = json_string_value(v);
	int n = text ? find(text) : -1;
	char what[128];

	if (n >= 0)
		return n;
	snprintf(what, sizeof(what), "expected one of %s", which);
	return sim_config_set_error(p, key, what);
}

static int get_bool(const struct config_place *p, const char *key, const json_t *v, bool *out)
{
	if (!json_is_boolean(v))
		return sim_config_set_error(p, key, "expected true or false");
	*out = json_is_true(v);
	return 0;
}

/* ---- corotracer format --------------------------------------------------------- */

static int write_policy(const struct config_place *p, const json_t *v, struct sim_level_config *l)
{
	const char *text = json_string_value(v);

	if (!text || (strcmp(text, "back") != 0 && strcmp(text, "through") != 0))
		return sim_config_set_error(p, "write", "expected \"back\" or \"through\"");
	l->write_through = !strcmp(text, "through");
	return 0;
}

static int level_words(const struct config_place *p, const char *key, const json_t *v,
		       struct sim_level_config *l)
{
	int n;

	if (!strcmp(key, "policy")) {
		n = get_word(p, key, v, sim_policy_find, "lru, plru, fifo, lifo, random");
		l->policy = n < 0 ? l->policy : (enum sim_policy)n;
	} else if (!strcmp(key, "inclusion")) {
		n = get_word(p, key, v, sim_inclusion_find, "non-inclusive, inclusive, exclusive");
		l->inclusion = n < 0 ? l->inclusion : (enum sim_inclusion)n;
	} else if (!strcmp(key, "prefetch")) {
		n = get_word(p, key, v, sim_prefetch_find, "none, next-line, tagged");
		l->prefetch = n < 0 ? l->prefetch : (enum sim_prefetch)n;
	} else {
		n = sim_config_set_error(p, key, "there is no such key");
		err_hint(p->err, "a level has name, size, line, ways, policy, write, allocate, "
				 "inclusion, share, prefetch");
	}
	return n < 0 ? n : 0;
}

static int level_key(const struct config_place *p, const char *key, const json_t *v,
		     struct sim_level_config *l)
{
	bool allocates;
	int ret;

	if (!strcmp(key, "name"))
		return sim_config_get_name(p, key, v, l->name);
	if (!strcmp(key, "size"))
		return get_size(p, key, v, &l->size);
	if (!strcmp(key, "line"))
		return sim_config_get_number(p, key, v, &l->line);
	if (!strcmp(key, "ways"))
		return get_number_or(p, key, v, "full", 0, &l->ways);
	if (!strcmp(key, "share"))
		return get_number_or(p, key, v, "all", 0, &l->share);
	if (!strcmp(key, "write"))
		return write_policy(p, v, l);
	if (!strcmp(key, "allocate")) {
		ret = get_bool(p, key, v, &allocates);
		l->no_allocate = ret == 0 && !allocates;
		return ret;
	}
	return level_words(p, key, v, l);
}

/* Check that @v is a list of at most @max entries.  Returns NULL with *@ret set if it is not. */
static const json_t *list_of(const struct config_place *p, const json_t *v, const char *key,
			     size_t max, int *ret)
{
	*ret = 0;
	if (!json_is_array(v))
		*ret = sim_config_set_error(p, key, "expected a list");
	else if (json_array_size(v) > max)
		*ret = sim_config_set_error(p, key, "there are too many of them");
	return *ret ? NULL : v;
}

static int parse_level(struct config_place *p, const json_t *entry, uint32_t i,
		       struct sim_level_config *l)
{
	const char *key;
	json_t *v;

	snprintf(p->path, sizeof(p->path), "levels[%u]", i);
	if (!json_is_object(entry))
		return sim_config_set_error(p, "", "expected an object");
	memset(l, 0, sizeof(*l));
	snprintf(l->name, sizeof(l->name), "L%u", i + 1);
	l->line = 64;
	l->share = SIM_SHARE_DEFAULT;
	if (!json_object_get(entry, "size"))
		return sim_config_set_error(p, "size", "it is missing");
	if (!json_object_get(entry, "ways"))
		return sim_config_set_error(p, "ways",
					    "it is missing; \"full\" for fully associative");
	json_object_foreach((json_t *)entry, key, v)
	{
		if (level_key(p, key, v, l) < 0)
			return p->err->code;
	}
	return 0;
}

static int parse_tlb(struct config_place *p, const json_t *entry, uint32_t i,
		     struct sim_tlb_config *t)
{
	const char *key;
	json_t *v;
	int ret = 0;

	snprintf(p->path, sizeof(p->path), "tlb[%u]", i);
	if (!json_is_object(entry))
		return sim_config_set_error(p, "", "expected an object");
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "TLB%u", i + 1);
	if (!json_object_get(entry, "entries"))
		return sim_config_set_error(p, "entries", "it is missing");
	json_object_foreach((json_t *)entry, key, v)
	{
		if (ret == 0 && !strcmp(key, "name")) {
			ret = sim_config_get_name(p, key, v, t->name);
		} else if (ret == 0 && !strcmp(key, "entries")) {
			ret = sim_config_get_number(p, key, v, &t->entries);
		} else if (ret == 0 && !strcmp(key, "ways")) {
			ret = get_number_or(p, key, v, "full", 0, &t->ways);
		} else if (ret == 0) {
			ret = sim_config_set_error(p, key, "there is no such key");
			err_hint(p->err, "a TLB has name, entries, ways");
		}
	}
	return ret;
}

static int parse_lists(struct config_place *p, const char *key, const json_t *v,
		       struct sim_config *c)
{
	bool levels = !strcmp(key, "levels");
	const json_t *list, *entry;
	size_t i;
	int ret;

	list = list_of(p, v, key, levels ? SIM_LEVELS_MAX : SIM_TLBS_MAX, &ret);
	json_array_foreach ((json_t *)list, i, entry) {
		uint32_t n = (uint32_t)i;

		if (ret < 0)
			break;
		ret = levels ? parse_level(p, entry, n, &c->level[i])
			     : parse_tlb(p, entry, n, &c->tlb[i]);
	}
	p->path[0] = '\0';
	if (ret == 0 && levels)
		c->nr_levels = (uint32_t)json_array_size(list);
	else if (ret == 0)
		c->nr_tlbs = (uint32_t)json_array_size(list);
	return ret;
}

static int sim_config_parse_ours(struct config_place *p, const json_t *root, struct sim_config *c)
{
	const char *key;
	uint64_t size;
	uint32_t seed = 0;
	json_t *v;
	int ret = 0;

	json_object_foreach((json_t *)root, key, v)
	{
		if (!strcmp(key, "levels") || !strcmp(key, "tlb")) {
			ret = parse_lists(p, key, v, c);
		} else if (!strcmp(key, "page")) {
			ret = get_size(p, key, v, &size);
			if (ret == 0)
				c->page = size > SIM_PAGE_MAX ? UINT32_MAX : (uint32_t)size;
		} else if (!strcmp(key, "cores")) {
			ret = sim_config_get_number(p, key, v, &c->cores);
		} else if (!strcmp(key, "seed")) {
			ret = sim_config_get_number(p, key, v, &seed);
			c->seed = seed;
		} else {
			ret = sim_config_set_error(p, key, "there is no such key");
			err_hint(p->err, "a machine has levels, tlb, page, cores, seed");
		}
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- Cacheray suite format ------------------------------------------------------- */

/* The suite's policies 2 (last in, first out) and 3 (first in, last out) are the same policy. */
static const enum sim_policy suite_policies[] = { SIM_LRU, SIM_FIFO, SIM_LIFO, SIM_LIFO,
						  SIM_RANDOM };

static int suite_level(struct config_place *p, const json_t *entry, uint32_t i,
		       struct sim_level_config *l)
{
	const json_t *name = json_object_get(entry, "name");
	uint32_t size = 0, line = 0, policy = 0;

	snprintf(p->path, sizeof(p->path), "caches[%u]", i);
	if (!json_is_object(entry))
		return sim_config_set_error(p, "", "expected an object");
	memset(l, 0, sizeof(*l));
	snprintf(l->name, sizeof(l->name), "L%u", i + 1);
	if ((name && sim_config_get_name(p, "name", name, l->name) < 0) ||
	    sim_config_get_number(p, "cache_size", json_object_get(entry, "cache_size"), &size) <
		    0 ||
	    sim_config_get_number(p, "block_size", json_object_get(entry, "block_size"), &line) <
		    0 ||
	    sim_config_get_number(p, "set_assoc", json_object_get(entry, "set_assoc"), &l->ways) <
		    0 ||
	    sim_config_get_number(p, "rep_policy", json_object_get(entry, "rep_policy"), &policy) <
		    0)
		return p->err->code;
	if (size > 40)
		return sim_config_set_error(
			p, "cache_size", "a power of two goes there, as its exponent: 15 is 32K");
	if (line > 20)
		return sim_config_set_error(p, "block_size",
					    "a power of two goes there, as its exponent: 6 is 64");
	if (policy > 4)
		return sim_config_set_error(
			p, "rep_policy",
			"expected 0 (LRU), 1 (FIFO), 2 (LIFO), 3 (FILO) or 4 (random)");
	l->size = UINT64_C(1) << size;
	l->line = 1u << line;
	l->policy = suite_policies[policy];
	return 0;
}

/* One chain of caches for all threads, as in the suite. */
static int parse_suite(struct config_place *p, const json_t *root, struct sim_config *c)
{
	const json_t *list, *entry;
	size_t i;
	int ret;

	list = list_of(p, json_object_get(root, "caches"), "caches", SIM_LEVELS_MAX, &ret);
	json_array_foreach ((json_t *)list, i, entry) {
		if (ret == 0)
			ret = suite_level(p, entry, (uint32_t)i, &c->level[i]);
	}
	p->path[0] = '\0';
	c->cores = 1;
	c->nr_levels = ret == 0 ? (uint32_t)json_array_size(list) : 0;
	return ret;
}

/* ---- files ---------------------------------------------------------------------- */

int sim_config_parse(struct sim_config *c, const char *text, size_t size, const char *path,
		     struct err *err)
{
	struct config_place p = { .file = path, .err = err };
	json_error_t why;
	int ret;
	json_t *root = json_parse(text, size, JSON_REJECT_DUPLICATES, &why, &ret);

	sim_config_default(c);
	c->nr_levels = 0;
	if (ret == -ENOMEM)
		return err_set(err, ret, "no memory to parse '%s'", path);
	if (!root) {
		err_set(err, -EINVAL, "%s: line %d, column %d: %s", path, why.line, why.column,
			why.text);
		err_hint(err, "a machine is a JSON object; 'corotracer mem sim --show' prints one");
		return err->code;
	}
	if (json_object_get(root, "caches")) {
		ret = parse_suite(&p, root, c);
	} else if (json_object_get(root, "levels")) {
		ret = sim_config_parse_ours(&p, root, c);
	} else {
		ret = err_set(err, -EINVAL, "%s: it has no \"levels\"", path);
		err_hint(err, "a machine is a JSON object; 'corotracer mem sim --show' prints one");
	}
	json_decref(root);
	sim_config_finish(c);
	return ret;
}

int sim_config_read(struct sim_config *c, const char *path, struct err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), ret;
	char *text = fd >= 0 ? malloc(FILE_MAX + 1) : NULL;
	size_t size = 0;
	ssize_t got = 1;

	if (fd < 0)
		return err_errno(err, "cannot open '%s'", path);
	while (text && got > 0 && size <= FILE_MAX) {
		got = io_read(fd, text + size, FILE_MAX + 1 - size);
		size += got > 0 ? (size_t)got : 0;
	}
	close(fd);
	if (!text) {
		ret = err_set(err, -ENOMEM, "no memory to read '%s'", path);
	} else if (got < 0) {
		errno = (int)-got;
		ret = err_errno(err, "cannot read '%s'", path);
	} else if (size > FILE_MAX) {
		ret = err_set(err, -EFBIG, "'%s' is too large to be a machine", path);
	} else {
		ret = sim_config_parse(c, text, size, path, err);
	}
	free(text);
	return ret;
}
