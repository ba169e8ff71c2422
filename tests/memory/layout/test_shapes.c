/* SPDX-License-Identifier: MIT */
/*
 * test_shapes.c - arrangements of a record: offsets as a compiler gives them, addresses that never
 * collide, remap files that are accepted or rejected.
 *
 * The types are those of this program.
 */
#include <fcntl.h>
#include <malloc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/u64map.h"
#include "check.h"
#include "memory/format/mem_writer.h"
#include "memory/layout/advise.h"
#include "memory/layout/remap.h"
#include "memory/layout/replay_chunk.h"
#include "memory/layout/replay_layout.h"

struct sample {
	char a;
	long b;
	char c[5];
	unsigned d : 3, e : 9;
	double f;
	short g;
	int h[3];
};

/* The same members in another order, as shape_settle() should find them. */
struct other {
	double f;
	long b;
	int h[3];
	unsigned d : 3, e : 9;
	short g;
	char a;
	char c[5];
};

/* C programs use one pointer for records with the same first members. */
struct event {
	int kind;
	short size;
	void *next;
	long extra;
};

struct key_event {
	int kind;
	short size;
	void *next;
	char key;
};

struct one_alike {
	int kind;
	long size;
};

struct wrapped {
	struct event base;
	int more;
};

/* Two members that are used together, on different lines. */
struct spread {
	long first;
	char cold[120];
	long second;
};

static struct spread kept_spread __attribute__((used));
static struct event kept_event __attribute__((used));
static struct key_event kept_key __attribute__((used));
static struct one_alike kept_alike __attribute__((used));
static struct wrapped kept_wrapped __attribute__((used));
static struct sample kept __attribute__((used));
static struct other kept_other __attribute__((used));
static struct types *types;
static uint32_t sample;

static void open_types(void)
{
	const struct cray_module module = { .start = 0x1000, .end = 0x2000 };
	static struct mem_facts facts;

	types = types_new();
	CHECK(types != NULL);
	CHECK(mem_facts_add_module(&facts, &module, "/proc/self/exe") == 0);
	CHECK(types_add_modules(types, &facts) == 0);
	sample = types_by_name(types, "struct sample");
	CHECK(sample != 0);
	CHECK_EQ(types_get(types, sample)->size, sizeof(struct sample));
	mem_facts_release(&facts);
}

static uint32_t piece_named(const struct pieces *p, const char *name)
{
	uint32_t i;

	for (i = 0; i < p->nr; i++) {
		if (!strcmp(p->list[i].name, name))
			return i;
	}
	fprintf(stderr, "there is no piece '%s'\n", name);
	exit(1);
}

/* How many members of @type have to stay in front because of @other. */
static uint32_t front_of(const char *type, const char *other)
{
	uint32_t a = types_by_name(types, type), b = types_by_name(types, other), nr, i;
	struct pieces p, q;

	CHECK(a && b && pieces_init(&p, types, a) == 0 && pieces_init(&q, types, b) == 0);
	nr = pieces_fix_front(&p, &q);
	for (i = 0; i < p.nr; i++)
		CHECK_EQ(p.list[i].in_front, i < nr);
	pieces_release(&p);
	pieces_release(&q);
	return nr;
}

static void members_that_two_records_share_stay_in_front(void)
{
	CHECK_EQ(front_of("struct event", "struct key_event"), 3);
	CHECK_EQ(front_of("struct key_event", "struct event"), 3);
	CHECK_EQ(front_of("struct event", "struct one_alike"), 0); /* one may be chance */
	CHECK_EQ(front_of("struct event", "struct sample"), 0);
	CHECK_EQ(front_of("struct wrapped", "struct event"), 1); /* it begins with it */
}

