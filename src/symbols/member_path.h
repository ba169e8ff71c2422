/* SPDX-License-Identifier: MIT */
/*
 * member_path.h - "a.b->c" in a type, as offsets and pointers to follow.
 *
 * Members of base classes, of unions without a name and of the variants of an enum are found by
 * their own name.  A dot also follows a reference.  An arrow follows a pointer; at a struct, the
 * pointer that it begins with (smart pointers).
 */
#ifndef SYMBOLS_MEMBER_PATH_H
#define SYMBOLS_MEMBER_PATH_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#define MEMBER_STEPS_MAX 12

/* Copies memory of the process; false: not all of it can be read. */
typedef bool (*memory_reader)(void *arg, uint64_t addr, void *buf, size_t size);

enum member_end {
	MEMBER_STRUCT,  /* its address counts */
	MEMBER_POINTER, /* its value counts */
	MEMBER_INTEGER,
};

struct member_path {
	uint32_t offsets[MEMBER_STEPS_MAX]; /* after each but the last a pointer is followed */
	uint8_t nr;
	uint8_t end;          /* enum member_end */
	uint8_t size;         /* of an integer or a pointer */
	uint8_t is_signed;    /* of an integer */
	bool is_timespec;     /* a struct with tv_sec and tv_nsec */
	uint32_t seconds, ns; /* their offsets */
};

/*
 * Find @path in @type.  @is_value: a struct at its end stands for the first number or pointer in
 * it, unless it is a time.  @target, may be NULL: the type at the end, or what a pointer there
 * points to.  False: there is no such member.
 */
bool member_path_resolve(struct member_path *out, Dwarf_Die *type, const char *path, bool is_value,
			 Dwarf_Die *target);

/* The address of the struct, the value of the pointer or the integer.  False: unreadable. */
bool member_path_read(const struct member_path *path, uint64_t addr, memory_reader read, void *arg,
		      uint64_t *value);

/* The nanoseconds of a time with tv_sec and tv_nsec, or of an integer times @unit. */
bool member_path_read_time(const struct member_path *path, uint64_t addr, uint64_t unit,
			   memory_reader read, void *arg, int64_t *ns);

/* The type of @die without qualifiers and type names. */
bool member_bare_type(Dwarf_Die *die, Dwarf_Die *out);

/* Where a member begins in its struct. */
bool member_start(Dwarf_Die *member, uint32_t *offset);

/* "a::b::c" without what is in <>.  False: unknown, or it does not fit. */
bool member_type_path(Dwarf_Die *type, char *out, size_t size);

#endif
