/* SPDX-License-Identifier: MIT */
/* page_data.h - the pages as arrays that the build makes; empty if it leaves them out. */
#ifndef PAGE_PAGE_DATA_H
#define PAGE_PAGE_DATA_H

#include "page/page.h"

#define PAGE_DECLARE(name)                               \
	extern const unsigned char page_##name##_html[]; \
	extern const size_t page_##name##_html_size;
PAGES(PAGE_DECLARE)

#endif
