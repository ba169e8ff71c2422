/* SPDX-License-Identifier: MIT */
/*
 * test_reader.c - containers and raw traces are read as they were written, corrupt ones as far as
 * possible.
 */
#include "check.h"
#include "memory/format/raw.h"
#include "memory/format/mem_writer.h"
#include "traces.h"

#define THREADS 5u
#define RECORDS 30000u /* per thread, so that each has several blocks */

/* Of a trace, each corrupt in turn; AddressSanitizer takes five times as long. */
#ifdef __SANITIZE_ADDRESS__
#define FEW_PLACES 19u
#else
#define FEW_PLACES 61u
#endif

static char dir[] = "/tmp/corotracer-test-XXXXXX";
static struct cray_pack packs[THREADS];

static const char *in_dir(const char *name)
{
	static char path[16][128];
	static unsigned turn;
	char *p = path[turn++ % 16];

	snprintf(p, sizeof(path[0]), "%s/%s", dir, name);
	return p;
}

static struct mem_reader *open_trace(const char *path)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);

	if (!r)
		fprintf(stderr, "%s\n", err.text);
	CHECK(r);
	return r;
}

static void no_faults(struct mem_reader *r)
{
	struct mem_faults *f = mem_reader_faults(r);
	struct err err = { 0 };

	if (f->nr)
		fprintf(stderr, "fault at %llu: %s\n", (unsigned long long)f->first[0].offset,
			f->first[0].text);
	CHECK_EQ(f->nr, 0);
	CHECK_EQ(mem_reader_error(r, &err), 0);
}

/* ---- several threads ------------------------------------------------------ */

/* What each thread did: its own records, stamped by a common clock that ticks at each. */
struct world {
	uint64_t order, time_ns;
	uint64_t next[THREADS];
};

/* The next record of @thread; every 50th of them is an annotation with a ticket. */
static void live(struct world *w, uint32_t thread, struct mem_record *r)
{
	traces_record(thread, w->next[thread]++, r);
	if (r->kind == MEM_ADD || r->kind == MEM_REMOVE) {
		r->has_ticket = true;
		w->order++;
	}
	r->order = w->order;
	r->time_ns = w->time_ns;
	w->time_ns += 3;
	r->thread = thread;
}

static void write_threads(const char *path, int level, uint32_t blocks_end_at)
{
	struct world w = { .time_ns = 5000 };
	struct cfile f;
	uint64_t state = 77, n;
	uint32_t i;

	traces_begin(&f, path, level, 0);
	for (i = 0; i < THREADS; i++) {
		struct cray_thread t = { .number = i, .id = 4000 + i };

		cfile_thread(&f, &t, i == 2 ? "worker" : NULL);
		cray_pack_init(&packs[i]);
		cray_pack_begin(&packs[i], i, 0, w.time_ns);
	}
	for (n = 0; n < THREADS * RECORDS; n++) {
		uint32_t thread = (uint32_t)(traces_random(&state) >> 20) % THREADS;
		struct mem_record r;

		live(&w, thread, &r);
		if (packs[thread].nr_accesses >= blocks_end_at ||
		    (!r.has_ticket && !cray_pack_stamp(&packs[thread], r.order, r.time_ns)) ||
		    !traces_pack(&packs[thread], &r)) {
			cfile_block(&f, &packs[thread]);
			cray_pack_begin(&packs[thread], thread,
					r.has_ticket ? r.order - 1 : r.order, r.time_ns);
			CHECK(traces_pack(&packs[thread], &r));
		}
	}
	/* Threads end in another order than they began. */
	for (i = THREADS; i-- > 0;)
		cfile_block(&f, &packs[i]);
	traces_end(&f);
}

