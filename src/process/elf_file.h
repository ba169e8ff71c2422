/* SPDX-License-Identifier: MIT */
/*
 * elf_file.h - what an ELF file of this machine says of itself, without libelf.
 *
 * The file is untrusted: every offset and size is checked, and what is read is limited.
 */
#ifndef PROCESS_ELF_FILE_H
#define PROCESS_ELF_FILE_H

#include <stdbool.h>
#include <stdint.h>

/* True if @fd has a note with this name and type in a segment. */
bool elf_file_has_note(int fd, const char *name, uint32_t type);

/* True if @fd needs a shared library whose name begins with @prefix. */
bool elf_file_needs(int fd, const char *prefix);

#endif
