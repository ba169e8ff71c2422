/* SPDX-License-Identifier: MIT */
/*
 * type_rules.h - description files: which types of a library a coroutine waits with, and where in
 * them the awaited object is.
 *
 *	await cppcoro::async_mutex_lock_operation
 *		kind lock
 *		object m_mutex
 *	guard cppcoro::async_mutex_lock
 *		object m_mutex
 *	resource cppcoro::async_mutex
 *		held m_state != 1
 *		queue m_waiters next m_next
 *
 * The format is in docs/why-types.md.  Members are named; their offsets come from DWARF, so that
 * one description fits several versions of a library.
 */
#ifndef SYMBOLS_TYPE_RULES_H
#define SYMBOLS_TYPE_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum rule_role {
	RULE_AWAIT,     /* an awaiter or a future */
	RULE_OPERATION, /* a variable of the innermost coroutine that says what it waits for */
	RULE_GUARD,     /* an object whose owner holds a lock */
	RULE_RESOURCE,  /* the lock, channel ... itself */
	RULE_THROUGH,   /* a wrapper around another awaiter or future */
};

enum rule_key {
	RULE_OBJECT,     /* the awaited or held resource */
	RULE_DESCRIPTOR, /* the awaited descriptor */
	RULE_DEADLINE,   /* when the wait ends; of a wrapper: at the latest */
	RULE_TASK,       /* the awaited coroutine or task */
	RULE_WHILE,      /* condition: it still waits, or it still holds */
	RULE_HOLDER,     /* the coroutine or thread that holds the resource */
	RULE_HELD,       /* condition: the resource is held */
	RULE_QUEUE,      /* the first awaiter that waits for the resource */
	RULE_TO,         /* what is inside a wrapper */
};

enum rule_test {
	RULE_NOT_ZERO,
	RULE_EQUAL,
	RULE_NOT_EQUAL,
	RULE_LESS,
	RULE_GREATER,
	RULE_HAS_BITS,
};

enum rule_direction {
	RULE_ANY,
	RULE_READ,
	RULE_WRITE,
};

struct rule_line {
	enum rule_key key;
	char *path;             /* "m_mutex->m_state"; ".": the object itself */
	char *next;             /* queue: from a waiter to the next one; or NULL */
	enum rule_test test;    /* of a condition */
	uint64_t number;        /* of a condition; deadline: nanoseconds of its unit */
	enum rule_direction to; /* of a descriptor */
};

#define RULE_LINES_MAX 32

struct type_rule {
	enum rule_role role;
	char *pattern;    /* "tokio::sync::mutex::*" */
	const char *kind; /* "lock": a constant; NULL: none */
	struct rule_line *lines;
	size_t nr_lines;
};

struct type_rules;

/* NULL: no memory. */
struct type_rules *type_rules_new(void);

/*
 * Add the descriptions in @text.  Of two that match, the one that was added first counts.  @name
 * is for messages.  0 or a negative errno; then nothing of @text is added.
 */
int type_rules_parse(struct type_rules *rules, const char *name, const char *text, size_t size,
		     struct err *err);

/* Add a file, or all files of a directory whose name ends with ".types". */
int type_rules_add(struct type_rules *rules, const char *path, struct err *err);

size_t type_rules_count(const struct type_rules *rules);
const struct type_rule *type_rules_get(const struct type_rules *rules, size_t number);

/* The first rule for the type @path, "a::b::c" without what is in <>.  NULL: none. */
const struct type_rule *type_rules_find(const struct type_rules *rules, enum rule_role role,
					const char *path);

/*
 * False if no type with the name @name in any scope has a rule.  Rules whose last part is only a
 * star do not count: they are for types whose whole path is known.
 */
bool type_rules_have_name(const struct type_rules *rules, enum rule_role role, const char *name,
			  size_t len);

/* True if @value meets the condition. */
bool rule_line_holds(const struct rule_line *line, uint64_t value);

/* Accepts NULL. */
void type_rules_free(struct type_rules *rules);

#endif
