/* SPDX-License-Identifier: MIT */
/*
 * rust_untyped.h - Tokio's tasks in a program whose debug information has no types.
 *
 * With `debug = 1` the functions are there: the name of the poll function of a task has the type of
 * its future, and that of an async function its file and line.  With symbols only, their names have
 * types if they were mangled by the newer scheme ("v0").
 */
#ifndef SYMBOLS_RUST_UNTYPED_H
#define SYMBOLS_RUST_UNTYPED_H

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where async function @path, "server::serve::{async_fn_env#0}", begins.  False: unknown. */
bool rust_untyped_find(Dwfl_Module *module, const char *path, const char **file, int *line);

/*
 * The line in @file, plain as by path_plain(), where a macro such as select! was called: the first
 * one of the code of @closure, a type that the macro made.  False: unknown.
 */
bool rust_untyped_macro(Dwarf_Die *closure, const char *path, const char *file, uint32_t *line);

/*
 * Call @visit for the poll functions of tasks in the symbol table; @args is "<T, S>", or "<?>" if
 * the name does not have it.  Stops when @visit returns a value that is not 0, and returns it.
 */
typedef int (*rust_symbol_visitor)(void *arg, const char *args, uint64_t addr);
int rust_untyped_symbols(Dwfl_Module *module, rust_symbol_visitor visit, void *arg);

#endif
