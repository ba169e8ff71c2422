/* SPDX-License-Identifier: MIT */
/* load_stream.c - load the messages of a NATS stream. */
#include <errno.h>

#include "load_source.h"

int load_stream(struct load_job *job, const char *rest, struct err *err)
{
	(void)job;
	(void)rest;
	return err_set(err, -ENOSYS, "not yet");
}