/* Every record is stamped, so the merge must give exactly the original order. */
static void threads_are_merged_as_they_lived(void)
{
	static const uint32_t block_sizes[] = { 100, 5000, 1000000 };
	struct world w = { .time_ns = 5000 };
	uint64_t state = 77, n, b;

	for (b = 0; b < 3; b++) {
		const char *path = in_dir("threads");
		struct mem_reader *r;

		write_threads(path, b == 1 ? 0 : 1, block_sizes[b]);
		r = open_trace(path);
		state = 77;
		w = (struct world){ .time_ns = 5000 };
		for (n = 0; n < THREADS * RECORDS; n++) {
			uint32_t thread = (uint32_t)(traces_random(&state) >> 20) % THREADS;
			const struct mem_record *got = mem_reader_next(r);
			struct mem_record wanted;

			live(&w, thread, &wanted);
			CHECK(got);
			CHECK_EQ(got->thread, wanted.thread);
			CHECK_EQ(got->order, wanted.order);
			CHECK(traces_same(got, &wanted));
		}
		CHECK(!mem_reader_next(r));
		no_faults(r);
		CHECK(mem_reader_blocks(r)->complete);
		CHECK_EQ(mem_facts_id(mem_reader_facts(r), 3), 4003);
		CHECK_STR(mem_facts_thread(mem_reader_facts(r), 2)->name, "worker");
		mem_reader_close(r);
	}
}

/*
 * Thread 1 is idle with an early access in its buffer, which is written last to the file; thread 0
 * annotates meanwhile.  The access must not cross the annotation.
 */
static void an_access_does_not_cross_an_annotation(void)
{
	static const uint64_t wanted[] = { 100, 200, 0x1000, 300, 0x1000, 400 };
	const char *path = in_dir("cross");
	const struct mem_record *got;
	struct mem_reader *r;
	struct cfile f;
	size_t i;

	traces_begin(&f, path, 1, 0);
	for (i = 0; i < 2; i++) {
		cray_pack_init(&packs[i]);
		cray_pack_begin(&packs[i], (uint32_t)i, 0, 10);
	}
	cray_pack_access(&packs[0], 1, 100, CRAY_HOW(0, 4, 0));
	CHECK(cray_pack_add(&packs[0], MEM_ADD, 1, 1, 0x1000, 16, 1, "T", 1));
	CHECK(cray_pack_stamp(&packs[0], 1, 90)); /* later than what thread 1 does next */
	cray_pack_access(&packs[0], 1, 300, CRAY_HOW(0, 4, 0));
	CHECK(cray_pack_remove(&packs[0], MEM_REMOVE, 2, 1, 0x1000));
	cfile_block(&f, &packs[0]);
	cray_pack_access(&packs[1], 2, 200, CRAY_HOW(1, 4, 0));
	CHECK(cray_pack_stamp(&packs[1], 2, 50)); /* an earlier time, a later order */
	cray_pack_access(&packs[1], 2, 400, CRAY_HOW(1, 4, 0));
	cfile_block(&f, &packs[1]);
	traces_end(&f);
	r = open_trace(path);
	for (i = 0; i < 6; i++) {
		got = mem_reader_next(r);
		CHECK(got);
		CHECK_EQ(got->address, wanted[i]);
	}
	CHECK(!mem_reader_next(r));
	no_faults(r);
	mem_reader_close(r);
}

/*
 * Thread 0 makes 1000 accesses from 10,000 ns on, which lasts until its next stamp, @next, or its
 * end; 0: unknown.  Returns how many of them are before the access of thread 1 at @other.
 */
static uint64_t accesses_before(uint64_t next, uint64_t end, uint64_t other)
{
	struct cray_thread threads[2] = { { .number = 0, .end_ns = end }, { .number = 1 } };
	const char *path = in_dir("span");
	uint64_t before = 0, nr = 0;
	struct mem_reader *r;
	struct mem_run run;
	struct cfile f;
	uint32_t i;

	traces_begin(&f, path, 1, 0);
	for (i = 0; i < 2; i++) {
		cfile_thread(&f, &threads[i], NULL);
		cray_pack_init(&packs[i]);
		cray_pack_begin(&packs[i], i, 0, i ? other : 10000);
	}
	for (i = 0; i < 1000; i++)
		cray_pack_access(&packs[0], 1, 64 * i, CRAY_HOW(0, 4, 0));
	if (next) {
		CHECK(cray_pack_stamp(&packs[0], 0, next));
		cray_pack_access(&packs[0], 1, 8, CRAY_HOW(0, 4, 0));
	}
	cray_pack_access(&packs[1], 2, 200, CRAY_HOW(1, 4, 0));
	cfile_block(&f, &packs[0]);
	cfile_block(&f, &packs[1]);
	traces_end(&f);
	r = open_trace(path);
	while (mem_reader_run(r, &run)) {
		CHECK(!run.record);
		before = run.thread == 1 ? nr : before;
		nr += run.nr;
	}
	CHECK_EQ(nr, 1001 + (next != 0));
	no_faults(r);
	mem_reader_close(r);
	return before;
}

