/* SPDX-License-Identifier: MIT */
/* profile_formats.h - time by stacks, in the formats of flamegraph.pl, pprof and speedscope. */
#ifndef EXPORT_PROFILE_FORMATS_H
#define EXPORT_PROFILE_FORMATS_H

#include "base/output_file.h"
#include "base/proto.h"
#include "export/time_tree.h"

/* What is written beside the tree. */
struct profile_head {
	const char *name;          /* of the program or of the recording */
	const char *what;          /* what is counted: "states", "frames" */
	uint64_t start_realtime;   /* ns since 1970; 0: not known */
	uint64_t duration_ns;      /* 0: not known */
	const char *const *states; /* names of the states of levels, by number; NULL: none */
	unsigned nr_states;
};

/* "lowest;middle;highest N": microseconds.  Stacks without a microsecond are left out. */
void profile_put_folded(struct outfile *out, const struct time_tree *t);

/* The object of https://www.speedscope.app/file-format-schema.json.  0 or a negative errno. */
int profile_put_speedscope(struct outfile *out, const struct time_tree *t,
			   const struct profile_head *head);

/* The message perftools.profiles.Profile, compressed with gzip.  0 or -ENOMEM. */
int profile_put_pprof(struct outfile *out, const struct time_tree *t,
		      const struct profile_head *head);

#endif
