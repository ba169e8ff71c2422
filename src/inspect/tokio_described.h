/* SPDX-License-Identifier: MIT */
/* tokio_described.h - waits and guards of Tokio's tasks, in the lists of described_waits.h. */
#ifndef INSPECT_TOKIO_DESCRIBED_H
#define INSPECT_TOKIO_DESCRIBED_H

#include "inspect/inspection.h"

/* Add those of all tasks in in->tokio to in->described, and sort it.  0 or -ENOMEM. */
int tokio_described_add(struct inspection *in);

#endif
