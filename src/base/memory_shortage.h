/* SPDX-License-Identifier: MIT */
/*
 * memory_shortage.h - remember that memory ran out where the work goes on without the result.
 *
 * A name or a type that could not be stored is missing from the output, and the caller cannot tell
 * it from one that does not exist.  The command ends with a message and a failure instead of
 * success.  File descriptors that ran out and reads that failed count, too.
 */
#ifndef BASE_MEMORY_SHORTAGE_H
#define BASE_MEMORY_SHORTAGE_H

#include <stdbool.h>

#define MEMORY_SHORTAGE_TEXT \
	"memory or descriptors ran out, or a read failed: the output is not complete"

void memory_shortage_note(void);
bool memory_shortage_noted(void);

/*
 * Around calls that answer "not found" without memory, too, such as those of libdw:
 *
 *	int before = memory_shortage_watch();
 *
 *	... calls ...
 *	memory_shortage_check(before);
 *
 * malloc() sets errno, and calls that succeed do not reset it.  Such pairs can be nested.
 */
int memory_shortage_watch(void);
void memory_shortage_check(int before);

#endif
