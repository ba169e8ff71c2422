/* SPDX-License-Identifier: MIT */
/* frames_show.h - print buffers and their layout, as text or JSON. */
#ifndef TOOL_FRAMES_SHOW_H
#define TOOL_FRAMES_SHOW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/json_writer.h"
#include "frames/spec/layout_json.h"

/* Print every buffer of a process on stdout; returns the exit status. */
int show_buffers(const char *command, pid_t pid, bool json);

/* Print the fields of every frame as a table. */
void show_layout(FILE *out, const struct desc *d);

/* Print the tags, one per line. */
void show_tags(FILE *out, const struct desc *d);

/* Print how the buffer was created, in a few lines. */
void show_facts(FILE *out, const struct desc *d);

/* Write the members of an open object that describes the buffer. */
void show_desc_json(struct json_writer *w, const struct desc *d);

#endif
