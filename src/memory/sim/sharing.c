/* SPDX-License-Identifier: MIT */
/*
 * sharing.c - lines that several cores use: true and false sharing.
 *
 * A line is followed from the first time that a write takes it from another core.  From then on
 * every use of it is reported here, hits too.  For each core that lost the line, `stale`
 * collects the bytes that other cores wrote since.  If the core misses the line and touches any
 * of these bytes, at the miss or while it holds the line, the miss was needed: true sharing.  If
 * it never does, the data only happened to be in the same line: false sharing.  (The definition
 * of M. Dubois et al.)  A miss counts as false until it turns out to be true.
 *
 * At most `max` lines are followed at a time.  Beyond that, the half with the fewest false
 * misses (then the fewest invalidations) is dropped, and counted.
 */
#include <errno.h>
#include <stdlib.h>

#include "memory/sim/machine.h"

#define LINES_KEPT 16384u
#define CORES_KEPT 64u /* cores that lost the line, followed per line */

/* A core that has held the line. */
struct loser {
	uint32_t core;
	uint32_t by;    /* the thread that took it */
	uint32_t theft; /* index in thefts; SIM_NOBODY: not counted separately */
	bool lost;      /* and does not hold it again */
	bool undecided; /* it holds it again; the miss counts as false so far */
	uint64_t stale; /* bytes that other cores wrote since the loss */
};

struct followed {
	struct sim_shared_line public; /* must be first: by_weight() reads it */
	struct sim_shared_line told;   /* a copy with whole counts, for sim_shared_lines() */
	uint64_t line;
	struct loser *losers;
	uint32_t nr_losers;
};

struct sharing {
	struct followed **lines;
	uint32_t nr, max;
	struct u64map by_line; /* to 1 + index */
	bool no_memory;
};

int sharing_start(struct sim *s)
{
	uint32_t max = s->config.sharing_max ? s->config.sharing_max : LINES_KEPT;

	s->sharing = calloc(1, sizeof(*s->sharing));
	if (!s->sharing)
		return -ENOMEM;
	s->sharing->max = max < 2 ? 2 : max;
	s->sharing->lines = calloc(s->sharing->max, sizeof(struct followed *)); /* NOLINT */
	return s->sharing->lines ? 0 : -ENOMEM;
}

static void sharing_drop(struct followed *f)
{
	free(f->public.sharers);
	free(f->public.thefts);
	free(f->told.sharers);
	free(f->told.thefts);
	free(f->losers);
	free(f);
}

void sharing_release(struct sim *s)
{
	uint32_t i;

	if (!s->sharing)
		return;
	for (i = 0; i < s->sharing->nr; i++)
		sharing_drop(s->sharing->lines[i]);
	free(s->sharing->lines);
	u64map_release(&s->sharing->by_line);
	free(s->sharing);
	s->sharing = NULL;
}

/* ---- which lines ----------------------------------------------------------- */

