/* SPDX-License-Identifier: MIT */
/* driver.h - what exports of a trace and of a recording have in common. */
#ifndef EXPORT_DRIVER_H
#define EXPORT_DRIVER_H

#include <errno.h>

#include "base/progress.h"
#include "export/export.h"
#include "export/watch.h"

struct driver {
	const struct sink *sink;
	struct sink_job job;
	struct export_result *result;
	struct watch watch;
	bool is_watched; /* signals are handled; else they have their default effect */
	uint64_t start_ns;
	/* Passes everything to the sink; calls driver_step() for each item. */
	int (*read)(struct driver *d, struct progress *progress, struct err *err);
};

/* Replaces @sink by the one that these options, and a recording, need. */
int driver_choose_sink(const struct sink **sink, const struct export_options *o, bool is_recording,
		       struct err *err);

/*
 * Runs the export.  @name and @bytes (0: unknown) of the source are for the progress.  Fills in the
 * counts of the sink in d->result.
 */
int driver_run(struct driver *d, const char *name, uint64_t bytes, struct err *err);

/* After item @nr, with @read bytes of the source read: fails if a signal requested the end. */
static inline int driver_step(struct driver *d, struct progress *progress, uint64_t nr,
			      uint64_t read, struct err *err)
{
	if (d->is_watched && watch_came(&d->watch))
		return err_set(err, -ECANCELED, "interrupted: nothing was exported");
	if (nr % 4096 == 0)
		progress_update(progress, read);
	return 0;
}

#endif
