/* SPDX-License-Identifier: MIT */
/* section_read.h - a section out of a page that was written before: the reverse of bundle.h. */
#ifndef PAGE_SECTION_READ_H
#define PAGE_SECTION_READ_H

#include <stdio.h>

#include "base/bytes.h"
#include "base/err.h"

/*
 * Find section @name in the page @in, which is read once, and unpack it into @out.  The section is
 * refused if it has more than @max bytes, packed or unpacked.  1: found; 0: the page does not have
 * it; a negative errno, with a message in @err.  @path is for messages.
 */
int page_section_read(FILE *in, const char *path, const char *name, size_t max, struct bytes *out,
		      struct err *err);

#endif
