/* SPDX-License-Identifier: MIT */
/*
 * test_format_parts.c - what a reader of memory traces is made of: the filter of records,
 * annotations by address, call stacks, facts of the process, and names.
 */
#include <fcntl.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"
#include "memory/format/call_stack.h"
#include "memory/format/coroutine_text.h"
#include "memory/format/mem_facts.h"
#include "memory/format/record_filter.h"
#include "memory/format/unseen_modules.h"

/* ---- the filter ------------------------------------------------------------------------------ */

static struct mem_facts facts;
static const char *type;
static uint64_t offset;

static bool wants(struct mem_select *s, struct mem_record r)
{
	return mem_select_wants(s, &r, &facts, &type, &offset);
}

static void kinds_are_chosen_by_name(void)
{
	struct mem_select s = { 0 };
	unsigned k;

	for (k = 0; k < MEM_KINDS; k++) {
		s.kinds = 0;
		CHECK(mem_select_kinds(&s, mem_kind_name(k)));
		CHECK_EQ(s.kinds, 1u << k);
	}
	s.kinds = 0;
	CHECK(mem_select_kinds(&s, "write,gap"));
	CHECK_EQ(s.kinds, 1u << MEM_WRITE | 1u << MEM_GAP);
	CHECK(!wants(&s, (struct mem_record){ .kind = MEM_READ }));
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_WRITE }));
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_GAP }));
	s.kinds = 0;
	CHECK(!mem_select_kinds(&s, "") && !mem_select_kinds(&s, "rea"));
	CHECK(!mem_select_kinds(&s, "reads") && !mem_select_kinds(&s, "read,,write"));
	s.kinds = 0;
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_MARK }));
	s.atomic = true;
	CHECK(!wants(&s, (struct mem_record){ .kind = MEM_READ }));
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_READ, .tag = CRAY_ATOMIC }));
	CHECK(!wants(&s, (struct mem_record){ .kind = MEM_ADD, .tag = CRAY_ATOMIC }));
	mem_select_release(&s);
}

static void a_thread_is_chosen_by_its_id(void)
{
	struct mem_select s = { .by_thread = true, .thread_id = 77 };
	struct cray_thread t = { .number = 3, .id = 77 };

	CHECK_EQ(mem_facts_set_thread(&facts, &t, NULL), 0);
	CHECK(wants(&s, (struct mem_record){ .thread = 3 }));
	CHECK(!wants(&s, (struct mem_record){ .thread = 4 }));
	CHECK(wants(&s, (struct mem_record){ .thread = 77 })); /* without an id: the number */
	mem_facts_release(&facts);
}

static void a_range_has_a_first_and_a_last_address(void)
{
	struct mem_select s = { 0 };

	CHECK(mem_select_range(&s, "0x1000-0x2000") && s.by_range);
	CHECK_EQ(s.from, 0x1000);
	CHECK_EQ(s.to, 0x2000);
	CHECK(mem_select_range(&s, "0x1000+64"));
	CHECK_EQ(s.to, 0x103f);
	CHECK(mem_select_range(&s, "4096"));
	CHECK_EQ(s.from, 4096);
	CHECK_EQ(s.to, 4096);
	CHECK(mem_select_range(&s, "7-7"));
	CHECK(!mem_select_range(&s, "8-7") && !mem_select_range(&s, "8+0"));
	CHECK(!mem_select_range(&s, "") && !mem_select_range(&s, "x"));
	CHECK(!mem_select_range(&s, "-8") && !mem_select_range(&s, "8-"));
	CHECK(!mem_select_range(&s, "8+") && !mem_select_range(&s, "8--9"));
	CHECK(!mem_select_range(&s, "8+-9") && !mem_select_range(&s, "8x"));
	CHECK(!mem_select_range(&s, "8-9x") && !mem_select_range(&s, "8+9 "));
	CHECK(!mem_select_range(&s, "0x10000000000000000"));
	CHECK(!mem_select_range(&s, "1-0x10000000000000000"));
	CHECK(!mem_select_range(&s, "0xffffffffffffffff+2")); /* beyond the end */
	CHECK(mem_select_range(&s, "0xffffffffffffffff+1"));
}

