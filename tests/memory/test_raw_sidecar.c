/* SPDX-License-Identifier: MIT */
/*
 * test_raw_sidecar.c - the file beside a raw trace: its text, what is read of it again, and files
 * that are damaged.
 */
#include "memory/format/raw_sidecar.h"

#include <errno.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"

static char path[64], meta[80];
static struct mem_facts facts;
static struct mem_faults faults;
static struct err err;

static void fill_facts(struct mem_facts *f)
{
	struct cray_thread t = { .number = 2, .id = UINT64_MAX, .start_ns = 5, .end_ns = 6 };
	struct cray_module m = { .bias = 1,
				 .start = 0xffffffff00000000,
				 .end = 3,
				 .order = 4,
				 .time_ns = 7,
				 .build_id = { 0xab, 0x01 },
				 .build_id_size = 2,
				 .gone = 1 };

	*f = (struct mem_facts){ .pid = 10,
				 .parent = 11,
				 .line_size = 64,
				 .page_size = 4096,
				 .start_ns = 12,
				 .start_wall_ns = 13,
				 .command_size = 6,
				 .lost_unknown = true };
	f->exe = strdup("/bin/x");
	f->cwd = strdup("/");
	f->machine = strdup("m");
	f->writer = strdup("w");
	f->options = strdup("o");
	f->command = malloc(7);
	CHECK(f->exe && f->cwd && f->machine && f->writer && f->options && f->command);
	memcpy(f->command, "ab\0\0c\0", 7);
	f->lost[0] = 3;
	f->lost[CRAY_GAP_FULL] = 9;
	CHECK_EQ(mem_facts_add_note(f, "first", 5), 0);
	CHECK_EQ(mem_facts_add_note(f, "second", 6), 0);
	CHECK_EQ(mem_facts_set_thread(f, &t, "main"), 0);
	t = (struct cray_thread){ .number = 0, .id = 7 };
	CHECK_EQ(mem_facts_set_thread(f, &t, NULL), 0);
	CHECK_EQ(mem_facts_add_module(f, &m, "/lib/a"), 0);
	m = (struct cray_module){ .start = 5 };
	CHECK_EQ(mem_facts_add_module(f, &m, ""), 0);
}

static void write_facts(void)
{
	static const struct sidecar_missing missing = { 1, 2, 3, 4, 5, 6, 7, 8, 9 };
	struct mem_facts f;

	fill_facts(&f);
	CHECK_EQ(sidecar_write(path, &f, &missing, &err), 0);
	mem_facts_release(&f);
}

static void the_text_is_json(void)
{
	static char text[2000];
	unsigned before = count_open();
	FILE *f;

	write_facts();
	CHECK_EQ(count_open(), before);
	f = fopen(meta, "r");
	CHECK(f != NULL);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	CHECK_STR(text,
		  "{\"format\":\"cacheray-raw\",\"version\":1,\"byte_order\":\"little\","
		  "\"pointer\":8,\"pid\":10,\"parent\":11,\"exe\":\"/bin/x\",\"cwd\":\"/\","
		  "\"machine\":\"m\",\"writer\":\"w\",\"options\":\"o\",\"line_size\":64,"
		  "\"page_size\":4096,\"start_ns\":12,\"start_wall_ns\":13,"
		  "\"command\":[\"ab\",\"\",\"c\"],\"notes\":[\"first\",\"second\"],"
		  "\"threads\":[{\"number\":2,\"id\":\"0xffffffffffffffff\",\"name\":\"main\","
		  "\"start_ns\":5,\"end_ns\":6},{\"number\":0,\"id\":\"0x7\"}],"
		  "\"modules\":[{\"path\":\"/lib/a\",\"bias\":\"0x1\","
		  "\"start\":\"0xffffffff00000000\",\"end\":\"0x3\",\"build_id\":\"ab01\","
		  "\"order\":4,\"time_ns\":7,\"gone\":true},{\"path\":\"\",\"bias\":\"0x0\","
		  "\"start\":\"0x5\",\"end\":\"0x0\",\"build_id\":\"\"}],"
		  "\"missing\":[{\"unknown\":true},"
		  "{\"cause\":0,\"why\":\"unknown cause\",\"count\":3},"
		  "{\"cause\":1,\"why\":\"buffer full\",\"count\":9}],"
		  "\"not_in_raw\":{\"code_addresses\":1,\"attributes\":2,\"marks\":3,"
		  "\"coroutines\":5,\"allocations\":6,\"calls\":7,\"gaps\":4,\"lost_in_gaps\":8,"
		  "\"left_out_in_gaps\":9}}\n");
}

static void read_facts(void)
{
	memset(&faults, 0, sizeof(faults));
	sidecar_read(path, &facts, &faults);
}

