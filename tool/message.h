/* SPDX-License-Identifier: MIT */
/* message.h - messages on stderr, with the command's name in front. */
#ifndef TOOL_MESSAGE_H
#define TOOL_MESSAGE_H

#include "base/err.h"

/* Print "corotracer run: text"; @command NULL or "": "corotracer: text". */
void message_print(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Print the error, and "hint: ..." if it has one. */
void message_error(const char *command, const struct err *err);

#endif
