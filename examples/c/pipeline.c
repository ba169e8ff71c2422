/* SPDX-License-Identifier: MIT */
/*
 * pipeline.c - producers, workers and a collector around two channels.
 *
 * How a batch ends
 *   Each producer, when its time is over, sends the collector the number of its requests.
 *   When all producers have done so, the collector closes the requests channel, which ends
 *   the workers.  The collector ends once every request is answered.
 *
 * The effect of --lose-wakeup
 *   In the first batch that close does not wake some of the workers that wait for a
 *   request.  Nothing depends on them, so the program continues, and only a trace shows
 *   that they are still suspended.
 */
#include "pipeline.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "sched.h"

#define MS               1000000u
#define TEXT_SIZE        200
#define WORDS_A_LINE     20
#define CHANNEL_MESSAGES 16

struct request {
	uint64_t sent_ns;
	char text[TEXT_SIZE]; /* a few lines */
};

/* From a worker: one answer.  From a producer (is_last): the number of its requests. */
struct reply {
	bool is_last;
	uint64_t requests, words, latency_ns;
};

struct batch {
	struct pipeline *pipeline;
	struct channel *requests, *replies;
	uint64_t end_ns;
	unsigned nr_producers; /* that were spawned */
	unsigned nr_to_forget;
	struct pipeline_totals totals; /* written by the collector */
};

struct ticker {
	struct pipeline *pipeline;
	uint64_t period_ns, ticks;
};

struct pipeline {
	struct sched *sched;
	struct pipeline_opts opts;
	uint64_t end_ns;
	struct channel *done; /* a batch has ended */
	struct batch batches[PIPELINE_BATCHES];
	struct ticker tickers[PIPELINE_TICKERS];
	unsigned nr_failed;
};

/* ---- the work ------------------------------------------------------------ */

static uint32_t random_next(uint32_t *state) /* xorshift */
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

/* Fill @text with words, a few per line; returns their number. */
static uint64_t compose(char *text, uint32_t *seed)
{
	static const char *const vocabulary[] = { "a",       "coroutine", "waits",  "for",   "the",
						  "channel", "that",      "nobody", "closes" };
	uint64_t words = 0;
	size_t len = 0;

	for (;;) {
		const char *word = vocabulary[random_next(seed) %
					      (sizeof(vocabulary) / sizeof(vocabulary[0]))];
		size_t size = strlen(word);

		if (len + size + 2 > TEXT_SIZE)
			break;
		memcpy(text + len, word, size);
		len += size;
		text[len++] = ++words % WORDS_A_LINE ? ' ' : '\n';
	}
	text[len] = '\0';
	return words;
}

/* Count the words of the line at *@text, and advance to the next line. */
static uint64_t count_line(const char **text)
{
	const char *p = *text;
	uint64_t words = 0;
	bool inside = false;

	for (; *p && *p != '\n'; p++) {
		words += !inside && *p != ' ';
		inside = *p != ' ';
	}
	*text = *p ? p + 1 : p;
	return words;
}

static uint64_t count_words(const char *text)
{
	uint64_t words = 0;

	for (;;) {
		words += count_line(&text);
		if (!*text)
			return words;
		coro_yield(); /* let other coroutines run during a long text */
	}
}

/* ---- the coroutines ------------------------------------------------------ */

static void producer(void *arg)
{
	struct batch *b = arg;
	struct reply last = { .is_last = true };
	uint32_t seed = (uint32_t)(uintptr_t)coro_self() | 1;
	struct request rq;

	while (sched_now_ns() < b->end_ns) {
		last.words += compose(rq.text, &seed);
		last.requests++;
		rq.sent_ns = sched_now_ns();
		channel_send(b->requests, &rq);
		coro_sleep((2 + random_next(&seed) % 12) * MS);
	}
	channel_send(b->replies, &last);
}

static void worker(void *arg)
{
	struct batch *b = arg;
	struct request rq;

	while (channel_recv(b->requests, &rq)) {
		struct reply rp = { .requests = 1, .words = count_words(rq.text) };

		coro_sleep((1 + rp.words % 4) * MS); /* stands for a database access */
		rp.latency_ns = sched_now_ns() - rq.sent_ns;
		channel_send(b->replies, &rp);
	}
}

static void collect_reply(struct pipeline_totals *t, const struct reply *rp)
{
	if (rp->is_last) {
		t->sent += rp->requests;
		t->words_sent += rp->words;
	} else {
		t->answered += rp->requests;
		t->words += rp->words;
		t->latency_ns += rp->latency_ns;
	}
}