static void places_members_as_a_compiler_does(void)
{
	static const char *const order[] = { "f", "b", "h", "d:3,e:9", "g", "a", "c" };
	struct pieces p;
	struct shape *s;
	unsigned i;

	CHECK(pieces_init(&p, types, sample) == 0);
	CHECK_EQ(p.nr, 7);
	s = shape_new(&p, "other");
	CHECK(s != NULL);
	for (i = 0; i < 7; i++)
		s->order[i] = piece_named(&p, order[i]);
	shape_settle(s, 0, 64);
	CHECK_EQ(s->bytes, sizeof(struct other));
	CHECK_EQ(s->offset[piece_named(&p, "f")], offsetof(struct other, f));
	CHECK_EQ(s->offset[piece_named(&p, "b")], offsetof(struct other, b));
	CHECK_EQ(s->offset[piece_named(&p, "h")], offsetof(struct other, h));
	CHECK_EQ(s->offset[piece_named(&p, "g")], offsetof(struct other, g));
	CHECK_EQ(s->offset[piece_named(&p, "a")], offsetof(struct other, a));
	CHECK_EQ(s->offset[piece_named(&p, "c")], offsetof(struct other, c));
	shape_settle(s, 64, 64);
	CHECK_EQ(s->bytes, 64);
	CHECK(s->raised && shape_moves(s));
	shape_free(s);
	pieces_release(&p);
}

/* ---- addresses ----------------------------------------------------------- */

struct block {
	uint64_t start, count;
	bool annotated;
};

/* Every byte of every field of every element has its own address. */
static void check_block(struct rerun *r, const struct pieces *p, const struct block *b,
			struct u64map *taken)
{
	const struct owner owner = { .kind = OWNER_RECORD, .type = sample };
	uint64_t index, offset, address, *seen;

	for (index = 0; index < b->count; index++) {
		for (offset = 0; offset < sizeof(struct sample); offset++) {
			struct address_owner place = { .start = b->start,
						       .end = b->start +
							      b->count * sizeof(struct sample),
						       .stride = sizeof(struct sample),
						       .index = index,
						       .offset = offset,
						       .annotated = b->annotated };

			if (pieces_at(p, offset) == NO_PIECE)
				continue;
			CHECK(rerun_address(r, b->start + index * place.stride + offset, &place,
					    &owner, &address) == 0);
			seen = u64map_at(taken, address);
			CHECK(seen && !*seen);
			*seen = 1;
		}
	}
}

static void move_and_check(struct shape *s)
{
	static const struct block blocks[] = { { 0x10000, 7, false },
					       { 0x20010, 1, true },
					       { 0x20060, 1, true },
					       { 0x30000, 9000, true },
					       { 0x900000, 3, true } };
	struct sim_config config;
	struct u64map taken = { 0 };
	struct err err = { 0 };
	struct rerun *r;
	size_t i;

	sim_config_default(&config);
	r = rerun_new(&config, &err);
	CHECK(r && rerun_shape(r, s, false) == 0);
	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		check_block(r, s->pieces, &blocks[i], &taken);
	u64map_release(&taken);
	rerun_free(r);
}

static void no_two_fields_share_an_address(void)
{
	struct pieces p;
	struct shape *s;

	CHECK(pieces_init(&p, types, sample) == 0);
	s = shape_new(&p, "as it is");
	CHECK(s != NULL);
	move_and_check(s);
	shape_settle(s, 64, 64);
	move_and_check(s);
	s->nr_cold = 3;
	shape_settle(s, 0, 64);
	CHECK(s->bytes < sizeof(struct sample));
	move_and_check(s);
	s->by_pointer = true;
	shape_settle(s, 0, 64);
	move_and_check(s);
	shape_free(s);
	pieces_release(&p);
}

/* Many accesses to few lines, some over two lines, of several threads that take turns. */
static uint32_t random_accesses(struct mem_access *list, uint32_t nr, uint64_t *seed)
{
	uint32_t i;

	for (i = 0; i < nr; i++) {
		*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		list[i] = (struct mem_access){ .address = 0x10000 + (*seed >> 40) % 40000 +
							  (*seed >> 33) % 5 * 4096 * 16,
					       .size = 1u << (*seed >> 60) % 4,
					       .pc = (*seed >> 54) % 8 == 0,
					       .is_write = *seed >> 59 & 1 };
		if (i && *seed >> 57 & 3) /* the same line again, or its neighbour */
			list[i].address = list[i - 1].address + (*seed >> 50) % 9;
	}
	return nr;
}

