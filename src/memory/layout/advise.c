/* SPDX-License-Identifier: MIT */
/* advise.c - the passes over a trace, and the choice of layouts between them. */
#include "memory/layout/advise.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/progress.h"
#include "memory/layout/replay_chunk.h"
#include "memory/layout/replay_layout.h"
#include "memory/sim/replay.h"
#include "memory/sim/replay_sums.h"

#define REPLAYS_MAX (STUDY_TYPES_MAX * (PROPOSE_MAX + 1) + 2)

double study_change(uint64_t before, uint64_t after)
{
	return before ? (double)after / (double)before - 1 : 0;
}

static int study_no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "no memory to study the layouts");
}

/* ---- counts -------------------------------------------------------------- */

static void take_run(const struct sim *sim, uint32_t nr_levels, struct study_run *out)
{
	struct sim_counts counts;
	struct sim_totals totals;
	uint32_t i;

	memset(out, 0, sizeof(*out));
	for (i = 0; i < nr_levels; i++) {
		sim_level_totals(sim, i, &counts);
		out->misses[i] = counts.misses[SIM_READS] + counts.misses[SIM_WRITES];
		out->cost += out->misses[i] * blame_level_cost(i, nr_levels);
	}
	sim_totals(sim, &totals);
	out->from_peer = totals.interventions;
	out->invalidations = totals.invalidations;
	out->false_sharing = totals.false_sharing;
	out->cost += out->from_peer * BLAME_PEER_COST;
}

/* ---- the first pass ------------------------------------------------------- */

struct watching {
	struct study *s;
	const struct mem_facts *facts;
	struct replay_sums *sums; /* of the accesses that only hit, for blame */
};

static int study_blame(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	const struct watching *w = context;

	return blame_access(w->s->blame, r, out);
}

static struct replay_tally *study_alike(void *context, const struct mem_record *r, uint64_t *start,
					uint64_t *end)
{
	const struct watching *w = context;

	return blame_alike(w->s->blame, r, start, end);
}

/* Accesses that only hit. */
static int study_hits(void *context, struct mem_record *rec, const struct mem_access *access,
		      size_t nr)
{
	struct watching *w = context;
	int ret = replay_sums_add(w->sums, rec, access, nr);
	size_t i;

	for (i = 0; ret == 0 && i < nr; i++)
		ret = profile_hit(w->s->profile, rec->thread, &access[i]);
	return ret;
}

/* Pass on the sums of accesses that count differently after @r. */
static int study_pass_sums(struct watching *w, const struct mem_record *r)
{
	uint64_t start, end;

	if (!blame_changes_range(w->s->blame, r, &start, &end))
		return replay_sums_flush(w->sums);
	return start < end ? replay_sums_flush_range(w->sums, start, end) : 0;
}

static int study_watch(void *context, const struct mem_record *r, const struct sim_outcome *out)
{
	struct watching *w = context;

	if (blame_modules(w->s->blame, w->facts) < 0)
		return -ENOMEM;
	if (!out) {
		profile_forget(w->s->profile);
		return study_pass_sums(w, r) < 0 ? -ENOMEM : blame_record(w->s->blame, r);
	}
	if (blame_access(w->s->blame, r, out) < 0)
		return -ENOMEM;
	return profile_access(w->s->profile, r, out);
}

static int first_reading(struct study *s, struct mem_reader *reader, struct err *err)
{
	struct watching w = { .s = s, .facts = mem_reader_facts(reader) };
	struct replay replay = { .each = study_watch, .context = &w, .hits = study_hits };
	struct sim_config config = s->config.sim;
	struct sim *sim;
	int ret;

	config.no_classes = true; /* those of sharing, which are used, are found without */
	sim = sim_new(&config, err);
	ret = sim ? 0 : err->code;

	w.sums = replay_sums_new(&config, study_blame, study_alike, &w);
	if (ret == 0)
		ret = w.sums ? replay_run(&replay, sim, reader, err) : -ENOMEM;
	if (ret == 0)
		ret = replay_sums_flush(w.sums);
	replay_sums_free(w.sums);
	s->nr_accesses = replay.accesses;
	s->lost = replay.lost;
	s->left_out = replay.left_out;
	replay_release(&replay);
	if (ret == 0)
		ret = profile_finish(s->profile);
	if (ret == 0 && mem_reader_error(reader, err) < 0)
		ret = err->code;
	if (sim)
		take_run(sim, s->config.sim.nr_levels, &s->before);
	sim_free(sim);
	return ret < 0 && !err->code ? study_no_memory(err) : ret;
}

