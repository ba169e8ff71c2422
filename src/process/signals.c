/* SPDX-License-Identifier: MIT */
/* signals.c - deliver each signal from the user to the program exactly once. */
#include "process/signals.h"

#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/monotonic.h"

/* Time for the witness to note a signal that the whole group received. */
#define WITNESS_NS (30 * NS_PER_MS)
/* On a busy machine it takes longer: the witness is asked, and has this time for its answer. */
#define ANSWER_NS (2 * NS_PER_SEC)
#define LOOK_NS   (2 * NS_PER_MS)

static const int passed_on[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 };
#define NR_PASSED_ON (sizeof(passed_on) / sizeof(passed_on[0]))

/* Failing writes must return an error instead of killing the collector. */
static const int ignored[] = { SIGPIPE, SIGXFSZ };
#define NR_IGNORED 2

static void passed_on_set(sigset_t *set)
{
	size_t i;

	sigemptyset(set);
	for (i = 0; i < NR_PASSED_ON; i++)
		sigaddset(set, passed_on[i]);
}

/* ---- the witness ------------------------------------------------------------ */

void signals_hear_witness(struct signals *s)
{
	struct witness_note note;

	while (witness_next(&s->witness, &note)) {
		if (note.sig > 0 && note.sig < NSIG)
			s->noted_ns[note.sig] = note.time_ns;
		else if (!note.sig && !note.pid)
			s->nr_answered++;
		else if (!note.sig)
			(void)!u64map_put(&s->ends, (uint64_t)note.pid, note.time_ns);
	}
}

void signals_watch(struct signals *s, pid_t pid)
{
	witness_watch(&s->witness, pid);
}

uint64_t signals_end_of(struct signals *s, pid_t pid, uint64_t until_ns)
{
	struct pollfd notes = { .fd = s->witness.notes_fd, .events = POLLIN };
	uint64_t end, now;

	for (;;) {
		signals_hear_witness(s);
		if (u64map_get(&s->ends, (uint64_t)pid, &end))
			return end;
		now = clock_now_ns();
		if (!s->witness.pid || now >= until_ns)
			return 0;
		if (poll(&notes, 1, (int)((until_ns - now) / NS_PER_MS) + 1) > 0 &&
		    !(notes.revents & POLLIN))
			return 0;
	}
}

/* ---- the collector ------------------------------------------------------------ */

/*
 * Signals that were ignored when the tool was started do not stop it: SIGHUP under nohup.
 * SIGINT is the exception.  A shell without job control ignores it in every background job,
 * and `kill -INT` is the documented way to end `collect`.
 */
static void note_unwanted(struct signals *s)
{
	struct sigaction was;
	size_t i;

	sigemptyset(&s->unwanted);
	for (i = 0; i < NR_PASSED_ON; i++) {
		if (passed_on[i] != SIGINT && sigaction(passed_on[i], NULL, &was) == 0 &&
		    was.sa_handler == SIG_IGN)
			sigaddset(&s->unwanted, passed_on[i]);
	}
}

int signals_open(struct signals *s, bool with_witness, struct err *err)
{
	struct sigaction ignore;
	sigset_t set, noted;

	memset(s, 0, sizeof(*s));
	s->witness.notes_fd = s->witness.watch_fd = -1;
	passed_on_set(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &s->inherited_mask);
	memset(&ignore, 0, sizeof(ignore));
	ignore.sa_handler = SIG_IGN;
	sigaction(ignored[0], &ignore, &s->inherited[0]);
	sigaction(ignored[1], &ignore, &s->inherited[1]);
	/* If SIGCHLD were ignored (inherited from a launcher), children could not be waited for. */
	ignore.sa_handler = SIG_DFL;
	sigaction(SIGCHLD, &ignore, &s->inherited[2]);
	note_unwanted(s);
	/*
	 * Before other files are opened, so that the witness inherits as few descriptors as
	 * possible.
	 */
	passed_on_set(&noted);
	if (with_witness)
		witness_start(&s->witness, &noted);
	s->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (s->fd >= 0)
		return 0;
	witness_stop(&s->witness);
	return err_errno(err, "cannot watch for signals");
}

