/* SPDX-License-Identifier: MIT */
/*
 * coroutine_types.h - the C++20 coroutines of a program, from its symbols and DWARF.
 *
 * A suspended frame begins with the addresses of two functions, resume and destroy.  gcc names them
 * NAME.actor and NAME.destroy; clang NAME.resume, NAME.destroy and NAME.cleanup.  DWARF has the
 * frame as a type: gcc NAME.Frame, clang __coro_frame_ty or NAME.coro_frame_ty.
 *
 * Symbols are read when a module is added.  The layout of a frame and the lines of its suspend
 * points are read when they are first asked for.  Both may come from the cache of an earlier look.
 */
#ifndef SYMBOLS_COROUTINE_TYPES_H
#define SYMBOLS_COROUTINE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "symbols/module.h"

enum coro_field_kind {
	CORO_FIELD_OTHER,
	CORO_FIELD_INTEGER,
	CORO_FIELD_POINTER,
	CORO_FIELD_HANDLE, /* the pointer in a std::coroutine_handle */
};

#define CORO_FIELD_HANDLES 4

/* A scalar in a frame: a local variable, or a member of one, at any depth. */
struct coro_field {
	char *path;      /* "conn.socket.fd" */
	char *type;      /* "int" */
	char *owner;     /* type of the struct that it is a member of: "Socket" */
	char *root_type; /* type of the variable: "Connection" */
	uint32_t offset, size;
	enum coro_field_kind kind;
	bool in_promise;
	bool is_signed;
	bool is_reference;
	/* Pointer: offsets of the coroutine handles in what it points to. */
	uint8_t nr_handles;
	uint16_t handles[CORO_FIELD_HANDLES];
};

struct coro_point {
	uint64_t index; /* value of the frame's resume index */
	uint64_t addr;  /* of the code that stores it; 0: unknown */
	char *file;     /* of the co_await */
	uint32_t line;
	char *awaits;    /* type of the awaiter; NULL: unknown */
	bool is_initial; /* the coroutine has not started */
};

struct coro_type {
	char *function;        /* plain name */
	uint64_t resume;       /* addresses in the process */
	uint64_t code_end;     /* of the resume function */
	size_t module;         /* number of the module */
	bool has_layout;       /* DWARF describes the frame */
	bool has_index;        /* the index is known, from DWARF or from the code */
	bool is_gcc;           /* compiler that wrote it */
	bool has_promise;      /* DWARF describes the promise */
	bool starts_suspended; /* its initial_suspend() is std::suspend_always */
	bool starts_running;   /* ... std::suspend_never */
	uint32_t size;         /* of the frame; 0: unknown */
	uint32_t index_offset, index_size;
	uint32_t promise_offset, promise_size;
	char *file; /* where the function begins; NULL: unknown */
	uint32_t line;
	uint32_t last_line; /* gcc gives code that it makes up this line as well; 0: unknown */
	struct coro_field *fields;
	size_t nr_fields;
	struct coro_point *points;
	size_t nr_points;
};

struct coro_types;

/* NULL: no memory. */
struct coro_types *coro_types_new(void);

/*
 * Read the symbols of @module; the file is opened at @open_path.  Returns the number of coroutine
 * functions found, or -ENOMEM.  A file that cannot be read has none: coro_types_problem().
 */
int coro_types_add(struct coro_types *types, const struct symbol_module *module,
		   const char *open_path);

/*
 * Keep what was read in the cache, for the next look (index_cache.h).  Modules without a build-id
 * are not kept.
 */
void coro_types_store(struct coro_types *types);

/* A sentence on an entry of the cache that was ignored; NULL: none. */
const char *coro_types_cache_note(const struct coro_types *types);

/* False if an earlier look found no task of Tokio in module @number: it need not be searched. */
bool coro_types_may_have_tokio(const struct coro_types *types, size_t number);
void coro_types_set_no_tokio(struct coro_types *types, size_t number);

/* The module that was added as number @number; NULL: there is none, or it cannot be read. */
struct Dwfl_Module *coro_types_module(struct coro_types *types, size_t number);

/* The number of coroutine functions. */
size_t coro_types_count(const struct coro_types *types);

/* The lowest and the highest code address that a frame can begin with. */
void coro_types_bounds(const struct coro_types *types, uint64_t *low, uint64_t *high);

/*
 * The coroutine function with these two addresses, or -1.  @resume 0: suspended at its end; the
 * function is then the first one with that destroy function.
 */
int64_t coro_types_find(const struct coro_types *types, uint64_t resume, uint64_t destroy);

/* The coroutine function whose code contains @pc, or -1. */
int64_t coro_types_at(const struct coro_types *types, uint64_t pc);

/* With layout and suspend points, read at the first call.  Valid until coro_types_free(). */
const struct coro_type *coro_types_get(struct coro_types *types, size_t number);

/* Where the DWARF of coroutine function @number is.  False: the file cannot be read. */
struct coro_source;
bool coro_types_source(struct coro_types *types, size_t number, struct coro_source *out);

/* The place where a coroutine of @type with that index is suspended; NULL: unknown. */
const struct coro_point *coro_type_point(const struct coro_type *type, uint64_t index);

/* True if a frame of @type can have that index. */
bool coro_type_has_index(const struct coro_type *type, uint64_t index);

/* A sentence on what could not be read; NULL: no problem. */
const char *coro_types_problem(const struct coro_types *types);

/* Accepts NULL. */
void coro_types_free(struct coro_types *types);

#endif
