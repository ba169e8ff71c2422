/* SPDX-License-Identifier: MIT */
/*
 * detect_address.c - a coroutine is suspended at an impossible address.
 *
 * Checks suspensions only: the address of a resume is always 0.  Applies only to programs that
 * record addresses: at least nine of ten suspensions without a site have one.
 */
#include <inttypes.h>

#include "analyze/detector.h"

static bool is_impossible(uint64_t addr)
{
	/*
	 * The first page is never mapped; addresses above 56 bits are non-canonical or the
	 * kernel's.
	 */
	return addr < 4096 || (addr >> 56 && addr >> 56 != 0xff) || addr >> 63;
}

static void detect_address_on_stuck(struct analysis *a, struct coro *co)
{
	const struct model *m = analysis_model(a);
	struct finding f = FINDING_OF(&detector_address, co);

	if (co->site || !is_impossible(co->addr) || m->addresses < 100 ||
	    m->addresses * 10 < m->bare_suspends * 9)
		return;
	f.size_ns = model_age(m, co);
	f.confidence = m->has_totals && (m->totals.signal == 7 || m->totals.signal == 11)
			       ? CONFIDENCE_STRONG
			       : CONFIDENCE_SUSPECT;
	finding_say(&f,
		    "it is suspended at 0x%" PRIx64 "; nine of ten others tell an address of code",
		    co->addr);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	co->explained = true;
	finding_report(a, &f);
}

const struct detector detector_address = {
	.name = "suspicious-address",
	.code = "A1",
	.title = "Suspicious address",
	.meaning = "The address at which the coroutine will be resumed cannot be one: resuming it "
		   "would be a SIGSEGV or SIGBUS.",
	.advice = "The frame or its handle was overwritten, or used after it was freed: try "
		  "AddressSanitizer.",
	.is_fault = true,
	.on_stuck = detect_address_on_stuck,
};