/* ---- replays ------------------------------------------------------------- */

struct advise_run {
	struct rerun *replay;
	struct study_run *out;
};

struct replays {
	struct advise_run list[REPLAYS_MAX];
	int nr;
};

static struct rerun *add_replay(const struct study *s, struct replays *all, struct study_run *out,
				bool sharing, struct err *err)
{
	struct sim_config config = s->config.sim;
	struct rerun *r;

	config.no_classes = true;
	config.no_sharing = !sharing;
	r = rerun_new(&config, err);
	if (r)
		all->list[all->nr++] = (struct advise_run){ r, out };
	return r;
}

static void release_replays(struct replays *all)
{
	int i;

	for (i = 0; i < all->nr; i++)
		rerun_free(all->list[i].replay);
	all->nr = 0;
}

static int replay_one(struct mem_places *places, struct replays *all, const struct mem_record *r)
{
	int i, ret = mem_places_record(places, r);

	for (i = 0; i < all->nr && ret == 0; i++)
		ret = rerun_record(all->list[i].replay, r);
	return ret;
}

/* Accesses that were found to keep their address in all replays, since the last other record. */
#define KEEPERS_BITS 13u
#define KEEPERS      (1u << KEEPERS_BITS)
struct keepers {
	struct keeper {
		uint64_t address, pc;
		uint64_t time; /* of `keepers`, plus 1 */
	} list[KEEPERS];
	uint64_t time; /* number of other records */
	struct replay_chunk chunk;
};

static bool replays_reshape(const struct replays *all, const struct owner *owner)
{
	int i;

	for (i = 0; i < all->nr; i++) {
		if (rerun_reshapes(all->list[i].replay, owner))
			return true;
	}
	return false;
}

/* Add an access to the chunk, with its place if it changes its address in a replay.  0 or -ENOMEM.
 */
static int keepers_add(struct mem_places *places, const struct replays *all, struct keepers *k,
		       const struct mem_access *a)
{
	uint64_t hash = (a->address ^ a->pc << 20) * UINT64_C(0x9e3779b97f4a7c15);
	struct keeper *known = &k->list[hash >> (64 - KEEPERS_BITS)];
	struct rerun_place *p = &k->chunk.places[k->chunk.nr_places];

	if (known->address != a->address || known->pc != a->pc || known->time != k->time + 1) {
		if (mem_places_find(places, a->address, a->pc, &p->place) < 0)
			return -ENOMEM;
		p->owner = mem_places_owner(places, p->place.owner);
		if (replays_reshape(all, p->owner)) {
			replay_chunk_move(&k->chunk, a);
			return 0;
		}
		*known = (struct keeper){ a->address, a->pc, k->time + 1 };
	}
	replay_chunk_keep(&k->chunk, a);
	return 0;
}

static int replay_part(struct mem_places *places, struct replays *all, struct keepers *k,
		       const struct mem_run *run, const struct mem_access *access, uint32_t nr)
{
	struct replay_chunk *c = &k->chunk;
	int n, ret = 0;
	uint32_t i;

	replay_chunk_begin(c);
	for (i = 0; i < nr && ret == 0; i++)
		ret = keepers_add(places, all, k, &access[i]);
	for (i = 0; i < c->nr_places; i++) /* the table of owners may have moved */
		c->places[i].owner = mem_places_owner(places, c->places[i].place.owner);
	for (n = 0; n < all->nr && ret == 0; n++)
		ret = rerun_accesses(all->list[n].replay, run->thread, run->weight_256, c->list,
				     c->nr, c->places, c->nr_places);
	return ret;
}

static int replay_accesses(struct mem_places *places, struct replays *all, struct keepers *k,
			   const struct mem_run *run)
{
	uint32_t at, nr;
	int ret = 0;

	for (at = 0; at < run->nr && ret == 0; at += nr) {
		nr = run->nr - at < REPLAY_CHUNK ? run->nr - at : REPLAY_CHUNK;
		ret = replay_part(places, all, k, run, run->access + at, nr);
	}
	return ret;
}