static void collector(void *arg)
{
	struct batch *b = arg;
	unsigned nr_producing = b->nr_producers;
	struct reply rp;

	while (nr_producing || b->totals.answered < b->totals.sent) {
		channel_recv(b->replies, &rp);
		collect_reply(&b->totals, &rp);
		if (rp.is_last && --nr_producing == 0)
			channel_close_forgetting(b->requests, b->nr_to_forget);
	}
	channel_send(b->pipeline->done, &b);
}

static void ticker(void *arg)
{
	struct ticker *t = arg;

	while (sched_now_ns() < t->pipeline->end_ns) {
		coro_sleep(t->period_ns);
		t->ticks++;
	}
}

/* ---- start and result ---------------------------------------------------- */

static unsigned spawn_many(struct pipeline *p, unsigned nr, void (*fn)(void *arg), void *arg,
			   const char *name, unsigned first)
{
	unsigned i, nr_spawned = 0;

	for (i = 0; i < nr; i++) {
		if (sched_spawn(p->sched, fn, arg, "%s %u", name, first + i) == 0)
			nr_spawned++;
		else
			p->nr_failed++;
	}
	return nr_spawned;
}

static bool batch_start(struct pipeline *p, unsigned i)
{
	const struct pipeline_opts *o = &p->opts;
	struct batch *b = &p->batches[i];

	b->pipeline = p;
	b->requests = channel_new(CHANNEL_MESSAGES, sizeof(struct request));
	b->replies = channel_new(CHANNEL_MESSAGES, sizeof(struct reply));
	if (!b->requests || !b->replies)
		return false;
	b->end_ns = sched_now_ns() + o->run_ns / PIPELINE_BATCHES;
	b->nr_to_forget = i == 0 ? o->nr_lost_wakeups : 0;

	/* Without a worker or a collector the producers would wait forever. */
	if (!spawn_many(p, o->nr_workers, worker, b, "worker", i * o->nr_workers))
		return false;
	b->nr_producers = spawn_many(p, o->nr_producers, producer, b, "producer",
				     i * o->nr_producers);
	return sched_spawn(p->sched, collector, b, "collector %u", i) == 0;
}

static void batches(void *arg)
{
	struct pipeline *p = arg;
	struct batch *b;
	unsigned i;

	for (i = 0; i < PIPELINE_BATCHES; i++) {
		if (!batch_start(p, i)) {
			p->nr_failed++;
			return;
		}
		channel_recv(p->done, &b);
		b->totals.nr_batches = 1;
	}
}

struct pipeline *pipeline_new(struct sched *s, const struct pipeline_opts *opts)
{
	struct pipeline *p = calloc(1, sizeof(*p));
	unsigned i;

	if (!p)
		return NULL;
	p->sched = s;
	p->opts = *opts;
	p->end_ns = sched_now_ns() + opts->run_ns;
	p->done = channel_new(0, sizeof(struct batch *));
	if (!p->done || sched_spawn(s, batches, p, "batches") < 0) {
		pipeline_free(p);
		return NULL;
	}
	for (i = 0; i < PIPELINE_TICKERS; i++) {
		p->tickers[i] = (struct ticker){ .pipeline = p, .period_ns = (i + 1) * 10 * MS };
		spawn_many(p, 1, ticker, &p->tickers[i], "ticker", i);
	}
	return p;
}

struct pipeline_totals pipeline_result(const struct pipeline *p)
{
	struct pipeline_totals sum = { .nr_failed = p->nr_failed };
	unsigned i;

	for (i = 0; i < PIPELINE_BATCHES; i++) {
		const struct pipeline_totals *t = &p->batches[i].totals;

		sum.sent += t->sent;
		sum.answered += t->answered;
		sum.words_sent += t->words_sent;
		sum.words += t->words;
		sum.latency_ns += t->latency_ns;
		sum.nr_batches += t->nr_batches;
	}
	for (i = 0; i < PIPELINE_TICKERS; i++)
		sum.ticks += p->tickers[i].ticks;
	return sum;
}

void pipeline_free(struct pipeline *p)
{
	unsigned i;

	if (!p)
		return;
	for (i = 0; i < PIPELINE_BATCHES; i++) {
		channel_free(p->batches[i].requests);
		channel_free(p->batches[i].replies);
	}
	channel_free(p->done);
	free(p);
}
