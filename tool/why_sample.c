/* SPDX-License-Identifier: MIT */
/* why_sample.c - `corotracer why --sample`: look at a process in regular intervals. */
#include "why_sample.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/monotonic.h"
#include "cmd.h"
#include "inspect/sampler.h"
#include "why_types.h"

#define FAILURES_MAX 10 /* in succession */
#define RATE_MIN     0.001
#define RATE_MAX     1000.0

struct why_sampling {
	const struct why_sample_options *options;
	struct wait_profile profile;
	struct sampler sampler;
	sigset_t signals; /* that end it */
	uint64_t start_ns;
	struct profile_run run;
	bool has_exited;
	char name[32]; /* of the process */
};

bool why_sample_parse_rate(void *field, const struct opt_use *use)
{
	uint64_t *period_ns = field;
	char *end;
	double rate;

	errno = 0;
	rate = strtod(use->value, &end);
	if (end == use->value || errno || (*end && strcmp(end, "/s") != 0) ||
	    !(rate >= RATE_MIN && rate <= RATE_MAX))
		return opt_invalid(use, "looks per second, from 0.001/s to 1000/s");
	*period_ns = (uint64_t)(1e9 / rate + 0.5);
	return true;
}

/* ---- waiting ---------------------------------------------------------------------- */

/* Wait until @due_ns.  False: a signal asks for the end. */
static bool sampling_wait(const struct why_sampling *s, uint64_t due_ns)
{
	for (;;) {
		uint64_t now = clock_now_ns(), left = due_ns > now ? due_ns - now : 0;
		struct timespec t = { (time_t)(left / 1000000000u), (long)(left % 1000000000u) };

		if (sigtimedwait(&s->signals, NULL, &t) > 0)
			return false;
		if (errno == EAGAIN)
			return true;
	}
}

/* ---- the looks ---------------------------------------------------------------------- */

/* 1: sampling goes on; 0: it has ended; a negative errno. */
static int sampling_look(struct why_sampling *s, unsigned *failures, struct err *err)
{
	int rc;

	*err = (struct err){ 0 };
	rc = sampler_look(&s->sampler, err);
	if (!rc) {
		*failures = 0;
		return 1;
	}
	if (rc == -ESRCH) {
		/* The end of the process is not a failure. */
		s->profile.losses.failed--;
		s->run.ended_by = "exit";
		s->has_exited = true;
		return 0;
	}
	return ++*failures == FAILURES_MAX ? rc : 1;
}

/* Looks that are due before @now were missed.  Returns the number of the next one. */
static uint64_t sampling_skip(struct why_sampling *s, uint64_t next, uint64_t planned)
{
	uint64_t passed = (clock_now_ns() - s->start_ns) / s->profile.period_ns;

	if (passed > planned)
		passed = planned;
	/* One look takes place, however late. */
	if (passed <= next || !next)
		return next;
	s->profile.losses.late += passed - next;
	return passed;
}

static int sampling_loop(struct why_sampling *s, struct err *err)
{
	uint64_t period = s->profile.period_ns, duration = s->options->duration_ns, next = 0;
	uint64_t planned = duration ? (duration + period - 1) / period : UINT64_MAX;
	unsigned failures = 0;
	int rc = 1;

	s->start_ns = clock_now_ns();
	s->run.ended_by = "duration";
	while (rc > 0 && next < planned) {
		if (!sampling_wait(s, s->start_ns + next * period)) {
			s->run.ended_by = "signal";
			rc = 0;
			break;
		}
		next = sampling_skip(s, next, planned);
		if (next == planned)
			break;
		rc = sampling_look(s, &failures, err);
		next++;
	}
	if (rc > 0 && duration && !sampling_wait(s, s->start_ns + duration))
		s->run.ended_by = "signal";
	if (rc < 0)
		s->run.ended_by = "error";
	s->run.elapsed_ns = clock_now_ns() - s->start_ns;
	return rc < 0 ? rc : 0;
}

static int64_t sampling_wall_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int sampling_run(struct why_sampling *s, pid_t pid, struct err *err)
{
	int rc = sampler_open(&s->sampler, pid, err);

	if (rc == -ESRCH)
		s->has_exited = true;
	if (rc < 0)
		return rc;
	rc = sampler_prepare(&s->sampler, err);
	if (rc < 0 && rc != -ESTALE) {
		s->has_exited = rc == -ESRCH;
		return rc;
	}
	memcpy(s->name, s->sampler.image.name, sizeof(s->name));
	s->run.start_ns = sampling_wall_clock();
	rc = sampling_loop(s, err);
	if (!rc && !s->profile.looks)
		rc = err->code ? err->code
			       : err_set(err, -ENODATA,
					 "cannot sample process %d: %s before the first look",
					 (int)pid, s->has_exited ? "it ended" : "a signal came");
	return rc;
}

/* Also after an error: what the looks before have seen. */
static int sampling_output(struct why_sampling *s, struct err *err)
{
	s->run.name = s->name;
	s->run.problem = sampler_problem(&s->sampler);
	s->run.stopped_ns = s->sampler.stopped_ns;
	wait_profile_sort(&s->profile);
	return why_sample_output(&s->run, s->options, err);
}

int why_sample(pid_t pid, const struct why_sample_options *o, bool *has_exited)
{
	struct why_sampling s = {
		.options = o,
		.profile.period_ns = o->period_ns,
		.sampler.may_stop = o->stacks,
		.run = { .pid = pid, .has_stacks = o->stacks },
	};
	struct err err = { 0 };
	struct type_rules *rules = why_types_load(o->types, &err);
	sigset_t before;
	int rc;

	if (!rules) {
		message_error("why", &err);
		*has_exited = false;
		return EXIT_FAILED;
	}
	s.sampler.rules = rules;
	s.sampler.profile = &s.profile;
	s.run.profile = &s.profile;
	sigemptyset(&s.signals);
	sigaddset(&s.signals, SIGINT);
	sigaddset(&s.signals, SIGTERM);
	sigaddset(&s.signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &s.signals, &before);
	rc = sampling_run(&s, pid, &err);
	/* A second signal ends the tool. */
	sigprocmask(SIG_SETMASK, &before, NULL);
	*has_exited = s.has_exited;
	if (rc < 0)
		message_error("why", &err);
	if (s.profile.looks && sampling_output(&s, &err) < 0) {
		message_error("why", &err);
		rc = err.code;
	}
	sampler_close(&s.sampler);
	wait_profile_release(&s.profile);
	type_rules_free(rules);
	return rc < 0 ? EXIT_FAILED : EXIT_OK;
}
