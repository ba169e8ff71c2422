/* SPDX-License-Identifier: MIT */
/* run_frames.c - the frames of `run --frames`: options, and their part of the summary. */
#include "run_frames.h"

#include <stdio.h>
#include <unistd.h>

#include "cmd.h"
#include "base/number.h"

static void frames_say(const char *text)
{
	fprintf(stderr, "corotracer: frames: %s\n", text);
}

bool run_frames_check(struct collector_config *config)
{
	struct frame_request *request = &config->frames;
	struct err err = { 0 };

	if (!request->is_wanted) {
		if (request->counters.nr)
			message_print("run", "--counter needs --frames");
		return !request->counters.nr;
	}
	if (config->flight_size) {
		message_print("run", "--frames cannot be used with --flight-recorder");
		return false;
	}
	if (counters_resolve(&request->counters, geteuid() == 0, &err) < 0) {
		message_error("run", &err);
		return false;
	}
	if (request->counters.warning[0])
		message_print("run", "%s", request->counters.warning);
	request->say = frames_say;
	return true;
}

void run_frames_text(const struct collector_config *config, const struct frame_totals *t)
{
	if (!config->frames.is_wanted || !t->buffers)
		return;
	fprintf(stderr, "corotracer: %s frame%s of %s buffer%s", number_text(t->written),
		number_plural(t->written), number_text(t->buffers), number_plural(t->buffers));
	if (t->written)
		fprintf(stderr, ", %s saved by coroutines", number_text(t->in_coroutine));
	fprintf(stderr, ", %s lost\n", t->lost ? number_text(t->lost) : "none");
	if (t->lost && t->dropped)
		fprintf(stderr, "corotracer: %s of the lost frames were given up by the program\n",
			number_text(t->dropped));
	if (t->late)
		fprintf(stderr,
			"corotracer: %s frame%s without thread and exact time: the program's code "
			"is of an older 'corotracer generate', or of another tool\n",
			number_text(t->late), number_plural(t->late));
}

void run_frames_json(struct printer *p, const struct frame_totals *t)
{
	print_object(p, "frames");
	print_count(p, "buffers", NULL, t->buffers);
	print_count(p, "issued", NULL, t->issued);
	print_count(p, "recorded", NULL, t->written);
	print_count(p, "in_coroutine", NULL, t->in_coroutine);
	print_count(p, "late", NULL, t->late);
	print_count(p, "lost", NULL, t->lost);
	print_count(p, "dropped", NULL, t->dropped);
	print_object_end(p);
}