/* Reads runs like the first pass, so that threads alternate in the same order. */
static int replay_all(struct mem_reader *reader, struct mem_places *places, struct replays *all,
		      const char *what, uint64_t *accesses)
{
	struct keepers *keepers = calloc(1, sizeof(*keepers));
	const struct sim_config *config = sim_config_of(rerun_sim(all->list[0].replay));
	struct progress progress;
	struct mem_run run;
	uint64_t next = 0;
	int ret = keepers ? 0 : -ENOMEM, i;

	if (keepers)
		replay_chunk_init(&keepers->chunk, config);
	progress_start(&progress, what, mem_reader_size(reader));
	while (ret == 0 && mem_reader_run(reader, &run)) {
		*accesses += run.nr;
		keepers->time += run.record != NULL;
		ret = run.record ? replay_one(places, all, run.record)
				 : replay_accesses(places, all, keepers, &run);
		if (*accesses >= next) {
			next = *accesses + 4096;
			progress_update(&progress, mem_reader_done(reader));
		}
	}
	progress_full(&progress, NULL);
	progress_end(&progress);
	for (i = 0; i < all->nr && ret == 0; i++)
		ret = rerun_finish(all->list[i].replay);
	free(keepers);
	return ret;
}

static int another_reading(struct study *s, struct replays *all, const char *path, const char *what,
			   struct err *err)
{
	struct mem_reader *reader = mem_reader_open(path, err);
	struct mem_places *places = mem_places_new(blame_types(s->blame));
	uint64_t accesses = 0;
	int ret = reader ? 0 : err->code, i;

	if (places)
		mem_places_share_types(places, (struct mem_places *)blame_places(s->blame));
	if (ret == 0 && (!places || replay_all(reader, places, all, what, &accesses) < 0))
		ret = study_no_memory(err);
	if (ret == 0 && mem_reader_error(reader, err) < 0)
		ret = err->code;
	if (ret == 0 && accesses != s->nr_accesses)
		ret = err_set(err, -EAGAIN, "'%s' changed while it was read", path);
	for (i = 0; i < all->nr && ret == 0; i++)
		take_run(rerun_sim(all->list[i].replay), s->config.sim.nr_levels, all->list[i].out);
	mem_places_free(places);
	if (reader)
		mem_reader_close(reader);
	return ret;
}

/* ---- proposals ----------------------------------------------------------- */

/* Other types of the run that begin with the same members fix them. */
static void study_fix_front(struct study *s, struct study_type *t)
{
	struct profile_type **all = calloc(s->nr_all + 1, sizeof(struct profile_type *));
	size_t i;

	if (!all) /* the proposals are still right for the type alone */
		return;
	profile_types(s->profile, all, s->nr_all);
	for (i = 0; i < s->nr_all; i++) {
		uint32_t nr = 0;

		if (all[i] != t->profile)
			nr = pieces_fix_front(&t->profile->pieces, &all[i]->pieces);
		if (nr > t->nr_like) {
			t->nr_like = nr;
			t->like = all[i]->pieces.of->name;
		}
	}
	free(all);
}

/* What the costs of layouts are compared with: one per access, and the misses. */
static double study_cost(const struct study *s)
{
	return (double)(s->nr_accesses + s->before.cost);
}

static bool study_is_cheap(const struct study *s, const struct study_type *t)
{
	return !s->config.type &&
	       (double)t->profile->cost / BLAME_ONE < study_cost(s) * STUDY_COST_LEAST;
}

static int plan_type(struct study *s, struct study_type *t, struct replays *all, struct err *err)
{
	struct shape *shapes[PROPOSE_MAX];
	struct rerun *r;
	int i, nr;

	t->obstacle = t->profile ? pieces_obstacle(t->profile->pieces.of) : "it is not used";
	if (t->obstacle)
		return 0;
	study_fix_front(s, t);
	t->is_cheap = study_is_cheap(s, t);
	if (t->is_cheap)
		return 0;
	nr = layout_propose(t->profile, s->config.sim.level[0].line, shapes);
	if (nr < 0)
		return study_no_memory(err);
	for (i = 0; i < nr; i++)
		t->candidates[t->nr_candidates++] = (struct study_candidate){ .shape = shapes[i] };
	for (i = 0; i < nr; i++) {
		struct study_candidate *c = &t->candidates[i];

		r = add_replay(s, all, &c->run, false, err);
		if (!r || rerun_shape(r, c->shape, false) < 0)
			return r ? study_no_memory(err) : err->code;
		t->has_moved |= shape_moves(c->shape);
		c->base = shape_moves(c->shape) ? &t->moved : &s->before;
	}
	return 0;
}

