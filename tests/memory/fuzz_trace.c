/* SPDX-License-Identifier: MIT */
/*
 * fuzz_trace.c - every reader of memory traces ends on any file.
 *
 * The input is a file: a container, a raw trace, a raw trace in zstd frames, a sidecar, or
 * random bytes.  It is read by the reader, by check and by stat, and the records are written
 * again in the other format and read back: the same records, and no fault in the new file.
 * With a first byte of 0xff the rest is a block's payload, for the decoder alone; with 0xfe,
 * chunks whose checksums are corrected before they are read, so that the fuzzer gets
 * past them; with 0xfd, a sidecar.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() makes its own
 * inputs from valid traces: fuzz_trace [ROUNDS [SEED]].
 */
#include <sys/mman.h>
#include <sys/stat.h>

#include "memory/stat/mem_check.h"
#include "memory/stat/access_stat.h"
#include "memory/format/block_unpack.h"
#include "memory/format/mem_writer.h"
#include "traces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint64_t records_read;
static struct cray_crc crc;

static void fail(const char *what)
{
	fprintf(stderr, "fuzz_trace: %s\n", what);
	abort();
}

/* An unnamed file, to be opened through /proc by its number. */
static int file_of(const uint8_t *data, size_t size, char path[64])
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || (size && write(fd, data, size) != (ssize_t)size))
		fail("no file");
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void plausible(const struct mem_record *r)
{
	bool has_name = r->kind == MEM_ADD || r->kind == MEM_MARK || r->kind == MEM_CORO;
	volatile char sum = 0;
	uint32_t i;

	if (r->kind >= MEM_KINDS || (mem_is_raw(r) && (r->tag & CRAY_KIND) != r->kind))
		fail("a record that cannot be");
	for (i = 0; has_name && i < r->name_size; i++)
		sum = (char)(sum + r->name[i]); /* it must be readable */
	records_read++;
}

/* Everything that is read is written in the other format, and must be read back the same. */
static void there_and_back(const char *path, enum mem_format format)
{
	struct mem_writer_config config = { format, 1 };
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err), *back;
	const struct mem_record *rec;
	struct mem_writer *w;
	uint64_t nr = 0, nr_back = 0;
	char copy[64];
	int fd;

	if (!r)
		return;
	fd = file_of(NULL, 0, copy);
	w = mem_writer_open(copy, &config, mem_reader_facts(r), &err);
	if (!w)
		fail("cannot write");
	while ((rec = mem_reader_next(r))) {
		plausible(rec);
		nr += format == MEM_FORMAT_CONTAINER || mem_is_raw(rec);
		if (mem_writer_put(w, rec) < 0)
			fail("cannot write a record");
	}
	/* The sidecar cannot be written here, which is accepted. */
	mem_writer_close(w, &err);
	mem_reader_close(r);
	back = mem_reader_open(copy, &err);
	if (!back)
		fail("what we wrote cannot be opened");
	while ((rec = mem_reader_next(back)))
		nr_back++;
	if (mem_reader_faults(back)->nr) {
		fprintf(stderr, "%s\n", mem_reader_faults(back)->first[0].text);
		fail("what we wrote has a fault");
	}
	if (nr != nr_back)
		fail("another number of records came back");
	mem_reader_close(back);
	close(fd);
}

/* What a trace has of each kind; of accesses, also where and from where. */
static void sums_of_runs(struct mem_reader *r, uint64_t *sums)
{
	struct mem_run run;
	uint32_t i;

	while (mem_reader_run(r, &run)) {
		if (run.record) {
			plausible(run.record);
			sums[run.record->kind]++;
		}
		for (i = 0; i < run.nr; i++)
			sums[run.access[i].is_write] += 1 + run.access[i].address * 3 +
							run.access[i].pc;
	}
}

/* The lines of all accesses in their order, as a hash, and what is counted of them. */
struct line_sums {
	uint64_t hash, accesses[2], lines[2], bytes, straddles, empty;
};

static void add_access(struct line_sums *n, const struct mem_access *a, uint32_t shift)
{
	uint64_t line = a->address >> shift, last = a->address + a->size - 1;

	n->accesses[a->is_write]++;
	n->bytes += a->size;
	n->empty += !a->size;
	if (!a->size)
		return;
	last = (last < a->address ? UINT64_MAX : last) >> shift;
	n->straddles += last != line;
	for (; line <= last; line++) {
		n->hash = n->hash * 31 + (MEM_KEY_OF(line) | a->is_write);
		n->lines[a->is_write]++;
	}
}

