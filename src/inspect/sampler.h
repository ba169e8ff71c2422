/* SPDX-License-Identifier: MIT */
/*
 * sampler.h - look at a running process many times, and add up where its tasks are.
 *
 *	struct sampler s = { .profile = &profile };
 *
 *	sampler_open(&s, pid, &err);
 *	sampler_prepare(&s, &err);
 *	while (...)
 *		sampler_look(&s, &err);
 *	sampler_close(&s);
 *
 * Symbols, types and code analysis are kept between the looks, until the process has other modules.
 * Memory is read completely in each look: what has not changed cannot be known without a change of
 * the process.
 */
#ifndef INSPECT_SAMPLER_H
#define INSPECT_SAMPLER_H

#include "inspect/wait_profile.h"

struct sampler {
	struct wait_profile *profile;   /* set by the caller */
	bool may_stop;                  /* set by the caller: see inspection.h */
	const struct type_rules *rules; /* set by the caller: likewise */
	pid_t pid;
	struct process_image image;
	struct inspection *in;
	bool is_open;
	bool has_no_bpf;       /* registers cannot be read without a stop */
	uint64_t modules;      /* hash of the modules that the inspection knows */
	uint64_t stopped_ns;   /* of all looks */
	struct u64map points;  /* suspend point of a C++ coroutine to its place */
	struct u64map futures; /* place of a Rust future, the same */
	uint32_t *path;        /* frames of the stack that is resolved */
};

int sampler_open(struct sampler *s, pid_t pid, struct err *err);

/* Look once without adding to the profile: reads what later looks need of the program's files. */
int sampler_prepare(struct sampler *s, struct err *err);

/*
 * Add one look to the profile.  0 or a negative errno; -ESRCH: the process has ended.  A look that
 * fails adds nothing, and is counted in the losses.
 */
int sampler_look(struct sampler *s, struct err *err);

/* A sentence on what the program lacks; NULL: no problem.  Valid until the next look. */
const char *sampler_problem(const struct sampler *s);

/* Safe on a sampler that could not be opened. */
void sampler_close(struct sampler *s);

#endif
