/* SPDX-License-Identifier: MIT */
/* process_check.h - whether a process or thread that shared memory names still exists. */
#ifndef PROCESS_PROCESS_CHECK_H
#define PROCESS_PROCESS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

/*
 * True if the thread has ended, as a zombie too; @tid equal to @pid: the process.  False if it
 * cannot be told.
 */
bool process_thread_ended(uint32_t pid, uint32_t tid);

#endif
