/* SPDX-License-Identifier: MIT */
/* zstd_loader.h - zstd inside the traced program: loaded at run time if the system has it. */
#ifndef RUNTIME_MEMORY_ZSTD_LOADER_H
#define RUNTIME_MEMORY_ZSTD_LOADER_H

#include "block_maker.h"

/* A maker with zstd if it can be loaded; @level 0: without.  NULL: no memory. */
struct cray_maker *crt_maker_new(int level);

#endif
