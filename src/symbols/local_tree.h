/* SPDX-License-Identifier: MIT */
/*
 * local_tree.h - the values of variables, with their members, as a tree that can be printed.
 *
 * Nodes are stored in preorder: the children of node i begin at i + 1, and nodes[i].end is the
 * first node after them.
 */
#ifndef SYMBOLS_LOCAL_TREE_H
#define SYMBOLS_LOCAL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCAL_NODES_MAX 1024 /* of one coroutine */

enum local_kind {
	LOCAL_STATE, /* no value; `text` says why */
	LOCAL_INTEGER,
	LOCAL_UNSIGNED,
	LOCAL_BOOL,
	LOCAL_REAL,
	LOCAL_CHARACTER, /* `number` is a code point */
	LOCAL_NAME,      /* an enumerator: `text` */
	LOCAL_POINTER,
	LOCAL_TEXT,    /* a string or buffer of `length`; `text` only if contents may be shown */
	LOCAL_LIST,    /* a container or array of `length`, with the elements that are shown */
	LOCAL_STRUCT,  /* its members */
	LOCAL_VARIANT, /* the variant `text` of an enum, and its members */
};

struct local_node {
	enum local_kind kind;
	const char *name; /* NULL: an element of an array */
	const char *type;
	const char *text;
	size_t text_size;
	uint64_t number; /* of an integer as two's complement; the address of a pointer */
	double real;
	uint64_t length;
	uint32_t end;      /* the first node that is not below this one */
	bool has_length;   /* of LOCAL_TEXT and LOCAL_LIST */
	bool is_cut;       /* there is more than is shown, or the length is at least this */
	bool is_reference; /* the value is that of the object; `number` is its address */
	bool is_unread;    /* what it refers to is not in memory, or not in the file */
	bool may_be_unset; /* it is declared at the line at which the coroutine waits */
	bool is_parameter;
};

/* All zero: empty. */
struct local_tree {
	struct local_node *nodes;
	size_t nr, room;
	char **texts; /* owned strings */
	size_t nr_texts, room_texts;
	bool is_full; /* something was left out */
};

/* The number of the new node, whose `end` is right after it; SIZE_MAX: no room. */
size_t local_tree_add(struct local_tree *tree, const struct local_node *node);

/* All nodes after @number are below it. */
void local_tree_close(struct local_tree *tree, size_t number);

/* A copy of @size bytes, terminated, that lives as long as the tree; "" without memory. */
const char *local_tree_keep(struct local_tree *tree, const char *text, size_t size);

/* Empty it; the memory of the nodes is kept. */
void local_tree_clear(struct local_tree *tree);
void local_tree_release(struct local_tree *tree);

#endif
