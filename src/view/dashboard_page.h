/* SPDX-License-Identifier: MIT */
/* dashboard_page.h - the dashboard's page as embedded by the build; empty if the build omits it. */
#ifndef VIEW_DASHBOARD_PAGE_H
#define VIEW_DASHBOARD_PAGE_H

#include <stddef.h>

extern const unsigned char page_index_html[];
extern const size_t page_index_html_size;

#endif
