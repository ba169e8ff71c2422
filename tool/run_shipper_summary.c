/* SPDX-License-Identifier: MIT */
/* run_shipper_summary.c - how much of a run was shipped: lines and JSON of the summary. */
#include <stdio.h>

#include "base/number.h"
#include "cmd.h"
#include "run_shipper.h"

static uint64_t shipping_events(const struct ship_count *c)
{
	return c->transitions + c->others;
}

void shipping_text(const struct shipping *s, bool is_quiet)
{
	const struct shipper_result *r = &s->result;
	const struct ship_count *spooled = &r->spooled, *given_up = &r->given_up;

	if (!s->options.url)
		return;
	if (!s->has_result)
		fputs("corotracer: the shipping process did not end in time and was killed; what "
		      "it "
		      "had not saved counts as spooled\n",
		      stderr);
	if (!is_quiet)
		fprintf(stderr, "corotracer: shipped: %s event%s in %s block%s -> %s\n",
			number_text(shipping_events(&r->shipped)),
			number_plural(shipping_events(&r->shipped)), number_text(r->shipped.blocks),
			number_plural(r->shipped.blocks), s->receiver);
	if (!is_quiet && r->sample > 1)
		fprintf(stderr,
			"corotracer: sampled: one of %s coroutines; %s event%s left out; %s "
			"coroutine%s with findings sent whole\n",
			number_text(r->sample), number_text(shipping_events(&r->left_out)),
			number_plural(shipping_events(&r->left_out)),
			number_text(r->whole_coroutines), number_plural(r->whole_coroutines));
	if (given_up->blocks)
		fprintf(stderr,
			"corotracer: given up: %s event%s in %s block%s, the spool was full or "
			"damaged\n",
			number_text(shipping_events(given_up)),
			number_plural(shipping_events(given_up)), number_text(given_up->blocks),
			number_plural(given_up->blocks));
	if (shipping_events(spooled) || spooled->blocks)
		fprintf(stderr, "corotracer: spooled: %s event%s in %s block%s -> %s\n",
			number_text(shipping_events(spooled)),
			number_plural(shipping_events(spooled)), number_text(spooled->blocks),
			number_plural(spooled->blocks), s->trace);
	if (spooled->blocks || !r->is_finished)
		ship_options_hint(s->receiver, s->trace);
	if (s->nr_skipped)
		fprintf(stderr, "corotracer: not shipped: %s snapshot%s\n",
			number_text(s->nr_skipped), number_plural(s->nr_skipped));
}

static void shipping_json_count(struct printer *p, const char *key, const struct ship_count *c)
{
	print_object(p, key);
	print_count(p, "blocks", NULL, c->blocks);
	print_count(p, "transitions", NULL, c->transitions);
	print_count(p, "others", NULL, c->others);
	print_count(p, "bytes", NULL, c->bytes);
	print_object_end(p);
}

void shipping_json(struct printer *p, const struct shipping *s)
{
	const struct shipper_result *r = &s->result;

	if (!s->options.url)
		return;
	print_object(p, "ship");
	print_string(p, "receiver", s->receiver);
	print_string(p, "run", r->run[0] && !s->is_flight ? r->run : NULL);
	print_string(p, "trace", s->trace);
	print_flag(p, "known", NULL, s->has_result);
	print_flag(p, "finished", NULL, r->is_finished);
	shipping_json_count(p, "shipped", &r->shipped);
	shipping_json_count(p, "spooled", &r->spooled);
	shipping_json_count(p, "given_up", &r->given_up);
	shipping_json_count(p, "left_out", &r->left_out);
	shipping_json_count(p, "whole", &r->whole);
	print_count(p, "whole_coroutines", NULL, r->whole_coroutines);
	print_count(p, "sample", NULL, r->sample);
	print_object_end(p);
}