static void compare_misses(uint32_t threads, bool no_sharing)
{
	struct sim_config config;
	struct err err = { 0 };
	struct mem_access list[700];
	struct sim_totals all, some;
	struct sim_counts wanted, found;
	uint64_t seed = 7;
	struct rerun *r;
	struct sim *plain;
	uint32_t n, i, k;

	sim_config_default(&config);
	config.no_classes = true;
	config.no_sharing = no_sharing;
	CHECK(rerun_can_skip(&config));
	r = rerun_new(&config, &err);
	plain = sim_new(&config, &err);
	CHECK(r && plain);
	for (n = 0; n < 200; n++) {
		uint32_t nr = random_accesses(list, 100 + n * 3, &seed);

		CHECK(rerun_accesses(r, n % threads, 256, list, nr, NULL, 0) == 0);
		for (i = 0; i < nr; i++)
			CHECK(sim_access(plain, n % threads, list[i].address, list[i].size,
					 list[i].is_write, NULL) == 0);
	}
	CHECK(rerun_finish(r) == 0);
	for (k = 0; k < config.nr_levels; k++) {
		sim_level_totals(plain, k, &wanted);
		sim_level_totals(rerun_sim(r), k, &found);
		CHECK_EQ(found.misses[0], wanted.misses[0]);
		CHECK_EQ(found.misses[1], wanted.misses[1]);
		CHECK(wanted.misses[0] > 100);
	}
	sim_totals(plain, &all);
	sim_totals(rerun_sim(r), &some);
	CHECK_EQ(some.interventions, all.interventions);
	CHECK_EQ(some.invalidations, all.invalidations);
	CHECK_EQ(some.memory_writes, all.memory_writes);
	CHECK_EQ(some.false_sharing, all.false_sharing);
	CHECK(threads > 1 ? all.invalidations > 100 : some.accesses[0] < all.accesses[0] / 2);
	sim_free(plain);
	rerun_free(r);
}

/* A replay leaves accesses out. */
static void replays_have_the_misses_of_all_accesses(void)
{
	compare_misses(1, true);
	compare_misses(1, false);
	compare_misses(3, true);
	compare_misses(3, false);
}

/* The new address of a block of @bytes at @start. */
/* To another line of the same set. */
static void move_access(struct mem_access *a)
{
	a->address += 64 * 64;
}

/* All accesses, those that move at their new addresses, and those that a chunk has of them. */
static void compare_chunk(const struct sim_config *config)
{
	static struct replay_chunk c;
	struct err err = { 0 };
	struct rerun *some = rerun_new(config, &err);
	struct sim *all = sim_new(config, &err);
	struct mem_access list[REPLAY_CHUNK];
	struct sim_counts wanted, found;
	struct sim_totals all_totals, some_totals;
	uint64_t seed = 11, nr_all = 0, nr_some = 0;
	uint32_t n, i, nr;

	CHECK(some && all);
	memset(&c, 0, sizeof(c));
	replay_chunk_init(&c, config);
	for (n = 0; n < 200; n++) {
		nr = random_accesses(list, 100 + n * 3, &seed);
		replay_chunk_begin(&c);
		for (i = 0; i < nr; i++) {
			if (list[i].pc) {
				replay_chunk_move(&c, &list[i]);
				move_access(&list[i]);
			} else {
				replay_chunk_keep(&c, &list[i]);
			}
			CHECK(sim_access(all, 0, list[i].address, list[i].size, list[i].is_write,
					 NULL) == 0);
		}
		for (i = 0; i < c.nr_places; i++)
			move_access(&c.list[c.places[i].index]);
		CHECK(rerun_accesses(some, 0, 256, c.list, c.nr, NULL, 0) == 0);
		nr_all += nr;
		nr_some += c.nr;
	}
	CHECK(rerun_finish(some) == 0);
	for (i = 0; i < config->nr_levels; i++) {
		sim_level_totals(all, i, &wanted);
		sim_level_totals(rerun_sim(some), i, &found);
		CHECK_EQ(found.misses[0], wanted.misses[0]);
		CHECK_EQ(found.misses[1], wanted.misses[1]);
	}
	sim_totals(all, &all_totals);
	sim_totals(rerun_sim(some), &some_totals);
	CHECK_EQ(some_totals.memory_writes, all_totals.memory_writes);
	CHECK(c.skips ? nr_some < nr_all * 3 / 4 : nr_some == nr_all);
	sim_free(all);
	rerun_free(some);
}