/* Worst first. */
static int by_weight(const void *a, const void *b)
{
	const struct sim_shared_line *x = *(struct sim_shared_line *const *)a;
	const struct sim_shared_line *y = *(struct sim_shared_line *const *)b;

	if (x->false_misses != y->false_misses)
		return x->false_misses < y->false_misses ? 1 : -1;
	if (x->invalidations != y->invalidations)
		return x->invalidations < y->invalidations ? 1 : -1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int sharing_sort(struct sharing *sh)
{
	uint32_t i;

	qsort(sh->lines, sh->nr, sizeof(struct followed *), by_weight); /* NOLINT */
	u64map_release(&sh->by_line);
	for (i = 0; i < sh->nr; i++) {
		if (u64map_put(&sh->by_line, sh->lines[i]->line, i + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

static struct followed *sharing_find(const struct sharing *sh, uint64_t line)
{
	uint64_t index;

	return u64map_get(&sh->by_line, line, &index) ? sh->lines[index - 1] : NULL;
}

static int drop_half(struct sim *s)
{
	struct sharing *sh = s->sharing;
	uint32_t keep = sh->max / 2;

	qsort(sh->lines, sh->nr, sizeof(struct followed *), by_weight); /* NOLINT */
	s->totals.lines_dropped += sh->nr - keep;
	while (sh->nr > keep)
		sharing_drop(sh->lines[--sh->nr]);
	return sharing_sort(sh);
}

static struct followed *sharing_follow(struct sim *s, uint64_t line)
{
	struct sharing *sh = s->sharing;
	struct followed *f;

	if (sh->nr == sh->max && drop_half(s) < 0)
		return NULL;
	f = calloc(1, sizeof(*f));
	if (!f || u64map_put(&sh->by_line, line, sh->nr + 1) < 0) {
		free(f);
		return NULL;
	}
	f->line = line;
	f->public.address = line << s->line_shift[0];
	sh->lines[sh->nr++] = f;
	return f;
}

/* ---- threads and cores of a line ------------------------------------------ */

/* Append an element to an array that grows by doubling.  NULL: no memory. */
static void *one_more(void **array, uint32_t *nr, size_t size)
{
	char *more = *array;

	if ((*nr & (*nr - 1)) == 0) {
		more = realloc(more, (*nr ? (size_t)*nr * 2 : 1) * size);
		if (!more)
			return NULL;
		*array = more;
	}
	memset(more + (size_t)*nr * size, 0, size);
	return more + (size_t)(*nr)++ * size;
}

static struct loser *loser_of(struct followed *f, uint32_t core, bool make)
{
	struct loser *l;
	uint32_t i;

	for (i = 0; i < f->nr_losers; i++) {
		if (f->losers[i].core == core)
			return &f->losers[i];
	}
	if (!make || f->nr_losers == CORES_KEPT)
		return NULL;
	l = one_more((void **)&f->losers, &f->nr_losers, sizeof(*l));
	if (l)
		l->core = core;
	return l;
}

static struct sim_sharer *sharer_of(struct sim_shared_line *p, uint32_t thread)
{
	struct sim_sharer *w;
	uint32_t i;

	for (i = 0; i < p->nr_sharers; i++) {
		if (p->sharers[i].thread == thread)
			return &p->sharers[i];
	}
	if (p->nr_sharers == SIM_SHARERS_MAX)
		return NULL;
	w = one_more((void **)&p->sharers, &p->nr_sharers, sizeof(*w));
	if (w)
		w->thread = thread;
	return w;
}

static uint32_t theft_of(struct sim_shared_line *p, uint32_t by, uint32_t from)
{
	struct sim_theft *t;
	uint32_t i;

	for (i = 0; i < p->nr_thefts; i++) {
		if (p->thefts[i].by == by && p->thefts[i].from == from)
			return i;
	}
	if (p->nr_thefts == SIM_THEFTS_MAX)
		return SIM_NOBODY;
	t = one_more((void **)&p->thefts, &p->nr_thefts, sizeof(*t));
	if (!t)
		return SIM_NOBODY;
	t->by = by;
	t->from = from;
	return i;
}

/* ---- events ----------------------------------------------------------------- */

int sharing_taken(const struct use *u, const struct core *victim)
{
	struct sim *s = u->sim;
	struct followed *f = sharing_find(s->sharing, u->line);
	struct loser *l;
	uint32_t by = u->thread->public.thread, theft;

	if (!f)
		f = sharing_follow(s, u->line);
	if (!f)
		return -ENOMEM;
	f->public.invalidations += s->weight;
	theft = theft_of(&f->public, by, victim->last->public.thread);
	if (theft == SIM_NOBODY)
		f->public.other_thefts += s->weight;
	else
		f->public.thefts[theft].invalidations += s->weight;
	l = loser_of(f, victim->number, true);
	if (!l)
		return 0; /* too many cores: the kind of its next miss is unknown */
	l->by = by;
	l->theft = theft;
	l->lost = true;
	l->undecided = false;
	l->stale = 0; /* sharing_use() adds this write */
	return 0;
}

static void count_use(struct sim *s, struct followed *f, const struct use *u)
{
	struct sim_sharer *w = sharer_of(&f->public, u->thread->public.thread);

	if (!w) {
		f->public.other_sharers += s->weight;
	} else if (u->is_write) {
		w->writes += s->weight;
		w->write_mask |= u->mask;
	} else {
		w->reads += s->weight;
		w->read_mask |= u->mask;
	}
}

static void sharing_decide(struct sim *s, struct followed *f, struct loser *l, bool needed)
{
	struct sim_theft *t = l->theft == SIM_NOBODY ? NULL : &f->public.thefts[l->theft];

	if (needed) {
		s->totals.true_sharing += s->weight;
		f->public.true_misses += s->weight;
		if (t)
			t->true_misses += s->weight;
		return;
	}
	s->totals.false_sharing += s->weight;
	f->public.false_misses += s->weight;
	if (t)
		t->false_misses += s->weight;
}

/* Correct a miss that counted as false.  Weights may differ, so clamp at 0. */
static void sharing_is_less(uint64_t *count, uint64_t by)
{
	*count -= *count < by ? *count : by;
}

static void decide_again(struct sim *s, struct followed *f, struct loser *l)
{
	sharing_is_less(&s->totals.false_sharing, s->weight);
	sharing_is_less(&f->public.false_misses, s->weight);
	if (l->theft != SIM_NOBODY)
		sharing_is_less(&f->public.thefts[l->theft].false_misses, s->weight);
	sharing_decide(s, f, l, true);
	l->undecided = false;
}

static void sharing_missed(const struct use *u, struct followed *f, struct loser *l)
{
	bool needed = l->stale & u->mask;

	sharing_decide(u->sim, f, l, needed);
	l->lost = false;
	l->undecided = !needed;
	if (u->out) {
		u->out->lost_to = l->by;
		u->out->truly_shared |= needed;
	}
}

bool sharing_use(const struct use *u, bool was_lost)
{
	struct sim *s = u->sim;
	struct followed *f = sharing_find(s->sharing, u->line);
	struct loser *l = f ? loser_of(f, u->core->number, false) : NULL;
	uint32_t i;

	if (was_lost && l && l->lost)
		sharing_missed(u, f, l);
	else if (was_lost && (!f || (!l && f->nr_losers == CORES_KEPT)))
		s->totals.unknown_sharing += s->weight;
	else if (l && l->undecided && l->stale & u->mask)
		decide_again(s, f, l);
	if (!f)
		return false;
	count_use(s, f, u);
	for (i = 0; u->is_write && i < f->nr_losers; i++) {
		if (f->losers[i].lost)
			f->losers[i].stale |= u->mask;
	}
	return true;
}

bool sharing_follows(const struct sim *s, uint64_t line)
{
	return sharing_find(s->sharing, line) != NULL;
}

/* ---- results ----------------------------------------------------------------- */

/* Round a counter in units of 1/256. */
static uint64_t sharing_whole(uint64_t count)
{
	return count / 256 + (count % 256 >= 128);
}

/* Make the copy for the caller.  Returns false if there is no memory. */
static bool sharing_report(struct followed *f)
{
	struct sim_shared_line *to = &f->told;
	struct sim_sharer *sharers = calloc(f->public.nr_sharers + 1u, sizeof(*sharers));
	struct sim_theft *thefts = calloc(f->public.nr_thefts + 1u, sizeof(*thefts));
	uint32_t i;

	free(to->sharers);
	free(to->thefts);
	*to = f->public;
	to->sharers = sharers;
	to->thefts = thefts;
	if (!sharers || !thefts)
		return false;
	to->invalidations = sharing_whole(to->invalidations);
	to->false_misses = sharing_whole(to->false_misses);
	to->true_misses = sharing_whole(to->true_misses);
	to->other_sharers = sharing_whole(to->other_sharers);
	to->other_thefts = sharing_whole(to->other_thefts);
	for (i = 0; i < to->nr_sharers; i++) {
		sharers[i] = f->public.sharers[i];
		sharers[i].reads = sharing_whole(sharers[i].reads);
		sharers[i].writes = sharing_whole(sharers[i].writes);
	}
	for (i = 0; i < to->nr_thefts; i++) {
		thefts[i] = f->public.thefts[i];
		thefts[i].invalidations = sharing_whole(thefts[i].invalidations);
		thefts[i].false_misses = sharing_whole(thefts[i].false_misses);
		thefts[i].true_misses = sharing_whole(thefts[i].true_misses);
	}
	return true;
}

size_t sim_shared_lines(struct sim *s, const struct sim_shared_line **out, size_t nr)
{
	struct sharing *sh = s->sharing;
	size_t i;

	if (!sh || sharing_sort(sh) < 0)
		return 0;
	for (i = 0; i < nr && i < sh->nr && sharing_report(sh->lines[i]); i++)
		out[i] = &sh->lines[i]->told;
	return i;
}