static bool touches(struct mem_select *s, unsigned kind, uint64_t address, uint64_t size)
{
	struct mem_record r = { .kind = (uint8_t)kind, .address = address };

	if (kind == MEM_ADD) {
		r.elem_size = 2;
		r.elem_count = (uint32_t)size / 2;
	} else if (kind == MEM_ALLOC) {
		r.value = size;
	} else {
		r.size = (uint8_t)size;
	}
	return wants(s, r);
}

static void records_that_touch_the_range_pass(void)
{
	struct mem_select s = { .by_range = true, .from = 100, .to = 199 };

	CHECK(!touches(&s, MEM_READ, 92, 8) && touches(&s, MEM_READ, 93, 8));
	CHECK(touches(&s, MEM_WRITE, 199, 8) && !touches(&s, MEM_WRITE, 200, 8));
	CHECK(touches(&s, MEM_READ, 100, 0) && !touches(&s, MEM_READ, 99, 0));
	CHECK(!touches(&s, MEM_ADD, 80, 20) && touches(&s, MEM_ADD, 80, 22));
	CHECK(!touches(&s, MEM_ALLOC, 50, 50) && touches(&s, MEM_ALLOC, 50, 51));
	CHECK(touches(&s, MEM_ALLOC, 150, UINT64_MAX)); /* more than there is */
	CHECK(touches(&s, MEM_REMOVE, 100, 0) && !touches(&s, MEM_REMOVE, 99, 50));
	CHECK(touches(&s, MEM_FREE, 199, 0) && !touches(&s, MEM_FREE, 200, 0));
	CHECK(!touches(&s, MEM_MARK, 150, 1) && !touches(&s, MEM_ENTER, 150, 1));
}

static void types_follow_from_annotations(void)
{
	struct mem_select s = { .want_types = true };
	struct mem_record node = { .kind = MEM_ADD,
				   .address = 0x1000,
				   .elem_size = 16,
				   .elem_count = 4,
				   .name = "Nodes",
				   .name_size = 4 };

	CHECK(wants(&s, node));
	CHECK_STR(type, "Node");
	CHECK(wants(&s, (struct mem_record){ .address = 0x1000 + 35 }));
	CHECK_STR(type, "Node");
	CHECK_EQ(offset, 3); /* in the element */
	CHECK(wants(&s, (struct mem_record){ .address = 0x1040 }) && !type);
	CHECK_EQ(offset, 0);
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_ALLOC, .address = 0x1000 }) && !type);
	s.type = "Node";
	CHECK(wants(&s, (struct mem_record){ .address = 0x103f }));
	CHECK(!wants(&s, (struct mem_record){ .address = 0x1040 }));
	s.type = "Nod";
	CHECK(!wants(&s, (struct mem_record){ .address = 0x1000 }));
	s.type = NULL;
	CHECK(wants(&s, (struct mem_record){ .kind = MEM_REMOVE, .address = 0x1000 }));
	CHECK_STR(type, "Node");
	CHECK(wants(&s, (struct mem_record){ .address = 0x1000 }) && !type);
	node.address = 0; /* of a failed allocation */
	CHECK(wants(&s, node) && !type);
	node.address = 0x2000;
	node.elem_size = 0;
	CHECK(wants(&s, node) && !type); /* empty */
	CHECK(!s.no_memory);
	mem_select_release(&s);
	CHECK(!s.regions.root);
}

/* ---- annotations -------------------------------------------------------------------------------
 */

#define PLACES 256

/* The type of each byte; 0: none.  The start of its region. */
static uint32_t types_of[PLACES], starts_of[PLACES];

static void regions_are_like_bytes(void)
{
	struct annotation_map map = { 0 };
	uint64_t state = 5;
	uint32_t n, i;

	for (n = 1; n < 3000; n++) {
		struct annotation met = { 0 };
		uint32_t start, size, covered = 0, first = PLACES;
		const struct annotation *found;

		state = state * 6364136223846793005u + 1442695040888963407u;
		start = (uint32_t)(state >> 33) % (PLACES - 40);
		size = 1 + (uint32_t)(state >> 45) % 39;
		if (n % 3 == 0) {
			bool was = starts_of[start] == start && types_of[start];

			CHECK_EQ(regions_remove(&map, start), was);
			for (i = start; was && i < PLACES && starts_of[i] == start; i++)
				types_of[i] = starts_of[i] = 0;
			continue;
		}
		/* What it covers goes away as a whole. */
		for (i = start; i < start + size; i++) {
			uint32_t old = types_of[i], from = starts_of[i], k;

			if (!old)
				continue;
			covered++;
			first = from < first ? from : first;
			for (k = 0; k < PLACES; k++) {
				if (types_of[k] == old)
					types_of[k] = starts_of[k] = 0;
			}
		}
		CHECK_EQ(regions_add(&map, start, size, 4, n, &met), covered);
		CHECK(!covered || met.start == first);
		CHECK(map.newest->start == start && map.newest->end == start + size);
		for (i = start; i < start + size; i++) {
			types_of[i] = n;
			starts_of[i] = start;
		}
		for (i = 0; i < PLACES; i++) {
			found = regions_find(&map, i);
			CHECK_EQ(found ? found->type : 0, types_of[i]);
		}
	}
	CHECK(map.most >= map.nr && map.most < 100);
	regions_release(&map);
	CHECK(!map.root && !map.nr);
}