static void chunks_have_the_misses_of_all_accesses(void)
{
	struct sim_config config;

	sim_config_default(&config);
	config.no_classes = true;
	compare_chunk(&config); /* other threads may share lines: nothing is left out */
	config.no_sharing = true;
	compare_chunk(&config);
	config.level[0].size = 1024 * 1024; /* more sets than the chunk tells apart */
	compare_chunk(&config);
	config.level[0].size = 8 * 64;
	config.level[0].ways = 4;
	compare_chunk(&config);
	config.nr_levels = 1; /* each write that is left out may be missing in memory */
	compare_chunk(&config);
	config.level[0].ways = 1;
	compare_chunk(&config);
	config.level[0].policy = SIM_FIFO;
	compare_chunk(&config);
}

static uint64_t moved_address(struct rerun *r, uint64_t start, uint64_t bytes)
{
	const struct owner owner = { .kind = OWNER_RECORD, .type = sample };
	const struct address_owner place = {
		.start = start, .end = start + bytes, .stride = bytes, .annotated = true
	};
	uint64_t address = 0;

	CHECK(rerun_address(r, start, &place, &owner, &address) == 0);
	return address;
}

/* What malloc() gives for @size; a block that was freed before may be used for a smaller size. */
static size_t usable_size(size_t size)
{
	void *blocks[64];
	size_t least = SIZE_MAX, i;

	for (i = 0; i < 64; i++) {
		blocks[i] = malloc(size);
		CHECK(blocks[i]);
		if (malloc_usable_size(blocks[i]) < least)
			least = malloc_usable_size(blocks[i]);
	}
	for (i = 0; i < 64; i++)
		free(blocks[i]);
	return least;
}

/* Blocks follow each other as those of malloc() do, and a freed one is used for its size class. */
static void blocks_have_the_sizes_of_malloc(void)
{
	const struct mem_record gone = { .kind = MEM_REMOVE, .address = 0x5000 };
	/* Other allocators, and those of sanitizers, have other sizes. */
	bool is_glibc = usable_size(1) == 24;
	uint64_t size, first, next;
	struct sim_config config;
	struct err err = { 0 };
	struct pieces p;
	struct shape *s;

	CHECK(pieces_init(&p, types, sample) == 0);
	s = shape_new(&p, "moved");
	sim_config_default(&config);
	for (size = sizeof(struct sample); size < 400; size += 8) {
		struct rerun *r = rerun_new(&config, &err);

		CHECK(r && rerun_shape(r, s, true) == 0);
		first = moved_address(r, 0x5000, size);
		next = moved_address(r, 0x6000, size);
		if (is_glibc)
			CHECK_EQ(next - first, usable_size(size) + 8);
		CHECK(rerun_record(r, &gone) == 0);
		CHECK_EQ(moved_address(r, 0x7000, size + 8) == first, size % 16 == 0);
		rerun_free(r);
	}
	shape_free(s);
	pieces_release(&p);
}

static void freed_blocks_are_used_again(void)
{
	const struct owner owner = { .kind = OWNER_RECORD, .type = sample };
	struct address_owner place = { .start = 0x5000,
				       .end = 0x5000 + sizeof(struct sample),
				       .stride = sizeof(struct sample),
				       .annotated = true };
	struct mem_record gone = { .kind = MEM_REMOVE, .address = 0x5000 };
	struct sim_config config;
	struct err err = { 0 };
	struct pieces p;
	struct shape *s;
	struct rerun *r;
	uint64_t first, again, other;

	CHECK(pieces_init(&p, types, sample) == 0);
	s = shape_new(&p, "aligned");
	shape_settle(s, 64, 64);
	sim_config_default(&config);
	r = rerun_new(&config, &err);
	CHECK(r && rerun_shape(r, s, false) == 0);
	CHECK(rerun_address(r, 0x5000, &place, &owner, &first) == 0);
	CHECK(rerun_record(r, &gone) == 0);
	place.start = 0x7000;
	place.end = place.start + place.stride;
	CHECK(rerun_address(r, 0x7000, &place, &owner, &again) == 0);
	CHECK_EQ(first, again);
	place.start = 0x9000;
	place.end = place.start + place.stride;
	CHECK(rerun_address(r, 0x9000, &place, &owner, &other) == 0);
	CHECK(other != again && other % 64 == again % 64);
	rerun_free(r);
	shape_free(s);
	pieces_release(&p);
}

