/* SPDX-License-Identifier: MIT */
/* fleet_ask_files.h - the SQL files of the questions, embedded into the tool. */
#ifndef FLEET_ASK_FILES_H
#define FLEET_ASK_FILES_H

#include <stddef.h>

/* The names are those of src/fleet/sql/ask_*.sql. */
#define FLEET_ASK_FILES(X)    \
	X(ask_account)        \
	X(ask_compare)        \
	X(ask_compare_raw)    \
	X(ask_coroutine_raw)  \
	X(ask_coroutine_runs) \
	X(ask_findings)       \
	X(ask_graph_raw)      \
	X(ask_known)          \
	X(ask_latency)        \
	X(ask_latency_raw)    \
	X(ask_lost_raw)       \
	X(ask_slowest)        \
	X(ask_slowest_raw)

#define ASK_FILE_DECLARE(name)                         \
	extern const unsigned char sql_##name##_sql[]; \
	extern const size_t sql_##name##_sql_size;

FLEET_ASK_FILES(ASK_FILE_DECLARE)

#endif