static void an_empty_annotation_contains_nothing(void)
{
	struct annotation_map map = { 0 };
	struct annotation met;

	CHECK_EQ(regions_add(&map, 100, 20, 4, 1, &met), 0);
	CHECK_EQ(regions_add(&map, 110, 0, 4, 2, &met), 0); /* in another one */
	CHECK_EQ(map.nr, 2);
	CHECK(!regions_find(&map, 110));
	CHECK_EQ(regions_before(&map, 110)->type, 2);
	CHECK_EQ(regions_before(&map, 109)->type, 1);
	CHECK(!regions_before(&map, 99));
	CHECK_EQ(regions_add(&map, 110, 0, 4, 3, &met), 1); /* the same place */
	CHECK_EQ(met.type, 2);
	/* Up to the end of the address space. */
	CHECK_EQ(regions_add(&map, UINT64_MAX - 10, 100, 4, 4, &met), 0);
	CHECK_EQ(regions_find(&map, UINT64_MAX - 1)->type, 4);
	CHECK(!regions_remove(&map, 101) && regions_remove(&map, 100));
	CHECK_EQ(map.nr, 2);
	CHECK_EQ(map.most, 3);
	CHECK_EQ(regions_add(&map, 0, 4, 4, 5, &met), 0);
	CHECK_EQ(regions_find(&map, 3)->type, 5);
	regions_release(&map);
}

static void add_and_release(void)
{
	struct annotation_map map = { 0 };
	struct annotation met;
	uint64_t i;

	for (i = 0; i < 1000; i++)
		CHECK_EQ(regions_add(&map, i * 64, 8, 8, 1, &met), 0);
	for (i = 0; i < 500; i++)
		CHECK(regions_remove(&map, i * 128));
	for (i = 0; i < 500; i++) /* in the memory of those */
		CHECK_EQ(regions_add(&map, i * 128, 8, 8, 1, &met), 0);
	CHECK_EQ(map.nr, 1000);
	CHECK_EQ(regions_add(&map, 0, 1000 * 64, 8, 1, &met), 1000);
	CHECK_EQ(met.start, 0);
	regions_release(&map);
}

/* ---- call stacks -------------------------------------------------------------------------------
 */

static void enter(struct call_stacks *s, uint32_t thread, uint64_t function, uint64_t site)
{
	struct mem_record r = {
		.kind = MEM_ENTER, .thread = thread, .pc = function, .value = site
	};

	CHECK_EQ(call_stacks_record(s, &r), 0);
}

static void leave(struct call_stacks *s, uint32_t thread, uint64_t nr)
{
	struct mem_record r = { .kind = MEM_EXIT, .thread = thread, .value = nr };

	CHECK_EQ(call_stacks_record(s, &r), 0);
}

static void a_thread_enters_and_leaves(void)
{
	struct call_stacks s = { 0 };
	struct mem_record other = { .kind = MEM_MARK };
	const struct call_stack *stack;
	uint32_t i;

	CHECK_EQ(call_stacks_record(&s, &other), 0);
	CHECK(!s.any && !call_stacks_of(&s, 0)->nr);
	for (i = 0; i < 40; i++)
		enter(&s, 7, 0x1000 + i, 0x2000 + i);
	enter(&s, 8, 0x99, 0x98);
	stack = call_stacks_of(&s, 7);
	CHECK(s.any);
	CHECK_EQ(stack->nr, 40);
	CHECK_EQ(stack->frame[0].function, 0x1000);
	CHECK_EQ(stack->frame[39].site, 0x2027);
	CHECK_EQ(call_stacks_of(&s, 8)->nr, 1);
	CHECK_EQ(call_stacks_of(&s, 9)->nr, 0);
	leave(&s, 7, 1);
	CHECK_EQ(call_stacks_of(&s, 7)->nr, 39);
	leave(&s, 8, 5); /* more than it knows */
	CHECK_EQ(call_stacks_of(&s, 8)->nr, 0);
	leave(&s, 7, 0); /* all */
	CHECK_EQ(call_stacks_of(&s, 7)->nr, 0);
	for (i = 0; i < 40; i++) /* many threads */
		enter(&s, 100 + i, i, i);
	CHECK_EQ(call_stacks_of(&s, 139)->frame[0].function, 39);
	CHECK_EQ(call_stacks_of(&s, 100)->frame[0].function, 0);
	call_stacks_release(&s);
	CHECK(!s.stack && !s.any);
}

