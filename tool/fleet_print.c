/* SPDX-License-Identifier: MIT */
/*
 * fleet_print.c - print the answer to a question about the fleet, as a table or as JSON.
 *
 * The columns are those of the SQL file, which a user may change.  How a value is printed follows
 * from the column's type and the end of its name: _ns is a duration, _utc a time, _percent a
 * change.  The columns in own_line[] are too long for a table and get a second line.
 */
#include "fleet_print.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/json_writer.h"
#include "base/text.h"
#include "json_file.h"

#define CELL_SIZE 1024

static const char *const own_line[] = { "seen", "fingerprint" };

static bool fleet_ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && !strcmp(text + n - m, end);
}

static bool fleet_has_own_line(const struct ask_column *c)
{
	size_t i;

	for (i = 0; i < sizeof(own_line) / sizeof(own_line[0]); i++) {
		if (!strcmp(c->name, own_line[i]))
			return true;
	}
	return false;
}

static bool fleet_is_left(const struct ask_column *c)
{
	return c->kind == ASK_TEXT || c->kind == ASK_LIST;
}

/* ---- one cell ------------------------------------------------------------------- */

static void fleet_put_list(const char *list, char *buf, size_t size)
{
	char one[256];
	size_t used = 0;

	buf[0] = '\0';
	while ((list = ask_table_element(list, one, sizeof(one))) != NULL) {
		int n = snprintf(buf + used, size - used, "%s%s", used ? ", " : "", one);

		if (n < 0 || (size_t)n >= size - used)
			return;
		used += (size_t)n;
	}
}

static void fleet_cell(const struct ask_column *c, const char *value, char buf[CELL_SIZE])
{
	char text[TEXT_SIZE], list[CELL_SIZE];

	if (c->kind == ASK_LIST) {
		fleet_put_list(value, list, sizeof(list));
		text_safe(list, buf, CELL_SIZE);
	} else if (c->kind == ASK_COUNT && fleet_ends_with(c->name, "_ns")) {
		uint64_t ns = strtoull(value, NULL, 10);

		snprintf(buf, CELL_SIZE, "%s", ns ? text_duration(text, ns) : "-");
	} else if (c->kind == ASK_COUNT) {
		snprintf(buf, CELL_SIZE, "%s", text_count(text, strtoull(value, NULL, 10)));
	} else if (fleet_ends_with(c->name, "_percent")) {
		double percent = strtod(value, NULL);

		snprintf(buf, CELL_SIZE, isnan(percent) ? "-" : "%+.0f %%", percent);
	} else {
		text_safe(value, buf, CELL_SIZE);
	}
}

/* "base_p99_ns" becomes "base p99". */
static void fleet_heading(const struct ask_column *c, char buf[CELL_SIZE])
{
	static const struct {
		const char *end, *instead;
	} ends[] = { { "_ns", "" }, { "_utc", " (UTC)" }, { "_percent", " change" } };
	size_t i, n;

	text_safe(c->name, buf, CELL_SIZE / 2);
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (!fleet_ends_with(c->name, ends[i].end))
			continue;
		n = strlen(buf) - strlen(ends[i].end);
		snprintf(buf + n, CELL_SIZE - n, "%s", ends[i].instead);
		break;
	}
	for (; *buf; buf++)
		*buf = *buf == '_' ? ' ' : *buf;
}

/* ---- the table ------------------------------------------------------------------ */

static void fleet_measure(const struct ask_table *t, int *widths)
{
	char buf[CELL_SIZE];
	size_t row, i;

	for (i = 0; i < t->nr_columns; i++) {
		fleet_heading(&t->columns[i], buf);
		widths[i] = text_width(buf);
		for (row = 0; row < t->nr_rows; row++) {
			int width;

			fleet_cell(&t->columns[i], t->cells[row * t->nr_columns + i], buf);
			width = text_width(buf);
			widths[i] = width > widths[i] ? width : widths[i];
		}
	}
}

static void fleet_put_cell(FILE *out, const char *text, int width, bool is_left, bool is_last)
{
	int pad = width - text_width(text);

	if (!is_left)
		fprintf(out, "%*s%s", pad, "", text);
	else
		fprintf(out, "%s%*s", text, is_last ? 0 : pad, "");
	fputs(is_last ? "\n" : "  ", out);
}