/* The reference for shapes that move their blocks: the current layout, moved. */
static int plan_moved(struct study *s, struct study_type *t, struct replays *all,
		      struct shape **identity, struct err *err)
{
	struct rerun *r;

	*identity = NULL;
	if (!t->has_moved)
		return 0;
	*identity = shape_new(&t->profile->pieces, "as it is");
	r = *identity ? add_replay(s, all, &t->moved, false, err) : NULL;
	if (!r || rerun_shape(r, *identity, true) < 0)
		return err->code ? err->code : study_no_memory(err);
	return 0;
}

/*
 * The share of the type's cost in the run that the candidate is compared with.  That is not always
 * the run of the trace: if blocks move, the type's cost changes by what the run's cost changes.
 */
static double gain_of(const struct study *s, const struct study_type *t,
		      const struct study_candidate *c)
{
	double own = (double)t->profile->cost / BLAME_ONE + (double)c->base->cost -
		     (double)s->before.cost;
	double gain = own > 0 ? ((double)c->base->cost - (double)c->run.cost) / own : 0;

	return gain < 1 ? gain : 1; /* other types gain, too */
}

/*
 * Among candidates with at least 97 % of the best gain: the smallest, then one without a raised
 * alignment, then the first.
 */
static int study_choose(const struct study *s, const struct study_type *t, bool split)
{
	double most = STUDY_GAIN_OF_TYPE;
	double all = study_cost(s) * STUDY_GAIN_OF_ALL;
	int i, best = -1;

	for (i = 0; i < t->nr_candidates; i++) {
		const struct study_candidate *c = &t->candidates[i];

		if ((c->shape->nr_cold > 0) == split && c->gain > most &&
		    (double)c->base->cost - (double)c->run.cost >= all) {
			most = c->gain;
			best = i;
		}
	}
	for (i = 0; i < t->nr_candidates && best >= 0; i++) {
		const struct study_candidate *c = &t->candidates[i], *b = &t->candidates[best];

		if ((c->shape->nr_cold > 0) == split && c->gain >= most * 0.97 &&
		    (c->shape->bytes < b->shape->bytes ||
		     (c->shape->bytes == b->shape->bytes && b->shape->raised && !c->shape->raised)))
			best = i;
	}
	return best;
}

static void choose_all(struct study *s)
{
	size_t i;
	int j;

	for (i = 0; i < s->nr_types; i++) {
		struct study_type *t = &s->types[i];
		double got;

		for (j = 0; j < t->nr_candidates; j++)
			t->candidates[j].gain = gain_of(s, t, &t->candidates[j]);
		t->best = study_choose(s, t, false);
		t->split = study_choose(s, t, true);
		got = t->best >= 0 ? t->candidates[t->best].gain : 0;
		/* A split takes more work than a paste, so it must gain more. */
		if (t->split >= 0 && t->candidates[t->split].gain < got + STUDY_GAIN_OF_TYPE)
			t->split = -1;
	}
}

static int propose_and_replay(struct study *s, const char *path, struct err *err)
{
	struct replays all = { 0 };
	struct shape *identities[STUDY_TYPES_MAX] = { 0 };
	size_t i;
	int ret = 0;

	for (i = 0; i < s->nr_types && ret == 0; i++) {
		ret = plan_type(s, &s->types[i], &all, err);
		if (ret == 0)
			ret = plan_moved(s, &s->types[i], &all, &identities[i], err);
	}
	if (ret == 0 && all.nr)
		ret = another_reading(s, &all, path, "replaying the proposals", err);
	release_replays(&all);
	for (i = 0; i < STUDY_TYPES_MAX; i++)
		shape_free(identities[i]);
	if (ret == 0)
		choose_all(s);
	return ret;
}

/* ---- all changes together ------------------------------------------------ */

struct change {
	const struct shape *shape;
	struct shape *identity;
};

static size_t study_changes(struct study *s, struct change *list)
{
	size_t i, nr = 0;

	for (i = 0; i < s->remap.nr; i++)
		list[nr++].shape = s->remap.types[i].shape;
	for (i = 0; i < s->nr_types && !s->remap.nr; i++) {
		if (s->types[i].best >= 0)
			list[nr++].shape = s->types[i].candidates[s->types[i].best].shape;
	}
	return nr;
}

