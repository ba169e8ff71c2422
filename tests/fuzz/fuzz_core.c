/* SPDX-License-Identifier: MIT */
/*
 * fuzz_core.c - any core file is read or refused, with a message.
 *
 * Checked: memory is passed on in ascending order and inside its range; every byte of the visited
 * ranges is counted once; reads return no more than was asked for.
 *
 * With clang: -DFUZZ_LIBFUZZER -fsanitize=fuzzer.  Otherwise main() damages a valid core:
 * fuzz_core [ROUNDS [SEED]].
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

#include "process/image_backend.h"
#include "process/process_image.h"
#include "process/saved_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long opened;

static void core_fail(const char *what)
{
	fprintf(stderr, "fuzz_core: %s\n", what);
	abort();
}

struct visited {
	uint64_t last, sum;
	unsigned char bits;
};

static int core_check_piece(void *arg, const struct image_range *range, uint64_t addr,
			    const void *data, size_t size)
{
	struct visited *v = arg;

	if (!size || addr < range->start || addr + size > range->end || addr < v->last)
		core_fail("a piece is outside its range or out of order");
	v->last = addr + size;
	v->sum += size;
	v->bits ^= *(const unsigned char *)data ^ *((const unsigned char *)data + size - 1);
	return 0;
}

static void core_check_sums(struct process_image *image)
{
	struct visited v = { 0 };
	uint64_t all = 0;
	size_t i;

	if (image_visit(image, core_check_piece, &v) != 0)
		core_fail("a visit did not end");
	for (i = 0; i < image->nr_ranges; i++) {
		const struct image_range *range = &image->ranges[i];

		if (range->start >= range->end || (i && range->start < range[-1].end))
			core_fail("ranges are not in order");
		if (image_range_visited(range))
			all += range->end - range->start;
	}
	if (v.sum != image->bytes_read ||
	    image->bytes_read + image->bytes_absent + image->bytes_failed != all)
		core_fail("bytes are not counted once");
}

static void core_check_reads(const struct process_image *image)
{
	char buf[256];
	size_t i;

	for (i = 0; i < image->nr_ranges && i < 64; i++) {
		if (image_read(image, image->ranges[i].start, buf, sizeof(buf)) > 256 ||
		    image_read(image, image->ranges[i].end - 8, buf, sizeof(buf)) > 256)
			core_fail("a read is too long");
	}
	for (i = 0; i < image->nr_modules; i++) {
		if (image->modules[i].start >= image->modules[i].end)
			core_fail("a module is empty");
	}
	for (i = 0; i < image->nr_threads; i++) {
		if (image->threads[i].nr_registers > IMAGE_REGISTERS ||
		    memchr(image->threads[i].name, '\0', sizeof(image->threads[i].name)) == NULL)
			core_fail("a thread is impossible");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	struct process_image image;
	struct err err = { 0 };
	char path[64];

	if (fd < 0)
		fd = memfd_create("core", MFD_CLOEXEC);
	if (fd < 0 || ftruncate(fd, 0) < 0 || pwrite(fd, data, size, 0) != (ssize_t)size)
		return 0;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (image_open_core(&image, path, NULL, &err) < 0) {
		if (!err.code || !*err.text)
			core_fail("an error has no message");
		return 0;
	}
	opened++;
	core_check_sums(&image);
	core_check_reads(&image);
	image_close(&image);
	return 0;
}

#ifndef FUZZ_LIBFUZZER
#include "own_input.h"

/* ---- a valid core -------------------------------------------------------- */

#define CORE_ROOM  16384
#define CORE_PATHS "/proc/self/exe\0/memfd:x (deleted)"

struct core_maker {
	uint8_t data[CORE_ROOM];
	size_t size;
};

static void maker_put(struct core_maker *m, const void *data, size_t size)
{
	memcpy(m->data + m->size, data, size);
	m->size += size;
}

static void maker_note(struct core_maker *m, const char *owner, uint32_t type, const void *data,
		       size_t size)
{
	Elf64_Nhdr h = { (uint32_t)strlen(owner) + 1, (uint32_t)size, type };

	maker_put(m, &h, sizeof(h));
	maker_put(m, owner, h.n_namesz);
	m->size = (m->size + 3) & ~(size_t)3;
	maker_put(m, data, size);
	m->size = (m->size + 3) & ~(size_t)3;
}

static void maker_mappings(struct core_maker *m)
{
	struct {
		uint64_t words[8];
		char paths[sizeof(CORE_PATHS)];
	} files = { { 2, 4096, 0x10000, 0x11000, 0, 0x20000, 0x22000, 1 }, CORE_PATHS };
	struct {
		uint64_t nr;
		struct saved_range ranges[2];
		char paths[sizeof(CORE_PATHS)];
	} ranges = { 2, { { 0x10000, 0x11000, 0, 3 }, { 0x20000, 0x22000, 0, 11 } }, CORE_PATHS };

	maker_note(m, "CORE", NT_FILE, &files, sizeof(files));
	if (m->data[0] == 0) /* some inputs have no saved ranges */
		maker_note(m, SAVED_OWNER, SAVED_RANGES, &ranges, sizeof(ranges));
}

