/* SPDX-License-Identifier: MIT */
/*
 * ship_labels.h - whose block an envelope has: service, build, host, run; at the end the account.
 *
 * The account of a run is exact: every event that the program wrote is collected or lost, and
 * every collected event was sent or given up.
 */
#ifndef SHIP_LABELS_H
#define SHIP_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/json_writer.h"

#define SHIP_LABEL_SIZE 256 /* of a text, with its end */
#define SHIP_RUN_SIZE   33  /* 32 hexadecimal digits, and the end */

/* Of the last envelope of a run.  Transitions, unless the name says others. */
struct ship_final {
	uint64_t written, collected, lost;
	uint64_t others_written, others_collected, others_lost;
	uint64_t blocks; /* of the trace */
	uint64_t given_up_blocks, given_up_transitions, given_up_others;
	uint64_t left_out_transitions, left_out_others; /* by sampling */
	uint64_t whole_blocks; /* further blocks, of coroutines that are sent whole */
	bool ended;            /* the trace has totals; false: its collector was killed */
};

struct ship_labels {
	char service[SHIP_LABEL_SIZE];
	char build[SHIP_LABEL_SIZE]; /* build-id of the program's file; empty: not known */
	char version[SHIP_LABEL_SIZE];
	char host[SHIP_LABEL_SIZE];
	char region[SHIP_LABEL_SIZE];
	char run[SHIP_RUN_SIZE];
	uint64_t sample;                   /* N: the block has one coroutine in N */
	uint64_t start_ts, start_realtime; /* of the run; 0: not known */
	bool has_final;
	struct ship_final final;
};

/* Write the labels as a JSON object. */
void ship_labels_write(struct json_writer *w, const struct ship_labels *labels);

/*
 * Unknown members are ignored and missing texts are empty.  0, -ENOMEM, or -EPROTO: not JSON, a
 * member of another type, a text that is too long, no run or no host.
 */
int ship_labels_parse(const char *text, size_t size, struct ship_labels *labels, struct err *err);

/* A new random number for a run. */
int ship_run_new(char run[SHIP_RUN_SIZE], struct err *err);

/* True: 32 digits from 0 to f. */
bool ship_run_is_valid(const char *run);

#endif