void signals_close(struct signals *s)
{
	struct signalfd_siginfo late;

	if (s->fd < 0)
		return;
	/*
	 * A signal that arrived while the files were closed must not end the process before the
	 * summary.
	 */
	while (read(s->fd, &late, sizeof(late)) == sizeof(late))
		;
	close(s->fd);
	s->fd = -1;
	witness_stop(&s->witness);
	u64map_release(&s->ends);
	signals_restore_in_child(s);
}

void signals_restore_in_child(const struct signals *s)
{
	sigaction(ignored[0], &s->inherited[0], NULL);
	sigaction(ignored[1], &s->inherited[1], NULL);
	sigaction(SIGCHLD, &s->inherited[2], NULL);
	sigprocmask(SIG_SETMASK, &s->inherited_mask, NULL);
}

void signals_keep(struct signals *s, int sig)
{
	s->kept = sig;
}

bool signals_kept(struct signals *s)
{
	bool came = s->kept_came;

	s->kept_came = false;
	return came;
}

static bool is_request(int sig)
{
	return sig == SIGINT || sig == SIGTERM || sig == SIGHUP;
}

static bool stop_was_read;

bool signals_stop_was_read(void)
{
	return stop_was_read;
}

void signals_serve(struct signals *s, uint64_t now_ns)
{
	struct signalfd_siginfo info;

	while (read(s->fd, &info, sizeof(info)) == sizeof(info)) {
		int sig = (int)info.ssi_signo;

		if (sig == SIGCHLD) /* only needed to end the wait */
			continue;
		if (sig == s->kept) {
			s->kept_came = true;
			continue;
		}
		if (is_request(sig) && sigismember(&s->unwanted, sig) != 1) {
			s->asked_to_stop = stop_was_read = true;
			s->nr_stops++;
			s->stop_signal = sig;
		}
		/* From a terminal: such a signal always goes to the whole group. */
		if (info.ssi_code == SI_KERNEL)
			s->noted_ns[sig] = now_ns;
		if (!s->due_ns[sig])
			s->due_ns[sig] = now_ns + WITNESS_NS;
	}
}

/* True if the program received the signal itself, as a member of the group. */
static bool reached_the_group(const struct signals *s, int sig, pid_t program)
{
	/* However long ago: the collector may have been stopped, or blocked by a slow disk. */
	return s->noted_ns[sig] > s->handled_ns[sig] && getpgid(program) == getpgrp();
}

/* True if the witness has noted all that it received before it was asked, or does not answer. */
static bool witness_has_answered(struct signals *s, int sig, uint64_t now_ns)
{
	if (!s->asked_ns[sig]) {
		if (!witness_ask(&s->witness))
			return true;
		s->asked_ns[sig] = now_ns;
		s->question[sig] = ++s->nr_asked;
		return false;
	}
	return s->nr_answered >= s->question[sig] || now_ns - s->asked_ns[sig] > ANSWER_NS;
}

/* True if it was forwarded, or need not be; false: it is not yet known. */
static bool signal_is_settled(struct signals *s, int sig, pid_t program, uint64_t now_ns)
{
	signals_hear_witness(s);
	if (program <= 0 || reached_the_group(s, sig, program))
		return true;
	if (!witness_has_answered(s, sig, now_ns))
		return false;
	kill(program, sig);
	return true;
}

uint64_t signals_pass_on(struct signals *s, pid_t program, uint64_t now_ns)
{
	uint64_t next = UINT64_MAX;
	size_t i;

	for (i = 0; i < NR_PASSED_ON; i++) {
		int sig = passed_on[i];

		if (!s->due_ns[sig])
			continue;
		if (s->due_ns[sig] > now_ns) {
			next = s->due_ns[sig] < next ? s->due_ns[sig] : next;
			continue;
		}
		if (!signal_is_settled(s, sig, program, now_ns)) {
			s->due_ns[sig] = now_ns + LOOK_NS;
			next = s->due_ns[sig] < next ? s->due_ns[sig] : next;
			continue;
		}
		s->due_ns[sig] = s->asked_ns[sig] = 0;
		s->handled_ns[sig] = now_ns;
	}
	return next;
}
