/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - C++ and Rust symbols as they are written, within bounds.
 *
 * A name of 500 bytes can stand for one of 2^60: substitutions in it refer to each other.  The
 * file that has it may be anybody's.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#define DEMANGLED_MAX 16384

/* To be freed; NULL: it is not mangled, its plain form is longer than the bound, or no memory. */
char *demangle(const char *name);

#endif