/* ---- remap files --------------------------------------------------------- */

static int read_text(const char *text, size_t size, struct remap *m, struct err *err)
{
	char path[] = "/tmp/corotracer-remap-XXXXXX";
	int fd = mkstemp(path), ret;

	CHECK(fd >= 0 && write(fd, text, size) == (ssize_t)size);
	close(fd);
	ret = remap_read(m, path, types, err);
	unlink(path);
	return ret;
}

static void check_remap(const struct remap *m)
{
	size_t i;
	uint32_t a, b;

	for (i = 0; i < m->nr; i++) {
		const struct shape *s = m->types[i].shape;

		for (a = 0; a < s->pieces->nr; a++) {
			CHECK(s->offset[a] + s->size[a] <= s->bytes);
			for (b = 0; b < a; b++)
				CHECK(s->offset[a] + s->size[a] <= s->offset[b] ||
				      s->offset[b] + s->size[b] <= s->offset[a]);
		}
	}
}

static void whatever_a_remap_file_says_it_is_checked(void)
{
	static const char good[] = "# one\nstruct sample=sizeof=128;a,100;b,0x40;c,072,5;\n"
				   "struct other=align=64;sizeof=64\n";
	uint64_t seed = 42;
	unsigned i, n, understood = 0;
	char text[sizeof(good)];

	for (i = 0; i < 4000; i++) {
		struct err err = { 0 };
		struct remap m;

		memcpy(text, good, sizeof(good));
		for (n = i ? 1 + i % 5 : 0; n; n--) {
			seed = seed * UINT64_C(6364136223846793005) + 1;
			text[(seed >> 40) % (sizeof(good) - 1)] =
				"=;,#\n 0987654321abcdefx\0\377-"[(seed >> 20) % 26];
		}
		if (read_text(text, sizeof(good) - 1, &m, &err) == 0) {
			understood++;
			check_remap(&m);
			remap_release(&m);
		} else {
			CHECK(err.text[0] && err.code < 0);
		}
	}
	CHECK(understood > 10 && understood < 3900);
}

/* A library's types are read if no module before it has the name. */
static void the_program_is_asked_first(void)
{
	const struct cray_module program = { .start = 0x1000, .end = 0x2000 };
	const struct cray_module library = { .start = 0x3000, .end = 0x4000 };
	struct mem_facts facts = { 0 };
	struct types *t = types_new();

	CHECK(t != NULL);
	CHECK(mem_facts_add_module(&facts, &program, "/proc/self/exe") == 0);
	CHECK(mem_facts_add_module(&facts, &library, "/no/such/library.so") == 0);
	CHECK(types_add_modules(t, &facts) == 0);
	CHECK(types_by_name(t, "const struct sample") != 0);
	CHECK(types_by_name(t, "sample") == types_by_name(t, "struct sample"));
	CHECK(types_problem(t) == NULL);
	CHECK_EQ(types_by_name(t, "struct in_no_module"), 0);
	CHECK(types_problem(t) && strstr(types_problem(t), "/no/such/library.so"));
	CHECK(types_by_name(t, "struct other") != 0);
	types_free(t);
	mem_facts_release(&facts);
}

/* ---- a study of a trace ---------------------------------------------------------- */

#define SPREADS 256u
#define ROUNDS  4u