static bool is_half(uint64_t nr)
{
	return nr >= 495 && nr <= 505;
}

static void accesses_are_spread_over_their_time(void)
{
	CHECK(is_half(accesses_before(110000, 0, 60000)));
	CHECK(is_half(accesses_before(12000, 0, 11000)));
	/* Without a stamp or an end: 16 ns each. */
	CHECK(is_half(accesses_before(0, 0, 18000)));
	CHECK(is_half(accesses_before(0, 12000, 11000)));
	CHECK(is_half(accesses_before(0, 1000000, 18000)));
	/* A thread that ended before its last accesses has a wrong end. */
	CHECK(is_half(accesses_before(0, 10000, 18000)));
	CHECK(is_half(accesses_before(0, 9000, 18000)));
}

/* ---- raw, and there and back ---------------------------------------------- */

/* A raw trace of @nr records with everything that the format allows; returns its bytes. */
static size_t write_raw(const char *path, uint64_t nr)
{
	FILE *file = fopen(path, "we");
	static uint8_t bytes[RAW_RECORD_MAX];
	struct mem_record r;
	size_t total = 0, size;
	uint64_t n, state = 5;

	CHECK(file);
	for (n = 0; n < nr; n++) {
		traces_record(1, n, &r);
		if (!mem_is_raw(&r))
			continue;
		if (n % 97 == 0) /* flags where they have no meaning */
			r.tag |= CRAY_ATOMIC;
		size = raw_encode(bytes, &r, n % 11 ? 17 : traces_random(&state) % 9);
		CHECK_EQ(fwrite(bytes, 1, size, file), size);
		total += size;
	}
	CHECK_EQ(fclose(file), 0);
	return total;
}

static void convert(const char *from, const char *to, enum mem_format format)
{
	struct mem_writer_config config = { format, 3 };
	struct mem_reader *r = open_trace(from);
	const struct mem_record *rec;
	struct err err = { 0 };
	struct mem_writer *w = mem_writer_open(to, &config, mem_reader_facts(r), &err);

	CHECK(w);
	while ((rec = mem_reader_next(r)))
		CHECK_EQ(mem_writer_put(w, rec), 0);
	CHECK_EQ(mem_writer_close(w, &err), 0);
	no_faults(r);
	mem_reader_close(r);
}

static bool same_files(const char *a, const char *b)
{
	FILE *fa = fopen(a, "re"), *fb = fopen(b, "re");
	int ca, cb;

	CHECK(fa && fb);
	do {
		ca = getc_unlocked(fa);
		cb = getc_unlocked(fb);
	} while (ca == cb && ca != EOF);
	fclose(fa);
	fclose(fb);
	return ca == cb;
}

static void raw_goes_there_and_back_to_the_byte(void)
{
	const char *raw = in_dir("raw"), *back = in_dir("back");

	CHECK(write_raw(raw, 200000) > 3000000);
	convert(raw, in_dir("made"), MEM_FORMAT_CONTAINER);
	convert(in_dir("made"), back, MEM_FORMAT_RAW);
	CHECK(same_files(raw, back));
	convert(raw, in_dir("raw.zst"), MEM_FORMAT_RAW_ZSTD);
	convert(in_dir("raw.zst"), back, MEM_FORMAT_RAW);
	CHECK(same_files(raw, back));
}

