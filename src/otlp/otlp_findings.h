/* SPDX-License-Identifier: MIT */
/* otlp_findings.h - write the findings of a report as spans, with their evidence as events. */
#ifndef OTLP_OTLP_FINDINGS_H
#define OTLP_OTLP_FINDINGS_H

#include "analyze/report.h"
#include "otlp/otlp_waits.h"

/*
 * Write group @g of @r, whose trace was also read into @w: for its clock, and the identity of its
 * run.
 */
void otlp_finding_put(const struct report *r, const struct group *g, const struct otlp_waits *w,
		      struct otlp_batch *b);

#endif
