/* SPDX-License-Identifier: MIT */
/* templates.h - the files in template/, embedded by the build (embed.cmake). */
#ifndef FRAMES_SPEC_TEMPLATES_H
#define FRAMES_SPEC_TEMPLATES_H

#include <stddef.h>

extern const unsigned char template_ppt_h[], template_ppt_hh[], template_ppt_c[];
extern const size_t template_ppt_h_size, template_ppt_hh_size, template_ppt_c_size;

#endif
