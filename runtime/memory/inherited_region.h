/* SPDX-License-Identifier: MIT */
/* inherited_region.h - open the collector's region: by an inherited descriptor, or by its path. */
#ifndef RUNTIME_MEMORY_INHERITED_REGION_H
#define RUNTIME_MEMORY_INHERITED_REGION_H

/*
 * A new descriptor of the region at @path, which exec closes.  @text is the value of CRW_ENV_FD, or
 * NULL.  -1: the region cannot be opened.
 */
int crt_region_open(const char *path, const char *text);

/* A copy of @fd with a high number, which exec closes; or -1. */
int crt_copy_high(int fd);

#endif