/* An array of `struct spread` at the start of a line, of which two members are read in rounds. */
static void write_spreads(const char *path)
{
	const struct mem_writer_config config = { .format = MEM_FORMAT_CONTAINER };
	const struct cray_module module = { .start = 0x400000, .end = 0x500000 };
	struct mem_record r = { .kind = MEM_ADD,
				.tag = MEM_ADD,
				.weight_256 = 256,
				.address = 0x10000000,
				.pc = 0x400010,
				.elem_size = sizeof(struct spread),
				.elem_count = SPREADS,
				.name = "struct spread",
				.name_size = 13 };
	struct mem_facts facts = { 0 };
	struct err err = { 0 };
	struct mem_writer *w;
	uint32_t i;

	CHECK(mem_facts_add_module(&facts, &module, "/proc/self/exe") == 0);
	w = mem_writer_open(path, &config, &facts, &err);
	CHECK(w && mem_writer_put(w, &r) == 0);
	r = (struct mem_record){ .weight_256 = 256, .size = 8 };
	for (i = 0; i < 2 * SPREADS * ROUNDS; i++) {
		r.address = 0x10000000 + i / 2 % SPREADS * sizeof(struct spread) +
			    (i % 2 ? offsetof(struct spread, second) : 0);
		r.pc = 0x400020 + i % 2;
		CHECK_EQ(mem_writer_put(w, &r), 0);
	}
	CHECK_EQ(mem_writer_close(w, &err), 0);
	mem_facts_release(&facts);
}

/* Lines that a round uses with these offsets in elements of @size; more than the cache has. */
static uint64_t lines_of_round(uint64_t size, uint64_t first, uint64_t second)
{
	uint64_t nr = 0, last = 0, at, line;
	uint32_t i;

	for (i = 0; i < 4 * SPREADS; i++) { /* the first and the last byte of each member */
		at = i / 4 * size + (i % 4 < 2 ? first : second);
		line = (at + (i % 2 ? 7 : 0)) / 64 + 1;
		nr += line != last;
		last = line;
	}
	return nr;
}

static void a_layout_is_advised_and_its_replay_is_exact(void)
{
	struct study_config config = { .top = 4 };
	char path[] = "/tmp/corotracer-test-XXXXXX";
	static struct mem_faults faults;
	struct err err = { 0 };
	const struct shape *best;
	struct study s;
	int fd = mkstemp(path);

	CHECK(fd >= 0);
	close(fd);
	write_spreads(path);
	sim_config_default(&config.sim);
	config.sim.nr_levels = 1;
	config.sim.level[0].size = 4096;
	CHECK_EQ(study_run(&s, &config, path, &faults, &err), 0);
	unlink(path);
	CHECK_EQ(s.nr_accesses, 2 * SPREADS * ROUNDS);
	CHECK_EQ(s.before.misses[0], ROUNDS * lines_of_round(sizeof(struct spread), 0,
							     offsetof(struct spread, second)));
	CHECK(s.nr_types == 1 && s.has_after);
	CHECK_STR(s.types[0].name, "struct spread");
	CHECK(s.types[0].best >= 0);
	best = s.types[0].candidates[s.types[0].best].shape;
	CHECK(best->offset[2] - best->offset[0] == 8 || best->offset[0] - best->offset[2] == 8);
	CHECK_EQ(s.after.misses[0],
		 ROUNDS * lines_of_round(best->bytes, best->offset[0], best->offset[2]));
	CHECK_EQ(s.types[0].candidates[s.types[0].best].run.misses[0], s.after.misses[0]);
	/* The present layout, in a block that begins elsewhere. */
	CHECK(s.base.misses[0] - s.before.misses[0] <= ROUNDS);
	CHECK(s.after.misses[0] < s.base.misses[0]);
	CHECK(s.types[0].candidates[s.types[0].best].gain > 0.1);
	study_release(&s);
}

int main(void)
{
	kept.a = kept_other.a = 1;
	open_types();
	RUN(the_program_is_asked_first);
	RUN(members_that_two_records_share_stay_in_front);
	RUN(places_members_as_a_compiler_does);
	RUN(no_two_fields_share_an_address);
	RUN(freed_blocks_are_used_again);
	RUN(blocks_have_the_sizes_of_malloc);
	RUN(replays_have_the_misses_of_all_accesses);
	RUN(chunks_have_the_misses_of_all_accesses);
	RUN(whatever_a_remap_file_says_it_is_checked);
	RUN(a_layout_is_advised_and_its_replay_is_exact);
	types_free(types);
	return 0;
}
