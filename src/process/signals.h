/* SPDX-License-Identifier: MIT */
/*
 * signals.h - deliver each signal from the user to the program exactly once.
 *
 * Program and collector share a process group, so that pipelines and job control work as
 * without the collector.  Hence a Ctrl-C, or a kill of the whole group, reaches the program
 * directly, and forwarding it would deliver it twice (which many programs take as "quit
 * immediately").  A signal sent to the collector alone must be forwarded.  The kernel does not
 * report which of the two it was.  So there is a witness: a child in the same group that only
 * notes which signals it receives.  A signal that the witness also received was sent to the
 * group.
 */
#ifndef PROCESS_SIGNALS_H
#define PROCESS_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/u64map.h"
#include "process/exit_witness.h"

struct signals {
	int fd; /* signalfd; -1: closed */
	struct witness witness;
	struct u64map ends; /* by pid: when the witness saw it end */
	sigset_t inherited_mask;
	struct sigaction inherited[3]; /* original actions of SIGPIPE, SIGXFSZ and SIGCHLD */
	sigset_t unwanted;     /* originally ignored: do not stop the collector; never SIGINT */
	uint64_t due_ns[NSIG]; /* when to forward, unless the witness received it too; 0: nothing */
	uint64_t noted_ns[NSIG];   /* when the witness last received it */
	uint64_t handled_ns[NSIG]; /* when the collector last handled it */
	uint64_t asked_ns[NSIG];   /* when the witness was asked whether it received it; 0: not */
	uint32_t question[NSIG];   /* the number of that question */
	uint32_t nr_asked, nr_answered;
	bool asked_to_stop; /* SIGINT, SIGTERM or SIGHUP was received */
	int stop_signal;    /* the last of these */
	uint32_t nr_stops;  /* how many of these were received */
	int kept;           /* handled by the collector and not forwarded; 0: none */
	bool kept_came;
};

/* From here on signals arrive through signals_serve().  @with_witness: a program will run. */
int signals_open(struct signals *s, bool with_witness, struct err *err);
void signals_close(struct signals *s);

/* Read the witness's notes: the witness blocks after a few thousand unread ones. */
void signals_hear_witness(struct signals *s);

/* Let the witness note when @pid ends: see signals_end_of(). */
void signals_watch(struct signals *s, pid_t pid);

/* When the watched @pid ended; 0: unknown.  Waits until @until_ns for the witness's note. */
uint64_t signals_end_of(struct signals *s, pid_t pid, uint64_t until_ns);

/* In the forked child, before exec: restore the inherited signal state. */
void signals_restore_in_child(const struct signals *s);

/* From now on the collector handles @sig itself and does not forward it. */
void signals_keep(struct signals *s, int sig);

/* True if that signal arrived since the last call. */
bool signals_kept(struct signals *s);

/* Read pending signals.  Never blocks. */
void signals_serve(struct signals *s, uint64_t now_ns);

/* True if a signal that asks to stop was read: by the one collector of this process. */
bool signals_stop_was_read(void);

/* Forward due signals to @program; returns when the next one is due (UINT64_MAX: none). */
uint64_t signals_pass_on(struct signals *s, pid_t program, uint64_t now_ns);

#endif
