/* SPDX-License-Identifier: MIT */
/*
 * store_bed.h - a ClickHouse server that is a table of rules, and a clock that moves only by sleeps
 * and calls.
 *
 * Replaces clickhouse_client.c.  Every call is a line of the story: shard, what, rows and checksum
 * of an INSERT, and the fault that a rule made of it.
 */
#ifndef STORE_BED_H
#define STORE_BED_H

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "check.h"
#include "fleet/fleet_rows.h"
#include "fleet/loader.h"
#include "trace/compact_block.h"

#define STORE_RULES_MAX 32
#define STORE_REALTIME  UINT64_C(1700000000000000000)

/* For calls that contain @part, after @skip of them and for @times: an answer or a fault. */
struct store_rule {
	const char *part;
	unsigned skip, times;
	const char *answer;
	enum clickhouse_fault fault;
	int code;
};

static FILE *story;
static struct store_rule rules[STORE_RULES_MAX];
static unsigned nr_rules;
static uint64_t now_ns = UINT64_C(5000000000);
static unsigned store_version;
static size_t store_shards;
static const char *store_cluster = "";
static bool has_short_story; /* without tables and versions */

int clock_gettime(clockid_t clock, struct timespec *ts)
{
	uint64_t ns = now_ns + (clock == CLOCK_REALTIME ? STORE_REALTIME : 0);

	ts->tv_sec = (time_t)(ns / 1000000000);
	ts->tv_nsec = (long)(ns % 1000000000);
	return 0;
}

time_t time(time_t *to)
{
	time_t seconds = (time_t)((now_ns + STORE_REALTIME) / 1000000000);

	if (to)
		*to = seconds;
	return seconds;
}

int nanosleep(const struct timespec *requested, struct timespec *remaining)
{
	(void)remaining;
	now_ns += (uint64_t)requested->tv_sec * 1000000000 + (uint64_t)requested->tv_nsec;
	fprintf(story, "  sleep %lld ms\n",
		(long long)requested->tv_sec * 1000 + requested->tv_nsec / 1000000);
	return 0;
}

static inline void store_rule_add(struct store_rule rule)
{
	CHECK(nr_rules < STORE_RULES_MAX);
	rules[nr_rules++] = rule;
}

/* The first rule that fits. */
static inline const struct store_rule *store_rule_of(const char *text)
{
	unsigned i;

	for (i = 0; i < nr_rules; i++) {
		if (!rules[i].times || !strstr(text, rules[i].part))
			continue;
		if (rules[i].skip) {
			rules[i].skip--;
			continue;
		}
		rules[i].times--;
		return &rules[i];
	}
	return NULL;
}

/* ---- the client ---------------------------------------------------------------- */

struct clickhouse *clickhouse_open(const char *url, struct err *err)
{
	static struct clickhouse_host hosts[4];
	struct clickhouse *c = calloc(1, sizeof(*c));

	(void)url;
	(void)err;
	CHECK(c);
	c->url.hosts = hosts;
	c->url.nr_hosts = store_shards;
	snprintf(c->url.database, sizeof(c->url.database), "db");
	snprintf(c->url.cluster, sizeof(c->url.cluster), "%s", store_cluster);
	return c;
}

void clickhouse_close(struct clickhouse *c)
{
	free(c);
}

size_t clickhouse_shard_of(const struct clickhouse *c, const char *host)
{
	return (size_t)(unsigned char)host[0] % c->url.nr_hosts;
}

static inline void store_tell(size_t shard, const char *text)
{
	int size = (int)strcspn(text, "(");

	if (has_short_story && (strstr(text, "schema_version") || strstr(text, "system.tables") ||
				strstr(text, "system.columns") || !strncmp(text, "CREATE", 6)))
		return;
	fprintf(story, "  %zu ", shard);
	if (!strncmp(text, "CREATE TABLE", 12) && !strstr(text, "Distributed"))
		fprintf(story, "%.*s(...) %08x\n", size, text, compact_crc(text, strlen(text)));
	else
		fprintf(story, "%s\n", text);
}

/* Replaces @part of @text by @word, which is not longer. */
static inline void store_shorten(char *text, const char *part, const char *word)
{
	while ((text = strstr(text, part)) != NULL) {
		memcpy(text, word, strlen(word));
		memmove(text + strlen(word), text + strlen(part), strlen(text + strlen(part)) + 1);
		text += strlen(word);
	}
}

