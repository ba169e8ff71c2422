/* SPDX-License-Identifier: MIT */
/* completion_scripts.h - the files of tool/completion, embedded by scripts/embed.cmake. */
#ifndef TOOL_COMPLETION_SCRIPTS_H
#define TOOL_COMPLETION_SCRIPTS_H

#include <stddef.h>

extern const unsigned char completion_corotracer_bash[], completion_corotracer_zsh[],
	completion_corotracer_fish[];
extern const size_t completion_corotracer_bash_size, completion_corotracer_zsh_size,
	completion_corotracer_fish_size;

#endif