static void add_lines(struct line_sums *n, const struct mem_lines *lines)
{
	uint32_t i;

	for (i = 0; i < 2; i++) {
		n->accesses[i] += lines->accesses[i];
		n->lines[i] += lines->lines[i];
	}
	n->bytes += lines->bytes;
	n->straddles += lines->straddles;
	n->empty += lines->empty;
	for (i = 0; i < lines->nr; i++)
		n->hash = n->hash * 31 + lines->key[i];
}

static void sums_of_lines(const char *path, uint32_t shift, bool reduced, struct line_sums *sums)
{
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct mem_run run;
	uint32_t i;

	if (!r)
		return;
	mem_reader_skip_events(r);
	if (reduced)
		mem_reader_want_lines(r, shift);
	while (mem_reader_run(r, &run)) {
		if (run.lines)
			add_lines(sums, run.lines);
		for (i = 0; i < run.nr && !run.lines; i++)
			add_access(sums, &run.access[i], shift);
	}
	mem_reader_close(r);
}

/* Accesses that the reader reduces to lines are of the same lines as all accesses. */
static void by_lines(const char *path)
{
	uint32_t shift;

	for (shift = 5; shift < 8; shift++) {
		struct line_sums all = { 0 }, reduced = { 0 };

		sums_of_lines(path, shift, false, &all);
		sums_of_lines(path, shift, true, &reduced);
		if (memcmp(&all, &reduced, sizeof(all)) != 0)
			fail("accesses and their lines differ");
	}
}

/* Reading in runs gives the same as reading record by record; fewer events, the same accesses. */
static void by_runs(const char *path)
{
	struct err err = { 0 };
	struct mem_reader *one = mem_reader_open(path, &err), *many = mem_reader_open(path, &err);
	struct mem_reader *few = mem_reader_open(path, &err);
	uint64_t sums[3][MEM_KINDS] = { 0 };
	const struct mem_record *rec;
	unsigned k;

	if (!one || !many || !few)
		goto out;
	while ((rec = mem_reader_next(one)))
		sums[0][rec->kind] += mem_is_access(rec) ? 1 + rec->address * 3 + rec->pc : 1;
	sums_of_runs(many, sums[1]);
	mem_reader_skip_events(few);
	sums_of_runs(few, sums[2]);
	for (k = 0; k < MEM_KINDS; k++) {
		if (sums[0][k] != sums[1][k])
			fail("runs tell something else than records");
		if (sums[2][k] != sums[1][k] && (k <= MEM_GAP || sums[2][k]))
			fail("fewer events change something else");
	}
	if (mem_reader_faults(one)->nr != mem_reader_faults(many)->nr ||
	    mem_reader_faults(one)->nr != mem_reader_faults(few)->nr)
		fail("runs have other faults than records");
out:
	if (one)
		mem_reader_close(one);
	if (many)
		mem_reader_close(many);
	if (few)
		mem_reader_close(few);
}

static void check_and_stat(const char *path)
{
	struct mem_stat_config config = { .line_size = 64, .lines_max = 64, .per_thread = true };
	static struct mem_stat stat;
	struct err err = { 0 };
	struct mem_reader *r = mem_reader_open(path, &err);
	struct mem_check check;
	const struct reuse_line *hot[4];

	if (!r)
		return;
	mem_check_run(&check, r, &err);
	mem_check_release(&check);
	mem_reader_close(r);
	r = mem_reader_open(path, &err);
	if (!r)
		fail("it opened a moment ago");
	mem_stat_run(&stat, &config, r, &err);
	lines_hottest(&stat.lines, hot, 4);
	mem_stat_release(&stat);
	mem_reader_close(r);
}

static void one_payload(const uint8_t *data, size_t size)
{
	struct unpack u = { 0 };
	struct cray_block head;
	struct mem_record r;
	uint8_t *exact;

	if (size < sizeof(head))
		return;
	memcpy(&head, data, sizeof(head));
	size -= sizeof(head);
	exact = malloc(size ? size : 1); /* so that a sanitizer sees its end */
	memcpy(exact, data + sizeof(head), size);
	if (unpack_begin(&u, &head, size & 1, exact, size)) {
		while (unpack_next(&u, &r))
			plausible(&r);
	}
	unpack_release(&u);
	free(exact);
}

