/* SPDX-License-Identifier: MIT */
/*
 * fuzz_study.c - traces with random annotations of existing types: studied, and made the data of a
 * page.
 *
 * The input selects the choices: two bytes per choice, and numbers derived from the last choice
 * when they are used up.  Annotations overlap, have sizes that do not fit, are at
 * the end of the address space; accesses are of any size, across all borders; blocks are added and
 * removed during the replays.  What must hold: it ends, the misses of types add up to those of the
 * simulator, a layout equal to the present one changes no count, and the data of the page is JSON.
 *
 * With clang:   -DFUZZ_LIBFUZZER -fsanitize=fuzzer,address,undefined
 * Without:      fuzz_study COUNT makes its own inputs.
 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "memory/layout/advise.h"
#include "memory/format/mem_writer.h"
#include "mem_sim.h"

struct leafy {
	char a;
	long b;
	unsigned c : 3, d : 12;
	struct {
		short x, y[3];
	} in[4];
	union {
		int i;
		char text[24];
	};
	double hot[2];
};

struct open_ended {
	int nr;
	struct leafy item[];
};

static struct leafy table[9] __attribute__((used));
static struct open_ended opened __attribute__((used));
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t seed;
static const uint8_t *choices;
static size_t nr_choices;
static unsigned long proposals; /* a fuzzer that makes no proposal proves nothing */

static uint32_t some(uint32_t below)
{
	if (nr_choices) {
		seed += (uint64_t)(choices[0] | choices[1] << 8) << 33;
		choices += 2;
		nr_choices--;
	}
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(seed >> 33) % below;
}

static const char *const names[] = {
	"struct leafy", "leafy", "struct.open_ended", "struct.leafy.7", "i32*",
	"nothing",      "",      "const struct leafy"
};

static uint64_t address(void)
{
	switch (some(8)) {
	case 0:
		return UINT64_MAX - some(300);
	case 1:
		return some(300);
	case 2:
		return seed;
	default:
		return 0x500000 + some(4000);
	}
}

static void any_record(struct mem_record *r)
{
	static const uint32_t sizes[] = { sizeof(struct leafy), 2 * sizeof(struct leafy), 1, 0, 7,
					  UINT32_MAX,           sizeof(struct leafy) + 4 };
	const char *name = names[some(sizeof(names) / sizeof(names[0]))];

	memset(r, 0, sizeof(*r));
	r->weight_256 = 256;
	r->thread = some(3);
	r->address = address();
	r->pc = some(4) ? 0x400000 + some(50) : 0;
	if (some(30)) {
		r->kind = some(2) ? MEM_WRITE : MEM_READ;
		r->tag = r->kind;
		r->size = (uint8_t)(some(4) ? 1u << some(5) : some(256));
		return;
	}
	r->kind = some(3) ? MEM_ADD : MEM_REMOVE;
	r->tag = r->kind;
	r->elem_size = sizes[some(7)];
	r->elem_count = some(6) ? some(20) : UINT32_MAX;
	r->name = name;
	r->name_size = (uint32_t)strlen(name);
}

static void write_trace(const char *path, unsigned records)
{
	const struct mem_writer_config config = { .format = MEM_FORMAT_CONTAINER };
	const struct cray_module module = { .start = 0x400000, .end = 0x500000, .bias = 0 };
	struct mem_facts facts = { 0 };
	struct mem_writer *w;
	struct err err = { 0 };
	struct mem_record r;

	CHECK(mem_facts_add_module(&facts, &module, "/proc/self/exe") == 0);
	w = mem_writer_open(path, &config, &facts, &err);
	CHECK(w != NULL);
	while (records--) {
		any_record(&r);
		CHECK(mem_writer_put(w, &r) == 0);
	}
	CHECK(mem_writer_close(w, &err) == 0);
	mem_facts_release(&facts);
}

/* ---- what must hold ------------------------------------------------------ */