/* The columns of a table, as they should be. */
static inline void store_columns(const char *sql, struct bytes *answer)
{
	char line[512];
	unsigned i, k;

	for (i = 0; i < NR_FLEET_TABLES; i++) {
		const struct native_table *t = &fleet_tables[i];

		snprintf(line, sizeof(line), "table = '%s'", t->name);
		for (k = 0; strstr(sql, line) && k < t->nr_columns; k++) {
			bytes_add_text(answer, t->columns[k].name);
			bytes_add(answer, "\t", 1);
			bytes_add_text(answer, t->columns[k].type);
			bytes_add(answer, "\n", 1);
		}
	}
}

static inline int store_answer(struct clickhouse *c, const char *text, struct bytes *answer,
			       struct err *err)
{
	const struct store_rule *rule = store_rule_of(text);

	now_ns += 1000000;
	c->fault = rule ? rule->fault : CLICKHOUSE_NO_FAULT;
	c->code = rule ? rule->code : 0;
	if (c->fault) {
		fprintf(story, "    fault %d code %d\n", (int)c->fault, c->code);
		return err_set(err, -EREMOTEIO, "fault %d", (int)c->fault);
	}
	if (answer && rule && rule->answer)
		bytes_add_text(answer, rule->answer);
	else if (answer && strstr(text, "system.columns"))
		store_columns(text, answer);
	return 0;
}

int clickhouse_send(struct clickhouse *c, size_t shard, const struct clickhouse_call *call,
		    struct bytes *answer, struct err *err)
{
	char text[4096];
	struct bytes all = { 0 };
	size_t i;

	for (i = 0; i < call->nr_body; i++)
		bytes_add(&all, call->body[i]->data, call->body[i]->size);
	snprintf(text, sizeof(text), "%s%s%s%s%s", call->sql, call->query_id ? " id=" : "",
		 call->query_id ? call->query_id : "", call->settings ? " " : "",
		 call->settings ? call->settings : "");
	store_tell(shard, text);
	if (call->nr_body)
		fprintf(story, "    %zu bytes, %08x\n", all.size, compact_crc(all.data, all.size));
	bytes_release(&all);
	return store_answer(c, text, answer, err);
}

int clickhouse_ask(struct clickhouse *c, size_t shard, const char *sql, struct bytes *answer,
		   struct err *err)
{
	store_tell(shard, sql);
	return store_answer(c, sql, answer, err);
}

int clickhouse_number(struct clickhouse *c, size_t shard, const char *sql, uint64_t *number,
		      struct err *err)
{
	struct bytes answer = { 0 };
	int rc;

	store_tell(shard, sql);
	rc = store_answer(c, sql, &answer, err);
	bytes_add(&answer, "", 1);
	if (rc == 0)
		*number = strtoull((const char *)answer.data, NULL, 10);
	if (rc == 0 && *number)
		fprintf(story, "    is %" PRIu64 "\n", *number);
	bytes_release(&answer);
	return rc;
}

int clickhouse_hello(struct clickhouse *c, struct err *err)
{
	c->version = store_version;
	c->is_old = store_version < 22008;
	return store_answer(c, "hello", NULL, err);
}

void clickhouse_quote(struct bytes *sql, const char *text)
{
	bytes_add(sql, "'", 1);
	bytes_add_text(sql, text);
	bytes_add(sql, "'", 1);
}

/* ---- stories -------------------------------------------------------------------- */

/* A server whose tables are there, without rules. */
static inline void store_begin(const char *title, unsigned version, size_t shards)
{
	fprintf(story, "\n%s\n", title);
	nr_rules = 0;
	now_ns = UINT64_C(5000000000);
	store_version = version;
	store_shards = shards;
	store_cluster = "";
	has_short_story = true;
	store_rule_add((struct store_rule){
		.part = "name = 'schema_version'", .times = 1000, .answer = "1\n" });
	store_rule_add(
		(struct store_rule){ .part = "max(version)", .times = 1000, .answer = "2\n" });
}

static inline void store_fault(const char *part, unsigned times, enum clickhouse_fault fault,
			       int code)
{
	store_rule_add(
		(struct store_rule){ .part = part, .times = times, .fault = fault, .code = code });
}

static inline void store_says(const char *part, unsigned times, const char *answer)
{
	store_rule_add((struct store_rule){ .part = part, .times = times, .answer = answer });
}

#endif
