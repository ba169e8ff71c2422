/* SPDX-License-Identifier: MIT */
/* detect_migration.c - coroutines are mostly resumed on another thread. */
#include <inttypes.h>

#include "analyze/detector.h"

static void detect_migration_on_finish(struct analysis *a)
{
	const struct model *m = analysis_model(a);
	uint32_t i;

	for (i = 0; i < m->nr_spawns; i++) {
		const struct spawn *s = &m->spawns[i];
		struct finding f = {
			.detector = &detector_migration,
			.confidence = CONFIDENCE_INFO,
			.spawn = i,
			.ts = m->first_ts,
		};

		if (s->resumes < 1000 || s->migrations * 2 < s->resumes)
			continue;
		finding_say(&f,
			    "%" PRIu64 " of %" PRIu64 " resumes were on another thread than before",
			    s->migrations, s->resumes);
		finding_doubt(a, &f, NEED_TRANSITIONS);
		finding_report(a, &f);
	}
}

const struct detector detector_migration = {
	.name = "migration",
	.code = "M1",
	.title = "Migration",
	.meaning = "Coroutines of this kind change their thread more often than not, and leave "
		   "their cache behind.",
	.advice = "Report only. If it costs, wake them on the worker that ran them last.",
	.is_fault = false,
	.on_finish = detect_migration_on_finish,
};
