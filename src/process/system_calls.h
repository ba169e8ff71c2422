/* SPDX-License-Identifier: MIT */
/* system_calls.h - names of the system calls that block. */
#ifndef PROCESS_SYSTEM_CALLS_H
#define PROCESS_SYSTEM_CALLS_H

#include <stdint.h>

/* "epoll_wait"; "another system call" for those that do not block for long. */
const char *system_call_name(int64_t number);

#endif