static void maker_notes(struct core_maker *m)
{
	struct elf_prstatus status = { .pr_pid = 7 };
	struct elf_prpsinfo info = { .pr_pid = 7, .pr_fname = "name" };
	struct saved_thread thread = { .tid = 7, .state = 'S', .name = "0123456789abcde" };
	struct saved_process process = { .pid = 7, .flags = SAVED_IO_URING };
	Elf64_auxv_t auxv[] = { { AT_ENTRY, { 0x10800 } }, { AT_EXECFN, { 0x30800 } } };

	maker_note(m, "CORE", NT_PRSTATUS, &status, sizeof(status));
	maker_note(m, SAVED_OWNER, SAVED_THREAD, &thread, sizeof(thread));
	maker_note(m, "CORE", NT_PRPSINFO, &info, sizeof(info));
	maker_note(m, SAVED_OWNER, SAVED_PROCESS, &process, sizeof(process));
	maker_note(m, "CORE", NT_AUXV, auxv, sizeof(auxv));
	maker_note(m, SAVED_OWNER, SAVED_KERNEL_STATE, "{}", 2);
	maker_mappings(m);
}

/* The first page is that of an ELF file with a build-id. */
static void maker_page(uint8_t *page)
{
	Elf64_Ehdr e = { .e_machine = (Elf64_Half)image_own_machine(),
			 .e_phoff = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2 };
	Elf64_Phdr p[2] = {
		{ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = 4096, .p_filesz = 4096 },
		{ .p_type = PT_NOTE, .p_vaddr = 512, .p_offset = 512, .p_filesz = 36 },
	};
	Elf64_Nhdr note = { 4, 20, NT_GNU_BUILD_ID };

	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	memcpy(page, &e, sizeof(e));
	memcpy(page + sizeof(e), p, sizeof(p));
	memcpy(page + 512, &note, sizeof(note));
	memcpy(page + 512 + sizeof(note), "GNU", 4);
}

static void maker_core(struct core_maker *m, bool with_ranges)
{
	Elf64_Ehdr e = { .e_type = ET_CORE,
			 .e_machine = (Elf64_Half)image_own_machine(),
			 .e_phoff = sizeof(e),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 4 };
	Elf64_Phdr p[4] = {
		{ .p_type = PT_NOTE, .p_offset = sizeof(e) + sizeof(p) },
		{ PT_LOAD, PF_R | PF_X, 8192, 0x10000, 0, 4096, 4096, 0 },
		{ PT_LOAD, PF_R | PF_W, 12288, 0x20000, 0, 4096, 8192, 0 },
		{ PT_LOAD, PF_R | PF_W, 8192, 0x30000, 0, 64, 4096, 0 },
	};

	memset(m, 0, sizeof(*m));
	m->data[0] = with_ranges ? 0 : 1;
	m->size = p[0].p_offset;
	maker_notes(m);
	p[0].p_filesz = m->size - p[0].p_offset;
	memcpy(e.e_ident, ELFMAG, SELFMAG);
	e.e_ident[EI_CLASS] = ELFCLASS64;
	e.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(m->data, &e, sizeof(e));
	memcpy(m->data + sizeof(e), p, sizeof(p));
	maker_page(m->data + 8192);
	m->size = CORE_ROOM;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Damage a few bytes, mostly in the headers and notes; sometimes cut the file. */
static void maker_damage(struct core_maker *m, uint64_t *state)
{
	static const uint8_t edges[] = { 0, 1, 0x7f, 0x80, 0xff, 2, 8, 16 };
	uint64_t i, nr = next_random(state) % 8;

	for (i = 0; i < nr; i++) {
		uint64_t r = next_random(state);
		size_t at = (r >> 8) % (r & 0x80 ? 3072 : CORE_ROOM);

		if (at < 20 && r % 16)
			continue; /* rarely: most of these are refused at once */
		m->data[at] = r & 1 ? edges[(r >> 40) % sizeof(edges)] : (uint8_t)(r >> 48);
	}
	if (next_random(state) % 4 == 0)
		m->size = next_random(state) % CORE_ROOM;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 20000, i;
	uint64_t state = (argc > 2 ? strtoull(argv[2], NULL, 10) : 1) * 0x9E3779B97F4A7C15u;
	static struct core_maker m;

	for (i = 0; i < rounds; i++) {
		maker_core(&m, i % 2);
		maker_damage(&m, &state);
		own_input(m.data, m.size);
	}
	printf("%lu inputs, %lu opened\n", rounds, opened);
	/* Inputs that are always refused would test little. */
	return opened > rounds / 10 ? 0 : 1;
}
#endif