static void check_sums(const struct study *s)
{
	const struct blame_owner *list[64];
	size_t nr = blame_owners(s->blame, list, 64), i;
	uint64_t misses = 0;
	uint32_t n;

	CHECK(nr <= 64);
	for (i = 0; i < nr; i++) {
		uint64_t fields = 0;

		misses += list[i]->counts.misses[0];
		for (n = 0; n < list[i]->nr_fields; n++)
			fields += list[i]->fields[n].counts.misses[0];
		if (list[i]->nr_fields)
			CHECK_EQ(fields, list[i]->counts.misses[0]);
	}
	CHECK_EQ(misses, blame_total(s->blame)->misses[0]);
	CHECK_EQ(misses / BLAME_ONE, s->before.misses[0]);
}

static void study_it(const char *path, const char *remap)
{
	struct study_config config = { .top = 8, .remap = remap };
	static struct mem_faults faults;
	struct err err = { 0 };
	struct study s;

	sim_config_default(&config.sim);
	config.sim.level[0].size = 4096; /* so that there are misses */
	if (study_run(&s, &config, path, &faults, &err) < 0) {
		fprintf(stderr, "%s\n", err.text);
		exit(1);
	}
	check_sums(&s);
	if (s.nr_types)
		proposals += (unsigned long)s.types[0].nr_candidates;
	if (remap) /* it repeats the present offsets */
		CHECK(!memcmp(&s.after, &s.base, sizeof(s.after)));
	study_release(&s);
}

static int each(void *blame, const struct mem_record *r, const struct sim_outcome *out)
{
	return out ? blame_access(blame, r, out) : blame_record(blame, r);
}

static void check_json(const struct mem_sim_result *result)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *json;

	CHECK(out && mem_sim_print(result, out, true) == 0 && fclose(out) == 0);
	json = json_loadb(text, size, JSON_DECODE_INT_AS_REAL, NULL);
	CHECK(json_is_array(json_object_get(json, "types")));
	json_decref(json);
	free(text);
}

static void show_it(const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct replay replay = { .each = each };
	struct mem_sim_result result = {
		.path = path, .machine = "none", .page_title = "fuzz", .replay = &replay, .top = 50
	};
	struct sim_config config;

	sim_config_default(&config);
	CHECK(r);
	result.facts = mem_reader_facts(r);
	result.sim = sim_new(&config, &err);
	result.blame = blame_new(&config, &err);
	CHECK(result.sim && result.blame && blame_modules(result.blame, result.facts) == 0);
	replay.context = result.blame;
	CHECK(replay_run(&replay, result.sim, r, &err) == 0);
	check_json(&result);
	replay_release(&replay);
	blame_free(result.blame);
	sim_free(result.sim);
	mem_reader_close(r);
}

/* An unnamed file, to be opened through /proc by its number. */
static int file_of(char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	CHECK(fd >= 0);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char same[] = "struct leafy=a,0\n";
	static char remap[64];
	static int remap_fd = -1;
	char path[64];
	int fd;

	if (remap_fd < 0) {
		remap_fd = file_of(remap);
		CHECK(write(remap_fd, same, sizeof(same) - 1) == sizeof(same) - 1);
		table[0].a = 1;
		opened.nr = 1;
	}
	seed = size ? data[0] : 0;
	choices = data;
	nr_choices = size / 2;
	fd = file_of(path);
	write_trace(path, 200 + (unsigned)(size > 1000 ? 1800 : 0));
	study_it(path, size % 2 ? remap : NULL);
	show_it(path);
	close(fd);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "../../fuzz/own_input.h"

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : 20, i;
	static uint8_t input[2001];
	size_t k;

	for (i = 0; i < count; i++) {
		seed = i;
		for (k = 0; k < sizeof(input); k++)
			input[k] = (uint8_t)some(256);
		alarm(120); /* an endless loop is a failure */
		own_input(input, sizeof(input) - i % 2);
	}
	printf("%lu traces, %lu proposals\n", count, proposals);
	CHECK(proposals >= count);
	return 0;
}
#endif
