/* SPDX-License-Identifier: MIT */
/* own_types.h - the types of the test program itself, from its debug information. */
#ifndef TESTS_OWN_TYPES_H
#define TESTS_OWN_TYPES_H

#include "memory/types/type_model.h"
#include "own_module.h"

/* As the compiler names them. */
#ifdef __clang__
#define LONG_INT  "long"
#define SHORT_INT "short"
#else
#define LONG_INT  "long int"
#define SHORT_INT "short int"
#endif

static inline struct types *own_types_open(void)
{
	struct symbol_module m = own_module();
	struct types *t = types_new();

	CHECK(t && types_push_module(t, &m));
	return t;
}

/* The type of a global variable of the test. */
static inline Dwarf_Die own_type_of(struct types *t, const void *variable)
{
	uint64_t offset = 1;
	Dwarf_Die type;

	CHECK(types_variable_type(t, (uintptr_t)variable, &type, &offset));
	CHECK_EQ(offset, 0);
	return type;
}

#endif