static void functions_beyond_the_limit_are_counted(void)
{
	struct call_stacks s = { 0 };
	uint32_t i;

	for (i = 0; i < CALL_STACK_MAX + 3; i++)
		enter(&s, 0, i, 0);
	CHECK_EQ(call_stacks_of(&s, 0)->nr, CALL_STACK_MAX);
	CHECK_EQ(call_stacks_of(&s, 0)->deeper, 3);
	leave(&s, 0, 2);
	CHECK_EQ(call_stacks_of(&s, 0)->nr, CALL_STACK_MAX);
	CHECK_EQ(call_stacks_of(&s, 0)->deeper, 1);
	leave(&s, 0, 2);
	CHECK_EQ(call_stacks_of(&s, 0)->nr, CALL_STACK_MAX - 1);
	enter(&s, 0, 5, 0);
	enter(&s, 0, 5, 0);
	CHECK_EQ(call_stacks_of(&s, 0)->deeper, 1);
	leave(&s, 0, 0);
	CHECK_EQ(call_stacks_of(&s, 0)->deeper + call_stacks_of(&s, 0)->nr, 0);
	call_stacks_release(&s);
}

/* ---- facts
 * --------------------------------------------------------------------------------------- */

static uint8_t chunk[4096];
static size_t chunk_size;
static struct mem_faults faults;

static void put(const void *data, size_t size)
{
	memcpy(chunk + chunk_size, data, size);
	chunk_size += size;
}

/* The chunk in memory of its own, cut by @cut bytes. */
static void take_chunk(unsigned kind, size_t cut)
{
	uint8_t *copy = malloc(chunk_size - cut + !(chunk_size - cut));

	CHECK(copy != NULL);
	memcpy(copy, chunk, chunk_size - cut);
	CHECK_EQ(mem_facts_chunk(&facts, (uint16_t)kind, copy, chunk_size - cut, 4711, &faults), 0);
	free(copy);
}

static void begin_chunk(void)
{
	mem_facts_release(&facts);
	memset(&faults, 0, sizeof(faults));
	chunk_size = 0;
}

/* Cut anywhere, it is damaged, and what is before stays. */
static void cut_everywhere(unsigned kind, size_t first, const char *text)
{
	size_t cut;

	for (cut = 1; cut < chunk_size; cut++) {
		mem_facts_release(&facts);
		memset(&faults, 0, sizeof(faults));
		take_chunk(kind, cut);
		if (chunk_size - cut == first) {
			CHECK_EQ(faults.nr, 0);
			continue;
		}
		CHECK_EQ(faults.nr, 1);
		CHECK_EQ(faults.first[0].offset, 4711);
		CHECK_STR(faults.first[0].text, text);
	}
	mem_facts_release(&facts);
	memset(&faults, 0, sizeof(faults));
}

static void put_fact(uint16_t key, const void *data, size_t size)
{
	struct cray_fact fact = { .key = key };

	fact.size = (__typeof__(fact.size))size;
	put(&fact, sizeof(fact));
	put(data, size);
}