static void what_was_written_is_read(void)
{
	unsigned before = count_open();

	read_facts();
	CHECK_EQ(count_open(), before);
	CHECK_EQ(faults.nr, 0);
	CHECK_EQ(facts.pid, 10);
	CHECK_EQ(facts.parent, 11);
	CHECK_EQ(facts.line_size, 64);
	CHECK_EQ(facts.page_size, 4096);
	CHECK_EQ(facts.start_ns, 12);
	CHECK_EQ(facts.start_wall_ns, 13);
	CHECK_STR(facts.exe, "/bin/x");
	CHECK_STR(facts.cwd, "/");
	CHECK_STR(facts.machine, "m");
	CHECK_STR(facts.writer, "w");
	CHECK_STR(facts.options, "o");
	CHECK_EQ(facts.command_size, 6);
	CHECK(!memcmp(facts.command, "ab\0\0c\0", 7));
	CHECK_EQ(facts.nr_notes, 2);
	CHECK_STR(facts.notes[1], "second");
	CHECK_EQ(facts.nr_threads, 2);
	CHECK(mem_facts_id(&facts, 2) == UINT64_MAX);
	CHECK_STR(mem_facts_thread(&facts, 2)->name, "main");
	CHECK_EQ(mem_facts_thread(&facts, 2)->start_ns, 5);
	CHECK_EQ(mem_facts_thread(&facts, 2)->end_ns, 6);
	CHECK(!mem_facts_thread(&facts, 0)->name);
	CHECK_EQ(mem_facts_number(&facts, 7), 0); /* ids are known */
	CHECK_EQ(facts.nr_modules, 2);
	CHECK_STR(facts.modules[0].path, "/lib/a");
	CHECK(facts.modules[0].m.start == 0xffffffff00000000 && facts.modules[0].m.gone);
	CHECK_EQ(facts.modules[0].m.bias, 1);
	CHECK_EQ(facts.modules[0].m.end, 3);
	CHECK_EQ(facts.modules[0].m.order, 4);
	CHECK_EQ(facts.modules[0].m.time_ns, 7);
	CHECK_EQ(facts.modules[0].m.build_id_size, 2);
	CHECK_EQ(facts.modules[0].m.build_id[0], 0xab);
	CHECK(!facts.modules[1].m.gone && !facts.modules[1].m.build_id_size);
	CHECK_EQ(facts.lost[0], 3);
	CHECK_EQ(facts.lost[CRAY_GAP_FULL], 9);
	CHECK(facts.lost_unknown);
	mem_facts_release(&facts);
}

static void read_text(const char *text)
{
	FILE *f = fopen(meta, "w");

	CHECK(f != NULL);
	fputs(text, f);
	CHECK_EQ(fclose(f), 0);
	read_facts();
}

static void is_damaged(const char *text, const char *words)
{
	read_text(text);
	CHECK_EQ(faults.nr, 1);
	CHECK_EQ(faults.by_kind[MEM_FAULT_DAMAGE], 1);
	CHECK(strstr(faults.first[0].text, words) != NULL);
	mem_facts_release(&facts);
}

static void damaged_files_are_reported(void)
{
	is_damaged("[]", "is left out: it is no JSON object");
	is_damaged("{\"pid\":1", "is left out: ");
	CHECK_EQ(faults.first[0].offset, 8);
	is_damaged("{\"byte_order\":\"big\"}", "the trace is in another byte order");
	/* Values of other kinds are unknown. */
	read_text("{\"pid\":-1,\"parent\":\"7\",\"exe\":5,\"command\":[],\"notes\":[5,\"n\"],"
		  "\"threads\":[{\"number\":4294967296,\"id\":9}],\"modules\":[{\"build_id\":"
		  "\"abc\"},"
		  "{\"build_id\":\"x\"},{\"build_id\":"
		  "\"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f20\"}],"
		  "\"missing\":[{\"cause\":31,\"count\":1},{\"cause\":32,\"count\":2}]}");
	CHECK_EQ(faults.nr, 0);
	CHECK(!facts.pid && !facts.parent && !facts.exe && !facts.command);
	CHECK_EQ(facts.nr_notes, 1);
	CHECK_EQ(mem_facts_id(&facts, 0), 9);
	CHECK_EQ(facts.nr_modules, 3);
	CHECK_EQ(facts.modules[0].m.build_id_size, 1);
	CHECK_EQ(facts.modules[1].m.build_id_size, 0);
	CHECK_EQ(facts.modules[2].m.build_id_size, 32);
	CHECK_EQ(facts.modules[2].m.build_id[31], 31);
	CHECK_EQ(facts.lost[31], 1);
	CHECK_EQ(facts.lost[0], 2);
	CHECK(!facts.lost_unknown);
	mem_facts_release(&facts);
	CHECK_EQ(unlink(meta), 0);
	read_facts(); /* a missing file is no fault */
	CHECK_EQ(faults.nr, 0);
	CHECK(!facts.exe && !facts.nr_threads);
}

static void a_file_that_cannot_be_written_is_reported(void)
{
	static const struct sidecar_missing missing = { 0 };
	struct mem_facts f = { 0 };

	CHECK_EQ(sidecar_write("/nowhere/trace", &f, &missing, &err), -ENOENT);
	CHECK(strstr(err.text, "/nowhere/trace.meta") != NULL);
}

static void read_and_release(void)
{
	read_facts();
	mem_facts_release(&facts);
}

static void nothing_is_kept(void)
{
	write_facts();
	check_keeps_no_memory(read_and_release);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/corotracer-sidecar-%d", (int)getpid());
	snprintf(meta, sizeof(meta), "%s.meta", path);
	RUN(the_text_is_json);
	RUN(what_was_written_is_read);
	RUN(damaged_files_are_reported);
	RUN(a_file_that_cannot_be_written_is_reported);
	RUN(nothing_is_kept);
	unlink(meta);
	return 0;
}
