/* SPDX-License-Identifier: MIT */
/*
 * channels.c - a pipeline of coroutines on a few threads, to be traced.
 *
 *	corotracer run -o trace.jsonl -- channels
 *	corotracer run -o trace.jsonl -- channels --lose-wakeup
 *
 * The second run leaves a few coroutines suspended forever; the trace shows which ones,
 * and their sites.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corotracer/corotracer.h>

#include "pipeline.h"
#include "sched.h"

#define LOST_WAKEUPS_DEFAULT 3

struct options {
	unsigned nr_coroutines; /* per batch */
	unsigned nr_threads;
	double seconds;
	unsigned nr_lost_wakeups;
};

static const char usage[] =
	"usage: channels [--coroutines N] [--threads N] [--seconds S] [--lose-wakeup[=N]]\n"
	"\n"
	"Counts words with producers, workers and a collector, in four batches.\n"
	"\n"
	"  --coroutines N     coroutines of one batch, 3 at least (default 24)\n"
	"  --threads N        threads to run them on (default 4)\n"
	"  --seconds S        how long, about (default 2)\n"
	"  --lose-wakeup[=N]  a bug: forget to wake N workers of the first batch (default 3)\n";

static bool parse_count(const char *text, unsigned min, unsigned *out)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*end || end == text || *text == '-' || n < min || n > 1000000) {
		fprintf(stderr, "channels: '%s' is no number from %u to 1000000\n", text, min);
		return false;
	}
	*out = (unsigned)n;
	return true;
}

static bool parse_seconds(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (*end || end == text || !(*out > 0 && *out <= 86400)) {
		fprintf(stderr, "channels: '%s' is no number of seconds up to a day\n", text);
		return false;
	}
	return true;
}

static bool parse_option(int c, struct options *o)
{
	switch (c) {
	case 'c':
		return parse_count(optarg, 3, &o->nr_coroutines);
	case 't':
		return parse_count(optarg, 1, &o->nr_threads);
	case 's':
		return parse_seconds(optarg, &o->seconds);
	case 'l':
		o->nr_lost_wakeups = LOST_WAKEUPS_DEFAULT;
		return !optarg || parse_count(optarg, 0, &o->nr_lost_wakeups);
	case 'h':
		fputs(usage, stdout);
		exit(0);
	default:
		fputs(usage, stderr);
		return false;
	}
}

static bool parse_options(int argc, char **argv, struct options *o)
{
	static const struct option table[] = {
		{ "coroutines", required_argument, NULL, 'c' },
		{ "threads", required_argument, NULL, 't' },
		{ "seconds", required_argument, NULL, 's' },
		{ "lose-wakeup", optional_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "h", table, NULL)) != -1)
		if (!parse_option(c, o))
			return false;
	if (optind < argc) {
		fputs(usage, stderr);
		return false;
	}
	return true;
}

/* One collector; a third of the others are producers, the rest are workers. */
static struct pipeline_opts pipeline_opts(const struct options *o)
{
	unsigned nr_producers = (o->nr_coroutines - 1) / 3;

	if (!nr_producers)
		nr_producers = 1;
	return (struct pipeline_opts){
		.nr_producers = nr_producers,
		.nr_workers = o->nr_coroutines - 1 - nr_producers,
		.run_ns = (uint64_t)(o->seconds * 1e9),
		.nr_lost_wakeups = o->nr_lost_wakeups,
	};
}

static void print_result(const struct pipeline_totals *t, const struct options *o,
			 uint64_t nr_migrations, long nr_left)
{
	double latency_ms = t->answered ? (double)t->latency_ns / (double)t->answered / 1e6 : 0;

	printf("batches:  %u of %d, %u coroutines each on %u threads\n", t->nr_batches,
	       PIPELINE_BATCHES, o->nr_coroutines, o->nr_threads);
	printf("requests: %" PRIu64 " sent, %" PRIu64 " answered, after %.1f ms on average\n",
	       t->sent, t->answered, latency_ms);
	printf("words:    %" PRIu64 " sent, %" PRIu64 " counted\n", t->words_sent, t->words);
	printf("threads:  changed %" PRIu64 " times by a coroutine; %" PRIu64 " ticks\n",
	       nr_migrations, t->ticks);
	if (nr_left)
		printf("left:     %ld coroutines were never woken%s\n", nr_left,
		       o->nr_lost_wakeups ? ", as --lose-wakeup asked" : "");
}

/* Every request was answered, and only the workers of --lose-wakeup are still suspended. */
static bool is_sound(const struct pipeline_totals *t, const struct options *o, long nr_left)
{
	return t->nr_batches == PIPELINE_BATCHES && t->answered == t->sent &&
	       t->words == t->words_sent && !t->nr_failed && nr_left <= (long)o->nr_lost_wakeups;
}

int main(int argc, char **argv)
{
	struct options o = { .nr_coroutines = 24, .nr_threads = 4, .seconds = 2 };
	struct pipeline_opts opts;
	struct pipeline_totals totals;
	struct pipeline *p;
	struct sched *s;
	long nr_left;
	bool sound;

	if (!parse_options(argc, argv, &o))
		return 2;
	corotracer_init();

	opts = pipeline_opts(&o);
	s = sched_new();
	p = s ? pipeline_new(s, &opts) : NULL;
	if (!p) {
		fprintf(stderr, "channels: no memory for a pipeline\n");
		sched_free(s);
		return 1;
	}
	nr_left = sched_run(s, o.nr_threads);
	if (nr_left < 0)
		fprintf(stderr, "channels: cannot start a thread: %s\n", strerror((int)-nr_left));
	totals = pipeline_result(p);
	if (totals.nr_failed)
		fprintf(stderr, "channels: %u coroutines could not be started\n", totals.nr_failed);
	sound = is_sound(&totals, &o, nr_left);
	print_result(&totals, &o, sched_migrations(s), nr_left < 0 ? 0 : nr_left);
	sched_free(s);
	pipeline_free(p);
	return sound ? 0 : 1;
}