static void a_container_of_threads_becomes_the_same_raw_twice(void)
{
	const char *first = in_dir("first.raw"), *second = in_dir("second.raw");
	struct mem_reader *r;

	write_threads(in_dir("threads"), 1, 5000);
	convert(in_dir("threads"), first, MEM_FORMAT_RAW);
	convert(first, in_dir("made"), MEM_FORMAT_CONTAINER);
	convert(in_dir("made"), second, MEM_FORMAT_RAW);
	CHECK(same_files(first, second));
	/* The sidecar holds what the records cannot. */
	r = open_trace(in_dir("made"));
	CHECK_STR(mem_facts_thread(mem_reader_facts(r), 2)->name, "worker");
	CHECK_EQ(mem_facts_id(mem_reader_facts(r), 2), 4002);
	mem_reader_close(r);
}

static void empty_traces_are_traces(void)
{
	const char *path = in_dir("empty");
	struct mem_reader *r;
	struct cfile f;

	CHECK_EQ(write_raw(path, 0), 0);
	r = open_trace(path);
	CHECK(!mem_reader_next(r));
	no_faults(r);
	mem_reader_close(r);
	traces_begin(&f, path, 1, 0);
	traces_end(&f);
	r = open_trace(path);
	CHECK(!mem_reader_next(r));
	no_faults(r);
	mem_reader_close(r);
}

/* ---- damage --------------------------------------------------------------- */

static uint64_t count(const char *path, uint64_t *faults)
{
	struct mem_reader *r = open_trace(path);
	uint64_t n = 0;

	while (mem_reader_next(r))
		n++;
	*faults = mem_reader_faults(r)->nr;
	mem_reader_close(r);
	return n;
}

/* Truncated at any byte: the rest is read, and reported as incomplete. */
static void a_cut_container_is_read_to_the_cut(void)
{
	const char *path = in_dir("cut"), *whole = in_dir("threads");
	uint64_t all, faults, n, last = 0, at, size;
	int fd;

	write_threads(whole, 1, 5000);
	all = count(whole, &faults);
	CHECK_EQ(all, THREADS * RECORDS);
	fd = open(whole, O_RDONLY | O_CLOEXEC);
	size = (uint64_t)lseek(fd, 0, SEEK_END);
	close(fd);
	for (at = 64; at < size; at += size / 97) {
		char command[512];

		snprintf(command, sizeof(command), "head -c %llu %s > %s", (unsigned long long)at,
			 whole, path);
		CHECK_EQ(system(command), 0);
		n = count(path, &faults);
		CHECK(faults > 0);
		CHECK(n >= last && n <= all);
		last = n;
	}
	CHECK(last > all / 2);
}

/* One corrupt byte anywhere: most is read, and nothing that was not written. */
static void a_damaged_container_loses_only_what_is_damaged(void)
{
	const char *path = in_dir("threads");
	uint64_t all, faults, n, at, size, worst = UINT64_MAX;
	unsigned places = getenv("COROTRACER_FULL") ? 203 : FEW_PLACES;
	uint8_t byte;
	int fd;

	write_threads(path, 1, 5000);
	all = count(path, &faults);
	fd = open(path, O_RDWR | O_CLOEXEC);
	size = (uint64_t)lseek(fd, 0, SEEK_END);
	for (at = 64; at < size; at += size / places) {
		CHECK_EQ(pread(fd, &byte, 1, (off_t)at), 1);
		byte ^= 0x10;
		CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
		n = count(path, &faults);
		CHECK(faults > 0);
		CHECK(n <= all);
		if (n < worst)
			worst = n;
		byte ^= 0x10;
		CHECK_EQ(pwrite(fd, &byte, 1, (off_t)at), 1);
	}
	CHECK(worst > all - 10000); /* a block has 5,000 accesses and a few events */
	n = count(path, &faults);
	CHECK_EQ(n, all);
	CHECK_EQ(faults, 0);
	close(fd);
}

