/* SPDX-License-Identifier: MIT */
/*
 * pointee.h - the types that pointers of a program point to, and the pointers inside them.
 *
 * A pointee has a number; 0 is none: void, bytes, functions, types that are only declared.
 */
#ifndef MEMORY_TYPES_POINTEE_H
#define MEMORY_TYPES_POINTEE_H

#include "memory/types/type_model.h"

struct pointee {
	Dwarf_Die die;   /* peeled and complete */
	uint64_t size;   /* not 0 */
	uint32_t number; /* in types.h; UINT32_MAX: not built yet */
	bool is_record;
	bool is_open; /* a record that ends with an array without a size */
};

struct pointees {
	struct types *types;
	struct pointee *list; /* number 1 is the first */
	uint32_t nr, room;
	struct u64map by_die; /* die_key() to 1 + number */
	struct u64map values; /* pointee and offset to 1 + pointee */
	bool no_memory;
};

/* The pointee of a variable or member of type @type: of a pointer, or of a record that only wraps
 * one. */
uint32_t pointee_of_value(struct pointees *p, Dwarf_Die *type);

/* The pointee whose objects are of type @type. */
uint32_t pointee_of_object(struct pointees *p, Dwarf_Die *type);

/* The pointee of the pointer that is @offset bytes inside an object of pointee @number. */
uint32_t pointee_load(struct pointees *p, uint32_t number, uint64_t offset);

/* The pointee of the pointer at @offset of a variable of type @type. */
uint32_t pointee_inside(struct pointees *p, Dwarf_Die *type, uint64_t offset);

/* True if an array inside @number contains @offset, and its elements are multiples of @step. */
bool pointee_has_array(struct pointees *p, uint32_t number, uint64_t offset, uint64_t step);

/* True if an object of @inner, or an array of them, is at @offset of an object of @outer. */
bool pointee_contains(struct pointees *p, uint32_t outer, uint64_t offset, uint32_t inner);

const struct pointee *pointee_get(const struct pointees *p, uint32_t number);

/* The number in types.h. */
uint32_t pointee_type(struct pointees *p, uint32_t number);

void pointees_release(struct pointees *p);

#endif
