/* SPDX-License-Identifier: MIT */
/* ship_options.c - options that `run`, `serve` and `ship` share: the receiver and the labels. */
#include "ship_options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "fleet/loader_transport.h"
#include "load_source.h"

static bool ship_options_text(const char *command, const char *option, const char *text, char *to)
{
	if (!text)
		return true;
	if (strlen(text) < SHIP_LABEL_SIZE) {
		memcpy(to, text, strlen(text) + 1);
		return true;
	}
	message_print(command, "invalid value for %s: expected at most %d bytes", option,
		      SHIP_LABEL_SIZE - 1);
	return false;
}

bool ship_options_labels(const char *command, const struct ship_options *o,
			 struct ship_labels *labels)
{
	memset(labels, 0, sizeof(*labels));
	labels->sample = o->sample ? o->sample : 1;
	return ship_options_text(command, "--service", o->service, labels->service) &&
	       ship_options_text(command, "--host", o->host, labels->host) &&
	       ship_options_text(command, "--region", o->region, labels->region) &&
	       ship_options_text(command, "--version-label", o->version, labels->version);
}

struct ship_transport *ship_options_receiver(const char *command, const struct ship_options *o,
					     int *status)
{
	struct err err = { 0 };
	struct ship_transport *t;

	if (clickhouse_url_is(o->url))
		t = loader_transport_open(o->url, load_state_dir("load-ship"), &err);
	else
		t = ship_transport_open(o->url, &err);
	if (t)
		return t;
	message_error(command, &err);
	*status = err.code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
	return NULL;
}

void ship_options_hint(const char *receiver, const char *trace)
{
	fprintf(stderr, "hint: send the rest later: corotracer ship %s %s\n", receiver, trace);
}