static void a_cut_raw_trace_says_where(void)
{
	const char *path = in_dir("raw");
	size_t size = write_raw(path, 1000);
	struct mem_reader *r;

	CHECK_EQ(truncate(path, (off_t)size - 5), 0);
	r = open_trace(path);
	while (mem_reader_next(r))
		;
	CHECK_EQ(mem_reader_faults(r)->nr, 1);
	CHECK_EQ(mem_reader_faults(r)->first[0].kind, MEM_FAULT_TRUNCATED);
	CHECK(mem_reader_faults(r)->first[0].offset < size - 5);
	mem_reader_close(r);
}

static void a_wrong_tag_in_a_raw_trace_says_where(void)
{
	static const uint8_t record[18] = { 1, 0, 0, 0, 0, 0, 0, 0, 0, 8 };
	static const uint8_t wrong[18] = { 9 };
	const char *path = in_dir("wrong");
	FILE *file = fopen(path, "we");
	struct mem_reader *r;

	CHECK(file);
	CHECK_EQ(fwrite(record, 18, 1, file) + fwrite(record, 18, 1, file) +
			 fwrite(wrong, 18, 1, file),
		 3);
	CHECK_EQ(fclose(file), 0);
	r = open_trace(path);
	CHECK(mem_reader_next(r) && mem_reader_next(r) && !mem_reader_next(r));
	CHECK_EQ(mem_reader_faults(r)->first[0].offset, 36);
	CHECK(!mem_reader_next(r));
	mem_reader_close(r);
}

static void what_is_no_trace_is_refused_with_words(void)
{
	const char *path = in_dir("text");
	FILE *file = fopen(path, "we");
	struct err err = { 0 };

	CHECK(file);
	fputs("Hello, world\n", file);
	CHECK_EQ(fclose(file), 0);
	CHECK(!mem_reader_open(path, &err));
	CHECK(strstr(err.text, "no memory trace") && err.hint[0]);
	memset(&err, 0, sizeof(err));
	CHECK(!mem_reader_open(in_dir("nowhere"), &err));
	CHECK(strstr(err.text, "cannot open"));
	memset(&err, 0, sizeof(err));
	CHECK(!mem_reader_open(dir, &err));
	CHECK(strstr(err.text, "directory"));
}

static void other_versions_are_refused_with_words(void)
{
	static struct cray_crc crc;
	const char *path = in_dir("later");
	struct cray_file head;
	struct err err = { 0 };
	FILE *file;

	cray_crc_init(&crc);
	cray_file_seal(&crc, &head, 0, 0, 0, 0);
	head.major = CRAY_MAJOR + 1;
	head.crc = cray_crc32c(&crc, 0, &head, sizeof(head) - 4);
	file = fopen(path, "we");
	CHECK(file && fwrite(&head, sizeof(head), 1, file) == 1 && fclose(file) == 0);
	CHECK(!mem_reader_open(path, &err));
	CHECK(strstr(err.text, "format 2") && err.hint[0]);
	memset(&err, 0, sizeof(err));
	head.byte_order = __builtin_bswap32(CRAY_BYTE_ORDER);
	file = fopen(path, "we");
	CHECK(file && fwrite(&head, sizeof(head), 1, file) == 1 && fclose(file) == 0);
	CHECK(!mem_reader_open(path, &err));
	CHECK(strstr(err.text, "byte order"));
}

int main(void)
{
	char command[128];

	CHECK(mkdtemp(dir));
	RUN(threads_are_merged_as_they_lived);
	RUN(an_access_does_not_cross_an_annotation);
	RUN(accesses_are_spread_over_their_time);
	RUN(raw_goes_there_and_back_to_the_byte);
	RUN(a_container_of_threads_becomes_the_same_raw_twice);
	RUN(empty_traces_are_traces);
	RUN(a_cut_container_is_read_to_the_cut);
	RUN(a_damaged_container_loses_only_what_is_damaged);
	RUN(a_cut_raw_trace_says_where);
	RUN(a_wrong_tag_in_a_raw_trace_says_where);
	RUN(what_is_no_trace_is_refused_with_words);
	RUN(other_versions_are_refused_with_words);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command) == 0 ? 0 : 1;
}
