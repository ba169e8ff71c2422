/* SPDX-License-Identifier: MIT */
/*
 * demangle.h - demangle C++ and Rust symbols, with bounded output.
 *
 * A name of 500 bytes can expand to 2^60 bytes, because its substitutions refer to each other, and
 * the file that contains it is untrusted.
 */
#ifndef SYMBOLS_DEMANGLE_H
#define SYMBOLS_DEMANGLE_H

#define DEMANGLED_MAX 16384

/*
 * The caller frees the result.  NULL: not mangled, the plain form exceeds the bound, or no memory.
 */
char *symbol_demangle(const char *name);

#endif