/* Correct the checksums of every chunk. */
static void make_right(uint8_t *data, size_t size)
{
	struct cray_file file;
	struct cray_chunk c;
	size_t at = sizeof(file);

	if (size < sizeof(file))
		return;
	memcpy(&file, data, sizeof(file));
	memcpy(file.magic, CRAY_MAGIC, 8);
	file.major = CRAY_MAJOR;
	file.size = sizeof(file);
	file.byte_order = CRAY_BYTE_ORDER;
	file.crc = cray_crc32c(&crc, 0, &file, sizeof(file) - 4);
	memcpy(data, &file, sizeof(file));
	while (size - at >= sizeof(c)) {
		memcpy(&c, data + at, sizeof(c));
		memcpy(c.magic, CRAY_CHUNK_MAGIC, 8);
		if (size - at - sizeof(c) < (size_t)c.head + c.stored)
			return;
		c.stored_crc = cray_crc32c(&crc, 0, data + at + sizeof(c) + c.head, c.stored);
		c.crc = cray_crc32c(&crc, 0, &c, sizeof(c) - 4);
		c.crc = cray_crc32c(&crc, c.crc, data + at + sizeof(c), c.head);
		memcpy(data + at, &c, sizeof(c));
		at += sizeof(c) + c.head + c.stored;
	}
}

static void one_sidecar(const uint8_t *data, size_t size)
{
	static char path[] = "/tmp/fuzz_trace-XXXXXX";
	struct sidecar_missing missing = { 0 };
	struct mem_faults faults = { 0 };
	struct mem_facts facts = { 0 };
	struct err err = { 0 };
	char meta[64];
	FILE *file;

	if (strstr(path, "XXXXXX") && close(mkstemp(path)) < 0)
		fail("no file");
	snprintf(meta, sizeof(meta), "%s.meta", path);
	file = fopen(meta, "we");
	if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		fail("no sidecar");
	sidecar_read(path, &facts, &faults);
	records_read += facts.nr_threads + facts.nr_modules;
	if (sidecar_write(path, &facts, &missing, &err) < 0)
		fail("what was read cannot be written");
	mem_facts_release(&facts);
	unlink(meta);
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = NULL;
	char path[64];
	int fd;

	cray_crc_init(&crc);
	if (size && data[0] == 0xff) {
		one_payload(data + 1, size - 1);
		return 0;
	}
	if (size && data[0] == 0xfd) {
		one_sidecar(data + 1, size - 1);
		return 0;
	}
	if (size && data[0] == 0xfe) {
		copy = malloc(size);
		memcpy(copy, data + 1, size - 1);
		make_right(copy, size - 1);
		data = copy;
		size--;
	}
	fd = file_of(data, size, path);
	there_and_back(path, MEM_FORMAT_RAW);
	there_and_back(path, MEM_FORMAT_CONTAINER);
	check_and_stat(path);
	by_runs(path);
	by_lines(path);
	close(fd);
	free(copy);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "../fuzz/own_input.h"

#define INPUT_MAX (1u << 20)

static size_t slurp(int fd, uint8_t *data)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || (size_t)st.st_size > INPUT_MAX ||
	    pread(fd, data, (size_t)st.st_size, 0) != st.st_size)
		fail("cannot read a trace of our own");
	return (size_t)st.st_size;
}

/* A valid container: by threads, or ordered; compressed, or not. */
static size_t make_container(uint8_t *data, uint64_t *state)
{
	static struct cray_pack pack;
	uint64_t seed = traces_random(state), n = 0, nr = traces_random(state) % 3000;
	bool ordered = traces_random(state) & 1;
	char path[64];
	int fd = file_of(NULL, 0, path);
	struct mem_record r;
	struct cfile f;
	uint32_t t;

	traces_begin(&f, path, (int)(traces_random(state) & 1), ordered ? CRAY_ORDERED : 0);
	cfile_fact(&f, CRAY_FACT_COMMAND, "app\0-x", 7);
	cfile_fact(&f, CRAY_FACT_NOTE, "a note", 6);
	for (t = 0; t < 3; t++) {
		struct cray_thread thread = { .number = t, .id = 100 + t };

		cfile_thread(&f, &thread, "name");
		cray_pack_init(&pack);
		cray_pack_begin(&pack, t, n, n * 10);
		pack.thread_seq = ordered ? t : 0;
		for (; n < nr * (t + 1) / 3; n++) {
			traces_record(seed, n, &r);
			if (r.kind == MEM_ADD) {
				r.has_ticket = true;
				r.order = n;
			}
			if (n % 50 == 0)
				cray_pack_stamp(&pack, n, n * 10);
			traces_pack(&pack, &r);
		}
		cfile_block(&f, &pack);
	}
	traces_end(&f);
	nr = slurp(fd, data);
	close(fd);
	return (size_t)nr;
}

