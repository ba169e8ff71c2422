/* SPDX-License-Identifier: MIT */
/* region_control.h - send a request to a running traced program, through its region. */
#ifndef MEMORY_COLLECT_REGION_CONTROL_H
#define MEMORY_COLLECT_REGION_CONTROL_H

#include <stdint.h>

#include "base/err.h"

/*
 * Send @request (CRW_REQUEST_* of wire.h) to process @pid and wait until it is served.  @text: of a
 * mark; cut to CRW_MARK_MAX bytes.  0 or a negative errno.
 */
int region_control_send(uint32_t pid, uint32_t request, const char *text, struct err *err);

#endif
