/* SPDX-License-Identifier: MIT */
/* frames_show.h - buffers and their layout, for people and for programs. */
#ifndef TOOL_FRAMES_SHOW_H
#define TOOL_FRAMES_SHOW_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/json_writer.h"
#include "frames/desc.h"

/* Every buffer of a process on stdout; returns the exit status. */
int show_buffers(const char *command, pid_t pid, bool json);

/* The fields of every frame, as a table. */
void show_layout(FILE *out, const struct desc *d);

/* Tags, a line each. */
void show_tags(FILE *out, const struct desc *d);

/* How the buffer was made, in a few lines. */
void show_facts(FILE *out, const struct desc *d);

/* The members of an object that describes the buffer. */
void show_desc_json(struct json_writer *w, const struct desc *d);

#endif
