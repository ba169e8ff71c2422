/* SPDX-License-Identifier: MIT */
/* detect_imbalance.c - few threads do most of the work. */
#include <inttypes.h>

#include "analyze/detector.h"

static void detect_imbalance_on_finish(struct analysis *a)
{
	const struct model *m = analysis_model(a);
	const struct thread_count *most = NULL, *least = NULL;
	size_t i, workers = 0;
	struct finding f = { .detector = &detector_imbalance, .confidence = CONFIDENCE_INFO };

	for (i = 0; i < m->nr_threads; i++) {
		const struct thread_count *t = &m->thread_counts[i];

		/* A thread with less than 0.1 % of the resumes does not count as a worker. */
		if (t->resumes * 1000 < m->resumes || !t->resumes)
			continue;
		workers++;
		if (!most || t->resumes > most->resumes)
			most = t;
		if (!least || t->resumes < least->resumes)
			least = t;
	}
	if (workers < 2 || m->resumes < 1000 || most->resumes < 3 * least->resumes)
		return;
	f.ts = m->first_ts;
	finding_say(&f,
		    "of %zu threads %" PRIu64 " resumed %" PRIu64 " times, %" PRIu64
		    " only %" PRIu64,
		    workers, most->tid, most->resumes, least->tid, least->resumes);
	finding_doubt(a, &f, NEED_TRANSITIONS);
	finding_report(a, &f);
}

const struct detector detector_imbalance = {
	.name = "imbalance",
	.code = "T2",
	.title = "Uneven workers",
	.meaning = "One thread resumed more than three times as often as another.",
	.advice = "If all should do the same work: how are coroutines given to workers, and do "
		  "idle ones steal?",
	.is_fault = false,
	.on_finish = detect_imbalance_on_finish,
};
