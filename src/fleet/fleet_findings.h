/* SPDX-License-Identifier: MIT */
/* fleet_findings.h - store the findings of a report, as rows of the table findings. */
#ifndef FLEET_FINDINGS_H
#define FLEET_FINDINGS_H

#include "analyze/report.h"
#include "fleet/clickhouse_client.h"
#include "ship/ship_labels.h"

/*
 * Store the groups that the report shows, as findings of the run in @labels.  A run that is stored
 * again replaces its rows.  *@nr is increased by the number of rows.
 */
int fleet_findings_store(struct clickhouse *c, const struct ship_labels *labels,
			 const struct report *r, uint64_t *nr, struct err *err);

/* The rows in ClickHouse's format JSONEachRow, added to @out.  0 or a negative errno. */
int fleet_findings_rows(struct bytes *out, const struct ship_labels *labels, const struct report *r,
			uint64_t *nr);

#endif
