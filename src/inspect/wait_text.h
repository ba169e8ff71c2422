/* SPDX-License-Identifier: MIT */
/* wait_text.h - say what the coroutines of a group wait for. */
#ifndef INSPECT_WAIT_TEXT_H
#define INSPECT_WAIT_TEXT_H

#include "base/printer.h"
#include "inspect/inspection.h"

/* In text a line, if something is known; in JSON "waits_for". */
void print_waits_for(struct inspection *in, struct printer *p, const struct inspect_group *g);

/* "descriptor 5: socket ..."; @is_certain: the coroutine waits for it and does not only hold it. */
void print_descriptor(struct inspection *in, struct printer *p, int fd, bool is_certain);

#endif
