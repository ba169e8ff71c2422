/* SPDX-License-Identifier: MIT */
/*
 * fleet_ask.h - the questions that are asked over all hosts: SQL files, their parameters, answers.
 *
 * A question is one SQL file over the 10 s aggregates, or one over the single waits ("raw"), or
 * both.  Each answer comes with the account of the runs that it is based on: what was lost, given
 * up, sampled or is not loaded yet.
 */
#ifndef FLEET_ASK_H
#define FLEET_ASK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/err.h"
#include "fleet/fleet_ask_table.h"

/* Send @sql, add the answer to @answer.  A negative errno with a message on failure. */
typedef int (*fleet_query_fn)(void *server, const char *sql, struct bytes *answer, struct err *err);

struct fleet_question {
	const char *name;
	const char *summary;         /* one line, lower case */
	const char *file, *raw_file; /* SQL; one of them may be NULL */
	const char *none;            /* what an empty answer means; NULL: there is no data */
	uint32_t since;              /* default, in seconds before now; 0: everything */
};

/* The table ends with a row without a name. */
extern const struct fleet_question fleet_questions[];
const struct fleet_question *fleet_question_find(const char *name);

/* What to ask about.  Texts may be NULL: everything. */
struct fleet_ask {
	const struct fleet_question *question;
	const char *service, *build, *base, *site, *host, *run;
	const char *sql_dir;         /* the user's own SQL files */
	uint64_t coroutine;          /* probe id */
	uint32_t since, until, step; /* seconds since 1970, step in seconds; 0: choose */
	uint32_t limit;              /* rows */
	bool raw;                    /* single waits, not aggregates */
	bool is_clustered;           /* set by fleet_ask_begin(): use the Distributed tables */
	/* Set by fleet_ask_begin() where the user did not choose. */
	char chosen_base[128], chosen_build[128], chosen_run[64];
};

struct fleet_answer {
	struct ask_table rows, account;
	bool is_raw;
};

/*
 * Finds out which tables there are; for a comparison without builds, the two newest builds; for a
 * coroutine, its run.  @shards: how many the address has.
 */
int fleet_ask_begin(struct fleet_ask *ask, size_t shards, fleet_query_fn query, void *server,
		    struct err *err);

/* Ask.  0 or a negative errno; fleet_answer_release() also after a failure. */
int fleet_ask_run(const struct fleet_ask *ask, fleet_query_fn query, void *server,
		  struct fleet_answer *answer, struct err *err);

/* The SQL that fleet_ask_run() sends, added to @out. */
int fleet_ask_sql(const struct fleet_ask *ask, struct bytes *out, struct err *err);

/* True if the question reads single waits, by choice or because only they have the answer. */
bool fleet_ask_is_raw(const struct fleet_ask *ask);

/*
 * An answer has no rows: is that the answer, or is there nothing to ask about?  0: it is the
 * answer.  -ENODATA: there is no such service, build or time; @err says which ones there are.
 */
int fleet_ask_explain(const struct fleet_ask *ask, fleet_query_fn query, void *server,
		      struct err *err);

void fleet_answer_release(struct fleet_answer *answer);

#endif
