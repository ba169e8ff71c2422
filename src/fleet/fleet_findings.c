/* SPDX-License-Identifier: MIT */
/* fleet_findings.c - store the findings of a report, as rows of the table findings. */
#include "fleet/fleet_findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/detector.h"
#include "trace/site_hash.h"

/* Wall clock of the end of the run. */
static int64_t findings_end_ts(const struct ship_labels *labels, const struct report *r)
{
	uint64_t last = r->analysis->model.last_ts;

	return (int64_t)(labels->start_realtime +
			 (last > labels->start_ts ? last - labels->start_ts : 0));
}

static void findings_put_labels(struct json_writer *j, const struct ship_labels *labels)
{
	jw_field_string(j, "service", labels->service);
	jw_field_string(j, "build", labels->build);
	jw_field_string(j, "version", labels->version);
	jw_field_string(j, "host", labels->host);
	jw_field_string(j, "region", labels->region);
	jw_field_string(j, "run", labels->run);
}

/* The group as JSON: a string in the row. */
static void findings_put_example(struct json_writer *j, const struct report *r,
				 const struct group *g)
{
	struct json_writer inner;
	const char *text;

	jw_init_buffer(&inner);
	report_put_group(&inner, r, g);
	text = jw_text(&inner, NULL);
	jw_field_string(j, "example", text ? text : "");
	jw_release(&inner);
}

static void findings_put_row(struct json_writer *j, const struct ship_labels *labels,
			     const struct report *r, const struct group *g, const char *fingerprint)
{
	struct report_place where = { .text = "" };
	bool has_place = report_group_place(r, g, &where) || report_group_spawn(r, g, &where);

	jw_object_begin(j);
	findings_put_labels(j, labels);
	jw_field_i64(j, "ts", findings_end_ts(labels, r));
	jw_field_string(j, "fingerprint", fingerprint);
	jw_field_string(j, "detector", g->detector->name);
	jw_field_string(j, "confidence", confidence_name(g->confidence));
	jw_field_string(j, "title", g->detector->title);
	jw_field_string(j, "place", has_place ? where.text : "");
	jw_field_u64(j, "site",
		     has_place && where.file ? site_hash(where.file, where.line, where.function)
					     : 0);
	jw_field_u64(j, "count", g->count);
	jw_field_string(j, "seen", g->finding.detail);
	findings_put_example(j, r, g);
	jw_object_end(j);
	jw_newline(j);
}

int fleet_findings_rows(struct bytes *out, const struct ship_labels *labels, const struct report *r,
			uint64_t *nr)
{
	const struct findings *f = &r->analysis->findings;
	struct report_fingerprint *fingerprints = report_fingerprints(r);
	struct json_writer j;
	const char *text;
	size_t i, size = 0;
	int rc;

	if (!fingerprints)
		return -ENOMEM;
	jw_init_buffer(&j);
	for (i = 0; i < f->nr; i++) {
		if (!report_shows(r, &f->groups[i]))
			continue;
		findings_put_row(&j, labels, r, &f->groups[i], fingerprints[i].text);
		++*nr;
	}
	text = jw_text(&j, &size);
	if (text)
		bytes_add(out, text, size);
	rc = jw_release(&j);
	free(fingerprints);
	return rc ? rc : out->error;
}

int fleet_findings_store(struct clickhouse *c, const struct ship_labels *labels,
			 const struct report *r, uint64_t *nr, struct err *err)
{
	struct bytes rows = { 0 };
	const struct bytes *body = &rows;
	struct clickhouse_call call = { .sql = "INSERT INTO findings FORMAT JSONEachRow",
					.body = &body,
					.nr_body = 1 };
	int rc = fleet_findings_rows(&rows, labels, r, nr);

	if (rc)
		err_set(err, rc, "no memory for the findings of '%s'", r->trace);
	else if (rows.size)
		rc = clickhouse_send(c, clickhouse_shard_of(c, labels->host), &call, NULL, err);
	bytes_release(&rows);
	return rc;
}