static int replay_changes(struct study *s, const char *path, struct err *err)
{
	struct change list[REMAP_TYPES_MAX + STUDY_TYPES_MAX] = { 0 };
	struct replays all = { 0 };
	size_t nr = study_changes(s, list), i;
	struct rerun *after, *base;
	int ret = 0;

	s->base = s->after = s->before;
	if (!nr)
		return 0;
	s->has_after = true;
	after = add_replay(s, &all, &s->after, true, err);
	base = after ? add_replay(s, &all, &s->base, true, err) : NULL;
	if (!base)
		ret = err->code;
	for (i = 0; i < nr && ret == 0; i++) {
		list[i].identity = shape_new(list[i].shape->pieces, "as it is");
		if (!list[i].identity || rerun_shape(after, list[i].shape, false) < 0 ||
		    rerun_shape(base, list[i].identity, shape_moves(list[i].shape)) < 0)
			ret = study_no_memory(err);
	}
	if (ret == 0)
		ret = another_reading(s, &all, path, "replaying all together", err);
	release_replays(&all);
	for (i = 0; i < nr; i++)
		shape_free(list[i].identity);
	return ret;
}

/* ---- the study ----------------------------------------------------------- */

static bool study_is_wanted(const struct study *s, const struct profile_type *p, uint32_t wanted)
{
	size_t i;

	if (s->config.type)
		return p->pieces.type == wanted;
	for (i = 0; i < s->remap.nr; i++) {
		if (s->remap.types[i].pieces.type == p->pieces.type)
			return true;
	}
	return !s->remap.nr;
}

static int pick_types(struct study *s, struct err *err)
{
	struct profile_type **all;
	uint32_t wanted = s->config.type ? types_by_name(blame_types(s->blame), s->config.type) : 0;
	size_t i;

	s->nr_all = profile_types(s->profile, NULL, 0);
	all = calloc(s->nr_all + 1, sizeof(struct profile_type *));
	s->types = calloc(STUDY_TYPES_MAX, sizeof(*s->types));
	if (!all || !s->types) {
		free(all);
		return study_no_memory(err);
	}
	profile_types(s->profile, all, s->nr_all);
	for (i = 0; i < s->nr_all && s->nr_types < s->config.top && s->nr_types < STUDY_TYPES_MAX;
	     i++) {
		if (!all[i] || !study_is_wanted(s, all[i], wanted))
			continue;
		s->types[s->nr_types++] = (struct study_type){
			.profile = all[i], .name = all[i]->pieces.of->name, .best = -1, .split = -1
		};
	}
	free(all);
	if (!s->config.type || s->nr_types)
		return 0;
	if (wanted)
		err_set(err, -ENOENT, "no access of the trace is to a '%s'", s->config.type);
	else
		err_set(err, -ENOENT, "the traced program has no type '%s'", s->config.type);
	err_hint(err, "%s",
		 types_problem(blame_types(s->blame))
			 ? types_problem(blame_types(s->blame))
			 : "without --type, those that were used are listed");
	return err->code;
}

static int study_start(struct study *s, struct err *err)
{
	s->blame = blame_new(&s->config.sim, err);
	if (!s->blame)
		return err->code;
	if (blame_add_files(s->blame, &s->config.files, err) < 0)
		return err->code;
	s->profile = profile_new(s->blame, err);
	return s->profile ? 0 : err->code;
}

int study_run(struct study *s, const struct study_config *config, const char *path,
	      struct mem_faults *faults, struct err *err)
{
	struct mem_reader *reader;
	int ret;

	memset(s, 0, sizeof(*s));
	s->config = *config;
	reader = mem_reader_open(path, err);
	if (!reader)
		return err->code;
	ret = study_start(s, err);
	if (ret == 0)
		ret = blame_learn(s->blame, path, err);
	if (ret == 0)
		ret = first_reading(s, reader, err);
	*faults = *mem_reader_faults(reader);
	mem_reader_close(reader);
	if (ret == 0 && config->remap)
		ret = remap_read(&s->remap, config->remap, blame_types(s->blame), err);
	if (ret == 0)
		ret = pick_types(s, err);
	if (ret == 0 && !config->remap)
		ret = propose_and_replay(s, path, err);
	if (ret == 0)
		ret = replay_changes(s, path, err);
	return ret;
}

void study_release(struct study *s)
{
	size_t i;
	int j;

	for (i = 0; i < s->nr_types; i++) {
		for (j = 0; j < s->types[i].nr_candidates; j++)
			shape_free(s->types[i].candidates[j].shape);
	}
	free(s->types);
	remap_release(&s->remap);
	profile_free(s->profile);
	blame_free(s->blame);
	memset(s, 0, sizeof(*s));
}