/* A line of the table; @row NULL: the headings. */
static void fleet_put_line(FILE *out, const struct ask_table *t, const char *const *row,
			   const int *widths)
{
	char buf[CELL_SIZE];
	size_t i, last = t->nr_columns;

	while (last > 0 && fleet_has_own_line(&t->columns[last - 1]))
		last--;
	for (i = 0; i < last; i++) {
		if (fleet_has_own_line(&t->columns[i]))
			continue;
		if (row)
			fleet_cell(&t->columns[i], row[i], buf);
		else
			fleet_heading(&t->columns[i], buf);
		fleet_put_cell(out, buf, widths[i], fleet_is_left(&t->columns[i]), i + 1 == last);
	}
	for (i = 0; row && i < t->nr_columns; i++) {
		if (!fleet_has_own_line(&t->columns[i]) || !*row[i])
			continue;
		fleet_cell(&t->columns[i], row[i], buf);
		fprintf(out, "    %s: %s\n", t->columns[i].name, buf);
	}
}

static int fleet_put_table(FILE *out, const struct ask_table *t)
{
	int *widths = calloc(t->nr_columns + 1, sizeof(*widths));
	size_t row;

	if (!widths)
		return -ENOMEM;
	fleet_measure(t, widths);
	fleet_put_line(out, t, NULL, widths);
	for (row = 0; row < t->nr_rows; row++)
		fleet_put_line(out, t, &t->cells[row * t->nr_columns], widths);
	free(widths);
	return 0;
}

/* ---- what the answer is about --------------------------------------------------- */

