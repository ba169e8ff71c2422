/* SPDX-License-Identifier: MIT */
/*
 * shipper.h - send the blocks of a trace to a receiver until all have arrived.
 *
 * The trace may still be written.  Its file is the spool while the receiver is away; progress is
 * in TRACE.shipped, so that another shipper can go on.  Every block is sent, waits in the spool or
 * was given up, and is counted as that.
 */
#ifndef SHIP_SHIPPER_H
#define SHIP_SHIPPER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ship/ship_spool.h"
#include "ship/ship_state.h"
#include "ship/ship_transport.h"

struct shipper_config {
	const char *trace;
	struct ship_transport *transport; /* not closed */
	struct ship_labels labels;        /* empty texts: what the trace says */
	uint64_t spool_size; /* give up the oldest blocks beyond it; 0: the trace stays whole */
	bool has_ended;      /* the trace does not grow, although its file is locked */
	bool is_new;         /* do not go on with an earlier TRACE.shipped */
	uint64_t wait_ns;    /* for the receiver, after the end of the trace, */
	bool waits_while_blocks_arrive; /* or after the last block that arrived */
	/*
	 * With labels.sample: report coroutines with findings, which are then sent whole, to
	 * @found.  Called now and then, the last time with @has_ended.  May be NULL.
	 */
	void (*watch)(bool has_ended, void (*found)(void *arg, uint64_t probe_id), void *arg);
	/* Wait up to @ms; true: stop shipping. */
	bool (*pause)(int ms);
	/* Something went wrong and is tried again; NULL: it works again. */
	void (*report)(const struct ship_transport *t, const struct err *trouble);
};

struct shipper_result {
	char run[SHIP_RUN_SIZE];
	struct ship_count shipped, spooled, given_up;
	struct ship_count left_out; /* by sampling, of blocks that arrived */
	struct ship_count whole;    /* arrived in further blocks, of coroutines with findings */
	uint64_t whole_coroutines;  /* coroutines in these */
	uint64_t sample;
	bool is_finished;  /* everything has arrived or was given up, and the account has arrived */
	bool was_finished; /* before this call */
	struct err no_punch; /* why space of the spool is not given back; code 0: it is */
};

/* 0 if there was a trace, however much of it arrived: see @result. */
int shipper_run(const struct shipper_config *config, struct shipper_result *result,
		struct err *err);

#endif
