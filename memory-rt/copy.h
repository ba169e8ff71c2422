/* SPDX-License-Identifier: MIT */
/*
 * copy.h - memcpy and its like, for the runtime itself and for the program's calls.
 *
 * The static library is linked with --wrap=memcpy and so on, so that the program's calls are
 * seen.  Our own must not be: the build renames them in the archive to the crt_ names here.
 */
#ifndef MEMORY_RT_COPY_H
#define MEMORY_RT_COPY_H

#include <stddef.h>
#include <stdint.h>

void *crt_memcpy(void *to, const void *from, size_t n);
void *crt_memmove(void *to, const void *from, size_t n);
void *crt_memset(void *to, int c, size_t n);

/* memcalls.c: what a call that copies or fills does, recorded. */
__attribute__((visibility("default"))) void __cacheray_copied(const void *to, const void *from,
							      size_t n, uint64_t pc);
__attribute__((visibility("default"))) void __cacheray_filled(const void *to, size_t n,
							      uint64_t pc);

#endif
