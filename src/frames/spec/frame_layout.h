/* SPDX-License-Identifier: MIT */
/* frame_layout.h - compute the offsets of a description's members. */
#ifndef FRAMES_SPEC_FRAME_LAYOUT_H
#define FRAMES_SPEC_FRAME_LAYOUT_H

#include "frames/spec/layout_json.h"

/*
 * Fill in the fields of all frames, the frame size and the stride.  The rules are those of the
 * existing ppt tool; docs/frames.md describes them.
 */
int layout_make(struct desc *d, struct err *err);

#endif
