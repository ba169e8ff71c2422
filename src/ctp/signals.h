/* SPDX-License-Identifier: MIT */
/*
 * signals.h - what the user does to us, the program should feel exactly once.
 *
 * Program and collector share a process group, so that pipelines and job control
 * work as without us.  Hence a Ctrl-C, or a kill of the whole group, reaches the
 * program by itself, and passing it on would deliver it twice (which, to many
 * programs, means "now really quit").  A signal sent to the collector alone must be
 * passed on.  The kernel does not tell which it was.  So there is a witness: a child
 * in the same group that does nothing but note which signals it gets.  What it got
 * too was meant for the group.
 */
#ifndef CTP_SIGNALS_H
#define CTP_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/u64map.h"
#include "ctp/witness.h"

struct signals {
	int fd; /* signalfd; -1: closed */
	struct witness witness;
	struct u64map ends; /* by pid: when the witness saw it end */
	sigset_t inherited_mask;
	struct sigaction inherited[3]; /* what SIGPIPE, SIGXFSZ and SIGCHLD did before us */
	sigset_t unwanted;             /* were ignored before us: no reason to stop; never SIGINT */
	uint64_t due_ns[NSIG];         /* pass on then, unless the witness got it too; 0: nothing */
	uint64_t noted_ns[NSIG];       /* when the witness last got it */
	uint64_t handled_ns[NSIG];     /* when we last decided about it */
	bool asked_to_stop;            /* one of SIGINT, SIGTERM, SIGHUP came */
	int stop_signal;               /* which came last */
	int kept;                      /* one that is for us, and not passed on; 0: none */
	bool kept_came;
};

/* From here on signals come through signals_serve().  @with_witness: a program will run. */
int signals_open(struct signals *s, bool with_witness, struct err *err);
void signals_close(struct signals *s);

/* Take the witness's notes: it waits when a few thousand were not taken. */
void signals_hear_witness(struct signals *s);

/* Note when @pid ends, with a witness: see signals_end_of(). */
void signals_watch(struct signals *s, pid_t pid);

/* When the watched @pid ended; 0: unknown.  Waits until @until_ns for the witness's note. */
uint64_t signals_end_of(struct signals *s, pid_t pid, uint64_t until_ns);

/* In the forked child, before exec: as if we had never been there. */
void signals_restore_in_child(const struct signals *s);

/* @sig is for us from now on: it is not passed on. */
void signals_keep(struct signals *s, int sig);

/* Did it come since the last call? */
bool signals_kept(struct signals *s);

/* Take what came.  Never waits. */
void signals_serve(struct signals *s, uint64_t now_ns);

/* Pass on to @program what is due; returns when the next is (UINT64_MAX: nothing). */
uint64_t signals_pass_on(struct signals *s, pid_t program, uint64_t now_ns);

#endif
