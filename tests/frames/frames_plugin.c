/* SPDX-License-Identifier: MIT */
/* frames_plugin.c - a library with its own buffer, for unload.c. */
#include "ppt-Plugin.h"

void plugin_save(int value);

__attribute__((visibility("default"))) void plugin_save(int value)
{
	struct ppt_Plugin_note note = { 0 };

	note.value = value;
	ppt_Plugin_note_save(&note);
}
