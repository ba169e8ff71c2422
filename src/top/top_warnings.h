/* SPDX-License-Identifier: MIT */
/*
 * top_warnings.h - what is wrong in a picture: findings of the detectors of `report`, and loss.
 *
 * A picture is one moment: `report` on the trace decides.
 */
#ifndef TOP_TOP_WARNINGS_H
#define TOP_TOP_WARNINGS_H

#include "top/top_rows.h"

#define TOP_WARNINGS_MAX 8
#define TOP_WARNING_SIZE 160

struct top_warnings {
	char text[TOP_WARNINGS_MAX][TOP_WARNING_SIZE]; /* untrusted names are in it */
	unsigned nr;
};

void top_warnings_make(struct top_warnings *w, const struct top_picture *p);

#endif
