/* SPDX-License-Identifier: MIT */
/* layout.h - give the members of a description their places in the frame. */
#ifndef FRAMES_LAYOUT_H
#define FRAMES_LAYOUT_H

#include "frames/desc.h"

/*
 * Fill in the fields of all frames, the frame's size and the stride.  The rules are
 * those of the existing tool, and docs/frames.md has them in words.
 */
int layout_make(struct desc *d, struct err *err);

#endif