static size_t make_raw(uint8_t *data, uint64_t *state, enum mem_format format)
{
	struct mem_writer_config config = { format, 1 };
	struct mem_facts facts = { 0 };
	uint64_t seed = traces_random(state), n, nr = traces_random(state) % 500;
	struct err err = { 0 };
	struct mem_writer *w;
	struct mem_record r;
	char path[64];
	int fd = file_of(NULL, 0, path);
	size_t size;

	w = mem_writer_open(path, &config, &facts, &err);
	for (n = 0; w && n < nr; n++) {
		traces_record(seed, n, &r);
		mem_writer_put(w, &r);
	}
	if (w)
		mem_writer_close(w, &err);
	size = slurp(fd, data);
	close(fd);
	return size;
}

static size_t make_payload(uint8_t *data, uint64_t *state)
{
	static struct cray_pack pack;
	uint64_t seed = traces_random(state), n, nr = traces_random(state) % 2000;
	struct cray_block head;
	struct mem_record r;
	size_t size;

	cray_pack_init(&pack);
	cray_pack_begin(&pack, 0, 0, 0);
	for (n = 0; n < nr; n++) {
		traces_record(seed, n, &r);
		traces_pack(&pack, &r);
	}
	size = cray_pack_finish(&pack, data + 1 + sizeof(head), &head);
	data[0] = 0xff;
	memcpy(data + 1, &head, sizeof(head));
	return 1 + sizeof(head) + size;
}

static size_t make_input(uint8_t *data, uint64_t *state)
{
	size_t size;

	switch (traces_random(state) % 7) {
	case 4: {
		static const char sidecar[] =
			"\xfd{\"pid\":3,\"command\":[\"a\",\"b\"],\"threads\":[{\"number\":1,"
			"\"id\":\"0x9\",\"name\":\"x\"}],\"modules\":[{\"path\":\"p\",\"bias\":"
			"\"0x1\","
			"\"build_id\":\"a0b1\"}],\"missing\":[{\"cause\":1,\"count\":5}],\"notes\":"
			"[\"n\"]}";

		size = sizeof(sidecar) - 1;
		memcpy(data, sidecar, size);
		break;
	}
	case 0:
		size = make_raw(data, state, MEM_FORMAT_RAW);
		break;
	case 1:
		size = make_raw(data, state, MEM_FORMAT_RAW_ZSTD);
		break;
	case 2:
		size = make_payload(data, state);
		break;
	case 3:
		size = make_container(data, state);
		break;
	default: /* with correct checksums at the end */
		data[0] = 0xfe;
		size = 1 + make_container(data + 1, state);
	}
	return size;
}

static size_t damage(uint8_t *data, size_t size, uint64_t *state)
{
	unsigned hits = (unsigned)(traces_random(state) % 8);

	while (hits-- && size) {
		uint64_t r = traces_random(state);
		size_t at = (size_t)(r >> 16) % size, len = (size_t)(r >> 8) % 16;

		if (r % 8 < 4)
			data[at] ^= (uint8_t)(1u << (r >> 40) % 8);
		else if (r % 8 < 6)
			data[at] = (uint8_t)(r >> 48);
		else if (r % 8 == 6 && at + len < size)
			memset(data + at, (int)(r >> 48), len);
		else
			size = at;
	}
	return size;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
	static uint8_t data[INPUT_MAX + CRAY_PACK_PLAIN_MAX];

	for (i = 0; i < rounds; i++) {
		size_t size = make_input(data, &state);

		own_input(data, damage(data, size, &state));
	}
	printf("%lu inputs, %llu records believed\n", rounds, (unsigned long long)records_read);
	/* Inputs that are always rejected would test little. */
	return records_read > rounds * 10 ? 0 : 1;
}
#endif
