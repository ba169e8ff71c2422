/* SPDX-License-Identifier: MIT */
/*
 * image_hidden.h - memory of a running process that may hold pointers and is not read.
 *
 * The pages of a shared mapping that are not in the page table of the process may have content: it
 * was unmapped, or another process has written it.  Memory without read permission, and memory of
 * devices, is not read either.
 */
#ifndef PROCESS_IMAGE_HIDDEN_H
#define PROCESS_IMAGE_HIDDEN_H

#include "process/page_residency.h"
#include "process/process_image.h"

/* The file of a shared mapping, or -1: it cannot be opened. */
int hidden_open(const struct process_image *image, const struct image_range *range);

/* Bytes of @from to @to that the file has; all of them if @fd is -1. */
uint64_t hidden_shared(int fd, const struct image_range *range, uint64_t from, uint64_t to);

/* Add memory of a range that is not visited to image->bytes_hidden. */
void hidden_range(struct process_image *image, struct page_residency *residency,
		  const struct image_range *range);

#endif