static void a_process_has_facts(void)
{
	uint64_t number = 1234, other = 64;
	size_t first;

	begin_chunk();
	put_fact(CRAY_FACT_PID, &number, 8);
	first = chunk_size;
	put_fact(CRAY_FACT_EXE, "/bin/x", 6);
	cut_everywhere(CRAY_INFO, first, "a fact longer than its chunk");
	put_fact(CRAY_FACT_PARENT, &other, 8);
	put_fact(CRAY_FACT_LINE, &other, 8);
	put_fact(CRAY_FACT_PAGE, &number, 4); /* of another size: ignored */
	put_fact(CRAY_FACT_COMMAND, "a\0bc", 5);
	put_fact(CRAY_FACT_CWD, "/tmp", 4);
	put_fact(CRAY_FACT_MACHINE, "x86_64", 6);
	put_fact(CRAY_FACT_WRITER, "w", 1);
	put_fact(CRAY_FACT_OPTIONS, "o", 1);
	put_fact(CRAY_FACT_NOTE, "first", 5);
	put_fact(CRAY_FACT_NOTE, "second", 6);
	put_fact(999, "later", 5);
	put_fact(CRAY_FACT_EXE, "/bin/y", 6);
	take_chunk(CRAY_INFO, 0);
	CHECK_EQ(faults.nr, 0);
	CHECK_EQ(facts.pid, 1234);
	CHECK_EQ(facts.parent, 64);
	CHECK_EQ(facts.line_size, 64);
	CHECK_EQ(facts.page_size, 0);
	CHECK_STR(facts.exe, "/bin/y");
	CHECK_EQ(facts.command_size, 5);
	CHECK(!memcmp(facts.command, "a\0bc", 5));
	CHECK_STR(facts.cwd, "/tmp");
	CHECK_STR(facts.machine, "x86_64");
	CHECK_STR(facts.writer, "w");
	CHECK_STR(facts.options, "o");
	CHECK_EQ(facts.nr_notes, 2);
	CHECK_STR(facts.notes[1], "second");
	mem_facts_release(&facts);
	CHECK(!facts.exe && !facts.nr_notes);
}

static void there_are_at_most_64_notes(void)
{
	unsigned i;

	begin_chunk();
	for (i = 0; i < MEM_NOTES_MAX + 2; i++)
		CHECK_EQ(mem_facts_add_note(&facts, "note", 3), 0);
	CHECK_EQ(facts.nr_notes, MEM_NOTES_MAX);
	CHECK_STR(facts.notes[MEM_NOTES_MAX - 1], "not");
	mem_facts_release(&facts);
}

static void modules_have_paths_and_build_ids(void)
{
	struct cray_module m = { .start = 0x1000, .build_id_size = 2, .path_size = 4 };
	char text[65];
	size_t first;

	begin_chunk();
	m.build_id[0] = 0x0a;
	m.build_id[1] = 0xb0;
	put(&m, sizeof(m));
	put("/lib", 4);
	first = chunk_size;
	m.build_id_size = 200; /* more than there is */
	m.path_size = 0;
	put(&m, sizeof(m));
	cut_everywhere(CRAY_MODULES, first, "a module longer than its chunk");
	take_chunk(CRAY_MODULES, 0);
	CHECK_EQ(faults.nr, 0);
	CHECK_EQ(facts.nr_modules, 2);
	CHECK_STR(facts.modules[0].path, "/lib");
	CHECK_EQ(facts.modules[0].m.start, 0x1000);
	CHECK_STR(mem_module_build_id(&facts.modules[0], text), "0ab0");
	CHECK_STR(facts.modules[1].path, "");
	CHECK_EQ(facts.modules[1].m.build_id_size, 32);
	CHECK_EQ(strlen(mem_module_build_id(&facts.modules[1], text)), 64);
	facts.modules[1].m.build_id_size = 0;
	CHECK(!mem_module_build_id(&facts.modules[1], text));
	mem_facts_release(&facts);
}

