/* SPDX-License-Identifier: MIT */
/* mapped_file.h - the file behind a mapping of another process, and its build-id. */
#ifndef PROCESS_MAPPED_FILE_H
#define PROCESS_MAPPED_FILE_H

#include <libelf.h>
#include <stdbool.h>
#include <sys/types.h>

#include "process/process_maps.h"

/* Up to 64 bytes in hexadecimal. */
#define BUILD_ID_TEXT 129

/*
 * Open @path as process @pid sees it (it may be in a container), else as this process does.
 * Returns a descriptor, or -1 with errno.
 */
int mapped_file_open_path(pid_t pid, const char *path);

/*
 * Open the file that @map maps.  Root gets that very file; otherwise it may have been replaced
 * since, unless it is the program itself.  Returns a descriptor, or -1 with errno.
 */
int mapped_file_open(pid_t pid, const struct process_map *map);

/* False: the file has no build-id. */
bool mapped_file_build_id(Elf *elf, char text[BUILD_ID_TEXT]);

#endif
