/* SPDX-License-Identifier: MIT */
/* local_tree.c - the values of variables as a tree. */
#include "symbols/local_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory_shortage.h"

size_t local_tree_add(struct local_tree *tree, const struct local_node *node)
{
	if (tree->nr == LOCAL_NODES_MAX) {
		tree->is_full = true;
		return SIZE_MAX;
	}
	if (tree->nr == tree->room) {
		size_t room = tree->room ? tree->room * 2 : 64;
		struct local_node *more = reallocarray(tree->nodes, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			tree->is_full = true;
			return SIZE_MAX;
		}
		tree->nodes = more;
		tree->room = room;
	}
	tree->nodes[tree->nr] = *node;
	tree->nodes[tree->nr].end = (uint32_t)tree->nr + 1;
	return tree->nr++;
}

void local_tree_close(struct local_tree *tree, size_t number)
{
	tree->nodes[number].end = (uint32_t)tree->nr;
}

const char *local_tree_keep(struct local_tree *tree, const char *text, size_t size)
{
	char *copy = malloc(size + 1);

	if (tree->nr_texts == tree->room_texts) {
		size_t room = tree->room_texts ? tree->room_texts * 2 : 64;
		char **more = reallocarray(tree->texts, room, sizeof(*more));

		if (!more) {
			memory_shortage_note();
			free(copy);
			return "";
		}
		tree->texts = more;
		tree->room_texts = room;
	}
	if (!copy) {
		memory_shortage_note();
		return "";
	}
	memcpy(copy, text, size);
	copy[size] = 0;
	tree->texts[tree->nr_texts++] = copy;
	return copy;
}

void local_tree_clear(struct local_tree *tree)
{
	while (tree->nr_texts)
		free(tree->texts[--tree->nr_texts]);
	tree->nr = 0;
	tree->is_full = false;
}

void local_tree_release(struct local_tree *tree)
{
	local_tree_clear(tree);
	free(tree->nodes);
	free(tree->texts);
	*tree = (struct local_tree){ 0 };
}