static void threads_have_numbers_ids_and_names(void)
{
	struct cray_thread t = {
		.number = 1, .id = 500, .start_ns = 5, .end_ns = 6, .name_size = 4
	};
	size_t first;

	begin_chunk();
	put(&t, sizeof(t));
	put("main", 4);
	first = chunk_size;
	t = (struct cray_thread){ .number = 9, .id = 600 };
	put(&t, sizeof(t));
	cut_everywhere(CRAY_THREADS, first, "a thread longer than its chunk");
	t = (struct cray_thread){ .number = 1, .id = 501, .start_ns = 7 }; /* again, no name */
	put(&t, sizeof(t));
	take_chunk(CRAY_THREADS, 0);
	CHECK_EQ(faults.nr, 0);
	CHECK_EQ(facts.nr_threads, 2);
	CHECK_EQ(mem_facts_id(&facts, 1), 501);
	CHECK_EQ(mem_facts_thread(&facts, 1)->start_ns, 7);
	CHECK_EQ(mem_facts_thread(&facts, 1)->end_ns, 0);
	CHECK_STR(mem_facts_thread(&facts, 1)->name, "main");
	CHECK(!mem_facts_thread(&facts, 9)->name && !mem_facts_thread(&facts, 0));
	CHECK_EQ(mem_facts_id(&facts, 42), 42);
	/* Numbers for ids: those that are known, then the smallest free ones. */
	CHECK_EQ(mem_facts_know_ids(&facts), 0);
	CHECK_EQ(mem_facts_number(&facts, 600), 9);
	CHECK_EQ(mem_facts_number(&facts, 501), 1);
	CHECK_EQ(mem_facts_number(&facts, 700), 0);
	CHECK_EQ(mem_facts_number(&facts, 800), 2);
	CHECK_EQ(mem_facts_number(&facts, 700), 0);
	CHECK_EQ(mem_facts_id(&facts, 2), 800);
	mem_facts_release(&facts);
}

static void losses_are_added_up(void)
{
	struct cray_lost l[4] = { { .cause = CRAY_GAP_FULL, .count = 5 },
				  { .cause = CRAY_GAP_FULL, .count = UINT64_MAX },
				  { .cause = 31, .count = 2 },
				  { .cause = 32, .count = 3 } };
	struct cray_lost unknown = { .cause = CRAY_GAP_DISK };
	struct cray_end end = { .status = 9 };

	begin_chunk();
	put(l, sizeof(l));
	put("x", 1); /* not a whole one */
	take_chunk(CRAY_LOST, 0);
	CHECK(facts.lost[CRAY_GAP_FULL] == UINT64_MAX);
	CHECK_EQ(facts.lost[31], 2);
	CHECK_EQ(facts.lost[0], 3);
	CHECK(!facts.lost_unknown);
	chunk_size = 0;
	put(&unknown, sizeof(unknown));
	take_chunk(CRAY_LOST, 0);
	CHECK(facts.lost_unknown);
	begin_chunk();
	put(&end, sizeof(end));
	take_chunk(CRAY_END, 1);
	CHECK(!facts.has_end && faults.nr == 1);
	CHECK_STR(faults.first[0].text, "an end cut short");
	take_chunk(CRAY_END, 0);
	CHECK(facts.has_end);
	CHECK_EQ(facts.end.status, 9);
	take_chunk(0x7fff, 0); /* unknown chunks are ignored */
	CHECK_EQ(faults.nr, 1);
	mem_facts_release(&facts);
}

static void call_stacks_have_numbers(void)
{
	struct cray_stack s = { .number = 5, .nr_frames = 3 };
	uint64_t frames[CRAY_FRAMES_MAX + 1] = { 10, 11, 12 };
	const uint64_t *found = NULL;
	uint32_t number = 0;
	size_t first;

	begin_chunk();
	put(&s, sizeof(s));
	put(frames, 24);
	first = chunk_size;
	s = (struct cray_stack){ .number = 7, .nr_frames = 1 };
	put(&s, sizeof(s));
	put(&frames[2], 8);
	cut_everywhere(CRAY_STACKS, first, "a call stack longer than its chunk");
	s = (struct cray_stack){ .number = 5, .nr_frames = 1 }; /* is known */
	put(&s, sizeof(s));
	put(&frames[1], 8);
	take_chunk(CRAY_STACKS, 0);
	CHECK_EQ(stack_table_get(&facts.stacks, 5, &found), 3);
	CHECK_EQ(found[2], 12);
	CHECK_EQ(stack_table_get(&facts.stacks, 7, &found), 1);
	CHECK_EQ(found[0], 12);
	CHECK_EQ(stack_table_get(&facts.stacks, 6, &found), 0);
	CHECK_EQ(stack_table_get(&facts.stacks, 0, &found), 0);
	CHECK_EQ(stack_table_entry(&facts.stacks, 1, &number, &found), 1);
	CHECK_EQ(number, 7);
	CHECK_EQ(stack_table_entry(&facts.stacks, 2, &number, &found), 0);
	/* The longest one, one more, and none. */
	begin_chunk();
	s = (struct cray_stack){ .number = 1, .nr_frames = CRAY_FRAMES_MAX };
	put(&s, sizeof(s));
	put(frames, CRAY_FRAMES_MAX * 8);
	take_chunk(CRAY_STACKS, 0);
	CHECK_EQ(faults.nr, 0);
	CHECK_EQ(stack_table_get(&facts.stacks, 1, &found), CRAY_FRAMES_MAX);
	begin_chunk();
	s.nr_frames++;
	put(&s, sizeof(s));
	put(frames, sizeof(frames));
	take_chunk(CRAY_STACKS, 0);
	CHECK_EQ(faults.nr, 1);
	begin_chunk();
	s.nr_frames = 0;
	put(&s, sizeof(s));
	take_chunk(CRAY_STACKS, 0);
	CHECK_EQ(faults.nr, 1);
	mem_facts_release(&facts);
}

