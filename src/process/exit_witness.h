/* SPDX-License-Identifier: MIT */
/*
 * exit_witness.h - a child of the collector that notes what the collector may be too late to see.
 *
 * It notes the signals that the process group gets, and when each watched process ends.  The
 * collector cannot do either by itself: it may be stopped, blocked in write(2), or minutes
 * behind the program it reads from.  The witness does nothing else, so its times are those of
 * the events up to the scheduler's delay.
 *
 * It holds no descriptor of the collector and ends with it.
 */
#ifndef PROCESS_EXIT_WITNESS_H
#define PROCESS_EXIT_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct witness {
	pid_t pid;    /* 0: none */
	int notes_fd; /* from the witness, non-blocking; -1: none */
	int watch_fd; /* to the witness: processes to watch; -1: none */
};

struct witness_note {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	int32_t sig;      /* that the group received; 0: a process ended, or an answer */
	int32_t pid;      /* of that process; 0: the answer to witness_ask() */
};

/* @signals must be blocked.  Failure leaves no witness: the functions below then do nothing. */
void witness_start(struct witness *w, const sigset_t *signals);
void witness_stop(struct witness *w);

/* Note when @pid ends. */
void witness_watch(const struct witness *w, pid_t pid);

/*
 * Ask for a note behind those of all signals that the group has received.  False: there will be no
 * answer.
 */
bool witness_ask(const struct witness *w);

/* The next note, if there is one.  Never blocks. */
bool witness_next(const struct witness *w, struct witness_note *note);

#endif
