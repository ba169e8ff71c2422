/* SPDX-License-Identifier: MIT */
/*
 * run_leftovers.h - ship the spools that earlier runs left in the directory of spools.
 *
 * A run whose receiver was away leaves its spool; the next run on this machine that ships from the
 * same directory sends it.  Together the spools that are left have at most the size of one: of the
 * oldest beyond it, only the account is sent.
 */
#ifndef TOOL_RUN_LEFTOVERS_H
#define TOOL_RUN_LEFTOVERS_H

#include "run_shipper.h"

/* Start a process that ships them until it gets a signal, or this process ends. */
void leftovers_start(const struct shipping *s, bool (*pause)(int ms));

#endif