static void many_call_stacks_fit(void)
{
	struct cray_stack s = { .nr_frames = CRAY_FRAMES_MAX };
	uint64_t frames[CRAY_FRAMES_MAX];
	const uint64_t *found;
	uint32_t i, k;

	begin_chunk();
	for (i = 1; i <= 300; i++) {
		chunk_size = 0;
		s.number = i;
		for (k = 0; k < CRAY_FRAMES_MAX; k++)
			frames[k] = i * 100 + k;
		put(&s, sizeof(s));
		put(frames, sizeof(frames));
		take_chunk(CRAY_STACKS, 0);
	}
	for (i = 1; i <= 300; i++) {
		CHECK_EQ(stack_table_get(&facts.stacks, i, &found), CRAY_FRAMES_MAX);
		CHECK_EQ(found[CRAY_FRAMES_MAX - 1], i * 100 + CRAY_FRAMES_MAX - 1);
	}
	mem_facts_release(&facts);
}

static void facts_and_release(void)
{
	uint64_t number = 1;

	begin_chunk();
	put_fact(CRAY_FACT_PID, &number, 8);
	put_fact(CRAY_FACT_EXE, "/bin/x", 6);
	put_fact(CRAY_FACT_CWD, "/", 1);
	put_fact(CRAY_FACT_MACHINE, "m", 1);
	put_fact(CRAY_FACT_WRITER, "w", 1);
	put_fact(CRAY_FACT_OPTIONS, "o", 1);
	put_fact(CRAY_FACT_COMMAND, "c", 1);
	put_fact(CRAY_FACT_NOTE, "n", 1);
	take_chunk(CRAY_INFO, 0);
	take_chunk(CRAY_INFO, 0); /* again: replaced */
	modules_have_paths_and_build_ids();
	threads_have_numbers_ids_and_names();
	call_stacks_have_numbers();
	many_call_stacks_fit();
	a_thread_enters_and_leaves();
	types_follow_from_annotations();
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(facts_and_release);
	check_keeps_no_memory(add_and_release);
}

/* ---- names
 * --------------------------------------------------------------------------------------- */

static void the_text_of_a_coroutine_has_four_parts(void)
{
	static const char text[] = "kind\0dir/a.c\0func\0"
				   "77";
	struct mem_record r = { .name = text, .name_size = sizeof(text) - 1 };
	struct coroutine_text out;

	coroutine_text_split(&r, &out);
	CHECK(out.kind_size == 4 && !memcmp(out.kind, "kind", 4));
	CHECK(out.file_size == 7 && !memcmp(out.file, "dir/a.c", 7));
	CHECK(out.function_size == 4 && !memcmp(out.function, "func", 4));
	CHECK_EQ(out.line, 77);
	r.name = "\0\0f\0"
		 "12x";
	r.name_size = 7;
	coroutine_text_split(&r, &out);
	CHECK(!out.kind_size && !out.file_size && out.function_size == 1);
	CHECK_EQ(out.line, 12);
	r.name = "\0\0\0"
		 "1234567890";
	r.name_size = 13;
	coroutine_text_split(&r, &out);
	CHECK_EQ(out.line, 123456789); /* nine digits */
	r.name_size = 2;
	coroutine_text_split(&r, &out);
	CHECK(!out.function_size && !out.line);
	r = (struct mem_record){ 0 };
	coroutine_text_split(&r, &out);
	CHECK(!out.kind_size && !out.file_size && !out.function_size && !out.line);
	CHECK_STR(coroutine_cause_name(CRAY_CORO_RESUMED | CRAY_CORO_OWN_ID), "resumed");
	CHECK_STR(coroutine_cause_name(CRAY_CORO_RETURNED), "returned");
	CHECK_STR(coroutine_cause_name(CRAY_CORO_CONTINUED), "continued");
}

