/* SPDX-License-Identifier: MIT */
/*
 * control_thread.h - requests to a running program: record, stop recording, add a mark; and bursts.
 *
 * `corotracer mem ctl` writes a request into the process's entry in the region (wire.h) and wakes a
 * thread of the program that sleeps there.  Only programs with the option control=1 or burst= have
 * it.  With bursts it also switches recording on and off by the clock.
 */
#ifndef RUNTIME_MEMORY_CONTROL_THREAD_H
#define RUNTIME_MEMORY_CONTROL_THREAD_H

/* After the session has begun.  Without a thread, requests are refused. */
void crt_control_begin(void);

#endif
