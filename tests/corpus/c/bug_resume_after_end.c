/* SPDX-License-Identifier: MIT */
/*
 * bug_resume_after_end.c - a probe of a host ends when the reply arrives; its entry in the list of
 * timeouts stays, and resumes a probe that has returned.
 *
 * corpus: bug
 * class: resume-after-end
 * victims: probe-17
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include <corotracer/corotracer.h>

#define NR_PROBES 40

struct probe {
	struct corotracer_coro trace;
	bool has_started;
	int reply_at, timeout_at; /* ticks; 0: none */
};

static struct probe probes[NR_PROBES];

static void probe_step(struct probe *p, bool is_reply, int now)
{
	corotracer_resume(&p->trace);
	if (!p->has_started) {
		p->has_started = true;
		p->reply_at = now + 5 + (int)(p - probes) % 7;
		p->timeout_at = now + 20;
		corotracer_await(&p->trace, CTP_REASON_USER, p);
		return;
	}
	p->reply_at = 0;
	/* The reply of probe 17 is a redirect: this path forgets the timeout. */
	if (!is_reply || p != &probes[17])
		p->timeout_at = 0;
	corotracer_done(&p->trace);
}

static void run_tick(int now)
{
	struct probe *p;

	for (p = probes; p < probes + NR_PROBES; p++) {
		if (p->reply_at == now) {
			corotracer_wake(&p->trace, NULL);
			probe_step(p, true, now);
		} else if (p->timeout_at == now) {
			corotracer_wake(&p->trace, NULL);
			probe_step(p, false, now);
		}
	}
}

int main(void)
{
	char name[32];
	int i, now;

	corotracer_init();
	for (now = 1; now < 120; now++) {
		if (now <= NR_PROBES) {
			snprintf(name, sizeof(name), "probe-%d", now - 1);
			corotracer_spawn(&probes[now - 1].trace, name, NULL);
			probe_step(&probes[now - 1], false, now);
		}
		run_tick(now);
		nanosleep(&(struct timespec){ 0, 6000000 }, NULL);
	}
	for (i = 0; i < NR_PROBES; i++)
		corotracer_end(&probes[i].trace);
	return 0;
}
