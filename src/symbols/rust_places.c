/* SPDX-License-Identifier: MIT */
/* rust_places.c - keep places, stacks and branches of futures once. */
#include "symbols/rust_places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/member_path.h"

struct rust_kept {
	void *bytes;
	size_t size;
};

const char *rust_places_text(struct rust_places *p, const char *text)
{
	int64_t number = text ? strtab_intern(&p->texts, text) : -1;

	return number < 0 ? NULL : strtab_text(&p->texts, (size_t)number);
}

/* Remembered, because member_type_path() searches the unit. */
const char *rust_places_path(struct rust_places *p, Dwarf_Die *type)
{
	uint64_t *slot = u64map_at(&p->paths, (uint64_t)(uintptr_t)type->addr);
	char path[RUST_NAME_MAX];
	int64_t number;

	if (!slot)
		return NULL;
	if (!*slot) {
		if (!member_type_path(type, path, sizeof(path)))
			snprintf(path, sizeof(path), "?");
		number = strtab_intern(&p->texts, path);
		if (number < 0)
			return NULL;
		*slot = (uint64_t)number + 1;
	}
	return strtab_text(&p->texts, *slot - 1);
}

static uint64_t rust_bytes_hash(const uint8_t *bytes, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ size, word;
	size_t i;

	/* Structs of pointers: whole words. */
	for (i = 0; i + sizeof(word) <= size; i += sizeof(word)) {
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 29;
	}
	return hash;
}

/* The block with these bytes, added if new; never NULL but for lack of memory. */
static const void *rust_bytes_keep(struct rust_places *p, const void *bytes, size_t size)
{
	uint64_t key = rust_bytes_hash(bytes, size), *slot;
	struct rust_kept *block;

	/* Another block with the same key has its own slot further on. */
	for (;; key++) {
		slot = u64map_at(&p->kept, key);
		if (!slot)
			return NULL;
		if (!*slot)
			break;
		block = &p->blocks[*slot - 1];
		if (block->size == size && !memcmp(block->bytes, bytes, size))
			return block->bytes;
	}
	if (p->nr == p->room) {
		size_t room = p->room ? p->room * 2 : 64;

		block = reallocarray(p->blocks, room, sizeof(*block));
		if (!block)
			return NULL;
		p->blocks = block;
		p->room = room;
	}
	block = &p->blocks[p->nr];
	block->bytes = malloc(size + 1);
	block->size = size;
	if (!block->bytes)
		return NULL;
	memcpy(block->bytes, bytes, size);
	*slot = ++p->nr;
	return block->bytes;
}

const struct rust_place *rust_places_keep(struct rust_places *p, const struct rust_place *place)
{
	struct rust_place exact;

	/* Without the bytes between the members, which are undefined. */
	memset(&exact, 0, sizeof(exact));
	exact.function = place->function;
	exact.file = place->file;
	exact.line = place->line;
	exact.is_exact = place->is_exact;
	exact.is_initial = place->is_initial;
	exact.has_more = place->has_more;
	exact.awaits = place->awaits;
	exact.branches = place->branches;
	exact.nr_branches = place->nr_branches;
	return rust_bytes_keep(p, &exact, sizeof(exact));
}

const struct rust_place *const *rust_places_stack(struct rust_places *p,
						  const struct rust_place *const *places, size_t nr)
{
	return rust_bytes_keep(p, places, nr * sizeof(struct rust_place *));
}

const struct rust_branch *rust_places_branches(struct rust_places *p,
					       const struct rust_branch *branches, size_t nr)
{
	return rust_bytes_keep(p, branches, nr * sizeof(*branches));
}

void rust_plain_function(const char *path, char *out, size_t size)
{
	size_t end = strlen(path);

	while (end) {
		size_t start = end;

		while (start && path[start - 1] != ':')
			start--;
		if (path[start] != '{') {
			snprintf(out, size, "%.*s", (int)(end - start), path + start);
			return;
		}
		end = start >= 2 ? start - 2 : 0;
	}
	snprintf(out, size, "%s", path);
}

void rust_places_release(struct rust_places *p)
{
	size_t i;

	for (i = 0; i < p->nr; i++)
		free(p->blocks[i].bytes);
	free(p->blocks);
	u64map_release(&p->paths);
	u64map_release(&p->kept);
	strtab_release(&p->texts);
	*p = (struct rust_places){ 0 };
}