static void causes_have_names(void)
{
	CHECK_STR(mem_cause_name(CRAY_GAP_FULL), "buffer full");
	CHECK_STR(mem_cause_name(CRAY_GAP_RING), "overwritten by newer ones");
	CHECK_STR(mem_cause_name(CRAY_GAP_CAP), "size cap reached");
	CHECK_STR(mem_cause_name(CRAY_GAP_DISK), "could not be written");
	CHECK_STR(mem_cause_name(CRAY_GAP_BROKEN), "buffer unreadable");
	CHECK_STR(mem_cause_name(CRAY_GAP_NESTED), "in a signal handler");
	CHECK_STR(mem_cause_name(CRAY_GAP_SAMPLED), "between bursts");
	CHECK_STR(mem_cause_name(CRAY_GAP_FILTERED), "filtered out");
	CHECK_STR(mem_cause_name(CRAY_GAP_STOPPED), "tracing was off");
	CHECK_STR(mem_cause_name(7), "unknown cause");
}

/* ---- libraries without tracing
 * ------------------------------------------------------------------- */

static char folder[64];

static const char *make_file(const char *name, const char *text)
{
	static char paths[8][128];
	static unsigned turn;
	char *path = paths[turn++ % 8];
	FILE *f;

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	f = fopen(path, "w");
	CHECK(f != NULL);
	fputs(text, f);
	CHECK_EQ(fclose(f), 0);
	return path;
}

static void libraries_without_tracing_are_named(void)
{
	struct cray_module m = { 0 };
	const char *paths[UNSEEN_MODULES_MAX], *plain, *traced, *expected, *empty;
	unsigned before, i;
	char name[160];

	snprintf(folder, sizeof(folder), "/tmp/corotracer-parts-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	plain = make_file("libplain.so", "code");
	traced = make_file("libtraced.so", "code __tsan_read8 code");
	expected = make_file("libc.so.6", "code");
	empty = make_file("libempty.so", "");
	begin_chunk();
	mem_facts_add_module(&facts, &m, traced);
	mem_facts_add_module(&facts, &m, expected);
	mem_facts_add_module(&facts, &m, plain);
	mem_facts_add_module(&facts, &m, plain); /* loaded again */
	mem_facts_add_module(&facts, &m, empty);
	mem_facts_add_module(&facts, &m, folder); /* not a file */
	mem_facts_add_module(&facts, &m, "/nowhere/libgone.so");
	mem_facts_add_module(&facts, &m, "[vdso]");
	before = count_open();
	CHECK_EQ(unseen_modules_find(&facts, paths), 1);
	CHECK_EQ(count_open(), before);
	CHECK_STR(paths[0], plain);
	unlink(plain);
	unlink(traced);
	unlink(expected);
	unlink(empty);
	/* No more than there is room for. */
	mem_facts_release(&facts);
	for (i = 0; i < UNSEEN_MODULES_MAX + 2; i++) {
		snprintf(name, sizeof(name), "lib%u.so", i);
		mem_facts_add_module(&facts, &m, make_file(name, "x"));
	}
	CHECK_EQ(unseen_modules_find(&facts, paths), UNSEEN_MODULES_MAX);
	for (i = 0; i < facts.nr_modules; i++)
		unlink(facts.modules[i].path);
	mem_facts_release(&facts);
	CHECK_EQ(rmdir(folder), 0);
}

int main(void)
{
	RUN(kinds_are_chosen_by_name);
	RUN(a_thread_is_chosen_by_its_id);
	RUN(a_range_has_a_first_and_a_last_address);
	RUN(records_that_touch_the_range_pass);
	RUN(types_follow_from_annotations);
	RUN(regions_are_like_bytes);
	RUN(an_empty_annotation_contains_nothing);
	RUN(a_thread_enters_and_leaves);
	RUN(functions_beyond_the_limit_are_counted);
	RUN(a_process_has_facts);
	RUN(there_are_at_most_64_notes);
	RUN(modules_have_paths_and_build_ids);
	RUN(threads_have_numbers_ids_and_names);
	RUN(losses_are_added_up);
	RUN(call_stacks_have_numbers);
	RUN(many_call_stacks_fit);
	RUN(nothing_is_kept);
	RUN(the_text_of_a_coroutine_has_four_parts);
	RUN(causes_have_names);
	RUN(libraries_without_tracing_are_named);
	return 0;
}
