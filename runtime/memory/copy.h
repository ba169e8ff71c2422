/* SPDX-License-Identifier: MIT */
/*
 * copy.h - memcpy, memmove and memset of the runtime, and recording of the program's calls.
 *
 * The static library is linked with --wrap=memcpy and so on, so that the program's calls are
 * recorded.  The runtime's own calls must not be: the build renames them in the archive to the
 * crt_ names here.
 */
#ifndef RUNTIME_MEMORY_COPY_H
#define RUNTIME_MEMORY_COPY_H

#include <stddef.h>
#include <stdint.h>

void *crt_memcpy(void *to, const void *from, size_t n);
void *crt_memmove(void *to, const void *from, size_t n);
void *crt_memset(void *to, int c, size_t n);

/* memcalls.c: record a call that copies or fills memory. */
__attribute__((visibility("default"))) void __cacheray_copied(const void *to, const void *from,
							      size_t n, uint64_t pc);
__attribute__((visibility("default"))) void __cacheray_filled(const void *to, size_t n,
							      uint64_t pc);

#endif