static void fleet_time(uint32_t seconds, char buf[TEXT_SIZE])
{
	time_t when = seconds;
	struct tm tm;

	if (!gmtime_r(&when, &tm) || !strftime(buf, TEXT_SIZE, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(buf, TEXT_SIZE, "%" PRIu32, seconds);
}

static void fleet_put_label(FILE *out, const char *what, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, ", %s ", what);
	text_put(out, value);
}

static void fleet_put_subject(FILE *out, const struct fleet_ask *ask)
{
	char since[TEXT_SIZE], until[TEXT_SIZE];

	fputs(ask->question->name, out);
	if (!strcmp(ask->question->name, "coroutine"))
		fprintf(out, " %" PRIu64, ask->coroutine);
	fleet_put_label(out, "service", ask->service);
	fleet_put_label(out, "base", ask->base);
	fleet_put_label(out, "build", ask->build);
	fleet_put_label(out, "host", ask->host);
	fleet_put_label(out, "run", ask->run);
	fleet_put_label(out, "site", ask->site);
	fleet_time(ask->since, since);
	fleet_time(ask->until, until);
	if (ask->since)
		fprintf(out, ", since %s UTC", since);
	if (ask->until != UINT32_MAX)
		fprintf(out, ", until %s UTC", until);
	fputs("\n\n", out);
}

/* ---- what it is based on ---------------------------------------------------------- */

/* A caveat, if its number in the account is not 0. */
struct fleet_caveat {
	const char *column;
	const char *text; /* with one %s */
};

static const struct fleet_caveat fleet_caveats[] = {
	{ "running", "runs that have not ended, or are not loaded completely: %s" },
	{ "transitions_lost", "transitions that were lost before they reached a trace: %s" },
	{ "transitions_given_up", "transitions given up because a host's spool was full: %s" },
	{ "transitions_not_loaded", "transitions of ended runs that are not loaded: %s" },
	{ "missing_blocks", "blocks that were passed over: %s" },
	{ "damaged_blocks", "damaged blocks: %s" },
	{ "sampled", "sampled runs, whose counts and sums are scaled: %s" },
	{ "clocks_off", "runs whose host has a clock that is off by more than a second: %s" },
};

#define NR_CAVEATS (sizeof(fleet_caveats) / sizeof(fleet_caveats[0]))

/* False: it does not apply. */
static bool fleet_caveat_text(const struct ask_table *account, size_t nr, char *buf, size_t size)
{
	const struct fleet_caveat *c = &fleet_caveats[nr];
	uint64_t value = ask_table_number(account, 0, c->column);
	char text[TEXT_SIZE];

	if (!value)
		return false;
	text_count(text, value);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(buf, size, c->text, text);
#pragma GCC diagnostic pop
	return true;
}

static const char *fleet_source(const struct fleet_ask *ask, const struct fleet_answer *answer)
{
	if (!ask->question->raw_file)
		return "the reports of the runs";
	return answer->is_raw ? "single waits: percentiles within 1 % of the rank"
			      : "sums of 10 s: percentiles within a factor of 2, --raw is closer";
}

static void fleet_put_account(FILE *out, const struct fleet_ask *ask,
			      const struct fleet_answer *answer)
{
	uint64_t nr_runs = ask_table_number(&answer->account, 0, "runs");
	uint64_t nr_hosts = ask_table_number(&answer->account, 0, "hosts");
	char runs[TEXT_SIZE], hosts[TEXT_SIZE], text[256];
	size_t i;

	fprintf(out, "\nfrom %s run%s on %s host%s, %s\n", text_count(runs, nr_runs),
		nr_runs == 1 ? "" : "s", text_count(hosts, nr_hosts), nr_hosts == 1 ? "" : "s",
		fleet_source(ask, answer));
	for (i = 0; i < NR_CAVEATS; i++) {
		if (fleet_caveat_text(&answer->account, i, text, sizeof(text)))
			fprintf(out, "note: %s\n", text);
	}
	if (answer->rows.nr_rows >= ask->limit)
		fprintf(out, "note: only %" PRIu32 " rows are shown; --limit N shows more\n",
			ask->limit);
}

int fleet_print_text(const struct fleet_ask *ask, const struct fleet_answer *answer, FILE *out)
{
	int rc = 0;

	fleet_put_subject(out, ask);
	if (answer->rows.nr_rows)
		rc = fleet_put_table(out, &answer->rows);
	else
		fprintf(out, "%s\n", ask->question->none ? ask->question->none : "no waits");
	fleet_put_account(out, ask, answer);
	return rc;
}

/* ---- JSON ------------------------------------------------------------------------- */

static void fleet_json_list(struct json_writer *j, const char *list)
{
	char one[CELL_SIZE];

	jw_array_begin(j);
	while ((list = ask_table_element(list, one, sizeof(one))) != NULL)
		jw_string(j, one);
	jw_array_end(j);
}

static void fleet_json_row(struct json_writer *j, const struct ask_table *t, size_t row)
{
	size_t i;

	jw_object_begin(j);
	for (i = 0; i < t->nr_columns; i++) {
		const char *value = t->cells[row * t->nr_columns + i];

		jw_key(j, t->columns[i].name);
		if (t->columns[i].kind == ASK_COUNT)
			jw_u64(j, strtoull(value, NULL, 10));
		else if (t->columns[i].kind == ASK_INTEGER)
			jw_i64(j, strtoll(value, NULL, 10));
		else if (t->columns[i].kind == ASK_REAL)
			jw_double(j, strtod(value, NULL));
		else if (t->columns[i].kind == ASK_LIST)
			fleet_json_list(j, value);
		else
			jw_string(j, value);
	}
	jw_object_end(j);
}

static void fleet_json_labels(struct json_writer *j, const struct fleet_ask *ask)
{
	jw_field_string(j, "question", ask->question->name);
	jw_field_string(j, "service", ask->service);
	jw_field_string(j, "base", ask->base);
	jw_field_string(j, "build", ask->build);
	jw_field_string(j, "host", ask->host);
	jw_field_string(j, "run", ask->run);
	jw_field_string(j, "site", ask->site);
	jw_field_u64(j, "since_s", ask->since);
	jw_field_u64(j, "until_s", ask->until);
}

int fleet_print_json(const struct fleet_ask *ask, const struct fleet_answer *answer, FILE *out)
{
	struct json_writer j;
	char text[256];
	size_t i;

	jw_init_file(&j, json_file_stream(out));
	jw_object_begin(&j);
	fleet_json_labels(&j, ask);
	jw_field_string(&j, "source", answer->is_raw ? "waits" : "aggregates");
	jw_key(&j, "rows");
	jw_array_begin(&j);
	for (i = 0; i < answer->rows.nr_rows; i++)
		fleet_json_row(&j, &answer->rows, i);
	jw_array_end(&j);
	jw_key(&j, "account");
	if (answer->account.nr_rows)
		fleet_json_row(&j, &answer->account, 0);
	else
		jw_null(&j);
	jw_key(&j, "notes");
	jw_array_begin(&j);
	for (i = 0; i < NR_CAVEATS; i++) {
		if (fleet_caveat_text(&answer->account, i, text, sizeof(text)))
			jw_string(&j, text);
	}
	jw_array_end(&j);
	jw_object_end(&j);
	jw_newline(&j);
	return jw_release(&j);
}
