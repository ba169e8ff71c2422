/* SPDX-License-Identifier: MIT */
/*
 * test_elf_files.c - notes and needed libraries of ELF files that the test makes; each count and
 * offset in them may be wrong.
 */
#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"
#include "process/elf_file.h"
#include "process/elf_headers.h"
#include "process/elf_notes.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#else
#define OWN_MACHINE EM_AARCH64
#endif

#define NOTE_AT    0x500
#define DYNAMIC_AT 0x600
#define NAMES_AT   0x800
#define SIZE       0x1000

/* A file with its program headers behind the ELF header. */
static struct {
	union {
		uint8_t bytes[SIZE];
		struct {
			Elf64_Ehdr ehdr;
			Elf64_Phdr phdrs[20];
		};
	};
} file;

static Elf64_Phdr *add_segment(uint32_t type, uint64_t at, uint64_t size)
{
	Elf64_Phdr *p = &file.phdrs[file.ehdr.e_phnum++];

	*p = (Elf64_Phdr){ .p_type = type,
			   .p_offset = at,
			   .p_vaddr = 0x10000 + at,
			   .p_filesz = size,
			   .p_memsz = size,
			   .p_align = 4 };
	return p;
}

static void file_begin(void)
{
	memset(&file, 0, sizeof(file));
	memcpy(file.ehdr.e_ident, ELFMAG, SELFMAG);
	file.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	file.ehdr.e_machine = OWN_MACHINE;
	file.ehdr.e_phoff = offsetof(__typeof__(file), phdrs);
	file.ehdr.e_phentsize = sizeof(Elf64_Phdr);
	add_segment(PT_LOAD, 0, SIZE);
}

/* A note at @at; returns the offset behind it. */
static size_t put_note(size_t at, const char *name, uint32_t type, const void *desc, uint32_t size,
		       size_t align)
{
	Elf64_Nhdr n = { .n_namesz = (uint32_t)strlen(name) + 1, .n_descsz = size, .n_type = type };
	size_t desc_at = (at + sizeof(n) + n.n_namesz + align - 1) & ~(align - 1);

	memcpy(file.bytes + at, &n, sizeof(n));
	memcpy(file.bytes + at + sizeof(n), name, n.n_namesz);
	memcpy(file.bytes + desc_at, desc, size);
	return (desc_at + size + align - 1) & ~(align - 1);
}

static int file_open(void)
{
	int fd = memfd_create("elf", MFD_CLOEXEC);

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, file.bytes, SIZE), SIZE);
	return fd;
}

/* ---- notes in memory --------------------------------------------------------------------- */

static void segments_of_notes_are_found_where_they_are_mapped(void)
{
	struct note_segment out[ELF_NOTES_SEGMENTS];
	const uint64_t start = 0x7f0000000000;

	file_begin();
	file.phdrs[0].p_vaddr = 0x10000 + 0x123; /* only the page counts */
	add_segment(PT_NOTE, NOTE_AT, 0x40);
	add_segment(PT_NOTE, NOTE_AT + 0x100, 0x40)->p_align = 8;
	add_segment(PT_NOTE, NOTE_AT, 0);
	add_segment(PT_NOTE, NOTE_AT + 0x200, ELF_NOTES_BYTES + 1)->p_align = 1;
	CHECK_EQ(elf_note_segments(file.bytes, SIZE, start, out), 3);
	CHECK_EQ(out[0].address, start + NOTE_AT);
	CHECK_EQ(out[0].size, 0x40);
	CHECK_EQ(out[0].align, 4);
	CHECK_EQ(out[1].address, start + NOTE_AT + 0x100);
	CHECK_EQ(out[1].align, 8);
	CHECK_EQ(out[2].size, ELF_NOTES_BYTES);
	CHECK_EQ(out[2].align, 4);
	/* Headers behind the bytes that are there are left out. */
	CHECK_EQ(elf_note_segments(file.bytes, sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr), start,
				   out),
		 2);
	CHECK_EQ(elf_note_segments(file.bytes, sizeof(Elf64_Ehdr) + 3 * sizeof(Elf64_Phdr) - 1,
				   start, out),
		 1);
	CHECK_EQ(elf_note_segments(file.bytes, sizeof(Elf64_Ehdr) - 1, start, out), 0);
}

static void other_files_have_no_segments(void)
{
	static const struct {
		size_t at;
		uint8_t byte;
	} damages[] = {
		{ 0, 'x' },
		{ EI_CLASS, ELFCLASS32 },
		{ offsetof(Elf64_Ehdr, e_machine), EM_386 },
		{ offsetof(Elf64_Ehdr, e_phentsize), sizeof(Elf64_Phdr) - 1 },
		{ offsetof(Elf64_Ehdr, e_phoff) + 1, 0xff },
		{ offsetof(Elf64_Ehdr, e_phoff) + 7, 0xff },
		{ sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset) + 1, 0x10 },
		{ sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_type), PT_NULL },
	};
	struct note_segment out[ELF_NOTES_SEGMENTS];
	size_t i;

	for (i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		file_begin();
		add_segment(PT_NOTE, NOTE_AT, 0x40);
		CHECK_EQ(elf_note_segments(file.bytes, SIZE, 0, out), 1);
		file.bytes[damages[i].at] = damages[i].byte;
		CHECK_EQ(elf_note_segments(file.bytes, SIZE, 0, out), 0);
	}
}

static void at_most_sixteen_segments_are_read(void)
{
	struct note_segment out[ELF_NOTES_SEGMENTS];
	size_t i;

	file_begin();
	for (i = 1; i <= 17; i++)
		file.phdrs[i] = (Elf64_Phdr){ .p_type = PT_NOTE, .p_memsz = 8 };
	file.ehdr.e_phnum = 17;
	CHECK_EQ(elf_note_segments(file.bytes, SIZE, 0, out), 16);
	file.ehdr.e_phnum = 18;
	CHECK_EQ(elf_note_segments(file.bytes, SIZE, 0, out), 16);
}

struct seen {
	char names[8][80];
	uint32_t types[8];
	uint64_t addresses[8];
	size_t sizes[8];
	uint8_t first[8]; /* byte of the description */
	size_t nr, most;
};

static bool note_seen(void *ctx, const struct elf_note *note)
{
	struct seen *s = ctx;

	CHECK(s->nr < 8);
	snprintf(s->names[s->nr], sizeof(s->names[0]), "%s", note->name);
	s->types[s->nr] = note->type;
	s->addresses[s->nr] = note->address;
	s->sizes[s->nr] = note->size;
	s->first[s->nr] = note->size ? note->desc[0] : 0;
	return ++s->nr < s->most;
}

static void notes_follow_each_other(void)
{
	static const size_t aligns[] = { 4, 8 };
	size_t i;

	for (i = 0; i < 2; i++) {
		struct seen s = { .most = 8 };
		size_t second, third, end;

		file_begin();
		second = put_note(NOTE_AT, "GNU", 3, "abcde", 5, aligns[i]);
		third = put_note(second, "corotracer", 7, "xy", 2, aligns[i]);
		end = put_note(third, "", 9, "", 0, aligns[i]);
		CHECK(elf_notes_walk(file.bytes + NOTE_AT, end - NOTE_AT, 0x5000, aligns[i],
				     note_seen, &s));
		CHECK_EQ(s.nr, 3);
		CHECK_STR(s.names[0], "GNU");
		CHECK_EQ(s.types[0], 3);
		CHECK_EQ(s.sizes[0], 5);
		CHECK_EQ(s.first[0], 'a');
		CHECK_EQ(s.addresses[0], 0x5000 + 16);
		CHECK_STR(s.names[1], "corotracer");
		CHECK_EQ(s.types[1], 7);
		CHECK_EQ(s.first[1], 'x');
		CHECK_EQ(s.addresses[1], 0x5000 + second - NOTE_AT + 24);
		CHECK_STR(s.names[2], "");
		CHECK_EQ(s.sizes[2], 0);
		/* Without its last byte the second note is not complete. */
		s.nr = 0;
		CHECK(elf_notes_walk(file.bytes + NOTE_AT, second - NOTE_AT + 24 + 1, 0, aligns[i],
				     note_seen, &s));
		CHECK_EQ(s.nr, 1);
		s.nr = 0;
		CHECK(elf_notes_walk(file.bytes + NOTE_AT, second - NOTE_AT + 24 + 2, 0, aligns[i],
				     note_seen, &s));
		CHECK_EQ(s.nr, 2);
		/* The visitor ends the walk. */
		s = (struct seen){ .most = 2 };
		CHECK(!elf_notes_walk(file.bytes + NOTE_AT, end - NOTE_AT, 0, aligns[i], note_seen,
				      &s));
		CHECK_EQ(s.nr, 2);
	}
}

/* As mold links them: a segment that claims an alignment of 8, and notes with one of 4 behind the
 * first. */
static void notes_may_have_a_smaller_alignment_than_their_segment(void)
{
	struct seen s = { .most = 8 };
	size_t at;

	file_begin();
	at = put_note(NOTE_AT, "GNU", 5, "properties......", 16, 8);
	at = put_note(at, "GNU", NT_GNU_BUILD_ID, "twenty bytes of a sum", 20, 4);
	CHECK_EQ((at - NOTE_AT) % 8, 4);
	at = put_note(at, "corotracer", 7, "distance", 8, 4);
	CHECK(elf_notes_walk(file.bytes + NOTE_AT, at - NOTE_AT, 0x5000, 8, note_seen, &s));
	CHECK_EQ(s.nr, 3);
	CHECK_EQ(s.types[1], NT_GNU_BUILD_ID);
	CHECK_STR(s.names[2], "corotracer");
	CHECK_EQ(s.types[2], 7);
	CHECK_EQ(s.first[2], 'd');
	CHECK_EQ(s.addresses[2], 0x5000 + at - NOTE_AT - 8);
}

static void a_long_name_is_cut_and_a_wrong_size_ends_the_walk(void)
{
	struct seen s = { .most = 8 };
	char name[100];
	Elf64_Nhdr huge = { .n_namesz = UINT32_MAX, .n_descsz = UINT32_MAX };
	size_t end;

	memset(name, 'n', sizeof(name));
	name[80] = '\0';
	file_begin();
	end = put_note(NOTE_AT, name, 1, "z", 1, 4);
	memcpy(file.bytes + end, &huge, sizeof(huge));
	CHECK(elf_notes_walk(file.bytes + NOTE_AT, 0x200, 0, 4, note_seen, &s));
	CHECK_EQ(s.nr, 1);
	CHECK_EQ(strlen(s.names[0]), ELF_NOTES_DESC - 1);
	CHECK_EQ(s.first[0], 'z');
	name[64] = '\0'; /* with its end, one byte more than there is room for */
	s.nr = 0;
	end = put_note(NOTE_AT, name, 1, "z", 1, 4);
	CHECK(elf_notes_walk(file.bytes + NOTE_AT, end - NOTE_AT, 0, 4, note_seen, &s));
	CHECK_EQ(strlen(s.names[0]), 63);
}

/* ---- notes and libraries in a file ------------------------------------------------------- */

static void a_note_of_a_file_is_found_by_name_and_type(void)
{
	size_t end;
	int fd;

	file_begin();
	end = put_note(NOTE_AT, "GNU", 3, "id", 2, 4);
	add_segment(PT_NOTE, NOTE_AT, end - NOTE_AT);
	end = put_note(NOTE_AT + 0x80, "x", 1, "", 0, 8);
	end = put_note(end, "corotracer", 7, "xy", 2, 8);
	add_segment(PT_NOTE, NOTE_AT + 0x80, end - NOTE_AT - 0x80)->p_align = 8;
	fd = file_open();
	CHECK(elf_file_has_note(fd, "GNU", 3));
	CHECK(elf_file_has_note(fd, "corotracer", 7));
	CHECK(!elf_file_has_note(fd, "corotracer", 8));
	CHECK(!elf_file_has_note(fd, "corotrace", 7));
	close(fd);
	file.phdrs[2].p_type = PT_LOAD;
	fd = file_open();
	CHECK(!elf_file_has_note(fd, "corotracer", 7));
	close(fd);
	file.ehdr.e_ident[EI_CLASS] = ELFCLASS32;
	fd = file_open();
	CHECK(!elf_file_has_note(fd, "GNU", 3));
	close(fd);
}

/* The dynamic section, with names at NAMES_AT. */
static void put_dynamic(uint64_t first_name, uint64_t names)
{
	const Elf64_Dyn entries[] = { { .d_tag = DT_NEEDED, .d_un.d_val = first_name },
				      { .d_tag = DT_NEEDED, .d_un.d_val = 20 },
				      { .d_tag = DT_SONAME, .d_un.d_val = 40 },
				      { .d_tag = DT_STRTAB, .d_un.d_ptr = names } };

	memcpy(file.bytes + DYNAMIC_AT, entries, sizeof(entries));
	memcpy(file.bytes + NAMES_AT + 1, "libone.so.1", 12);
	memcpy(file.bytes + NAMES_AT + 20, "libtwo.so.2", 12);
	memcpy(file.bytes + NAMES_AT + 40, "libown.so.3", 12);
	add_segment(PT_DYNAMIC, DYNAMIC_AT, sizeof(entries));
}

static bool needs(const char *prefix)
{
	int fd = file_open();
	bool found = elf_file_needs(fd, prefix);

	close(fd);
	return found;
}

static void needed_libraries_are_found_by_the_start_of_their_name(void)
{
	char prefix[80];

	file_begin();
	put_dynamic(1, 0x10000 + NAMES_AT);
	CHECK(needs("libone.so"));
	CHECK(needs("libtwo."));
	CHECK(!needs("libown")); /* its own name */
	CHECK(!needs("ibone"));
	memset(prefix, 'p', 79);
	prefix[79] = '\0';
	CHECK(!needs(prefix));
	/* Names that are in no segment. */
	file_begin();
	put_dynamic(1, 0x10000 + SIZE);
	CHECK(!needs("libone"));
	file_begin();
	put_dynamic(1, 0x10000 - 1);
	CHECK(!needs("libone"));
	file_begin();
	put_dynamic(UINT64_C(1) << 33, 0x10000 + NAMES_AT);
	CHECK(!needs("libone"));
	CHECK(needs("libtwo"));
	file_begin();
	CHECK(!needs("lib"));
	/* The segment ends just before the names, which are in the file. */
	file_begin();
	put_dynamic(1, 0x10000 + NAMES_AT);
	file.phdrs[0].p_filesz = NAMES_AT;
	CHECK(!needs("libone"));
	file.phdrs[0].p_filesz = NAMES_AT + 1;
	CHECK(needs("libone"));
	/* Offsets that no file has. */
	file_begin();
	put_dynamic(1, 0x10000 + NAMES_AT);
	file.phdrs[0].p_offset = UINT64_MAX - 0x100;
	CHECK(!needs("libone"));
	file.phdrs[0].p_offset = 0;
	file.phdrs[1].p_offset = UINT64_MAX;
	CHECK(!needs("libone"));
	file.phdrs[1].p_offset = DYNAMIC_AT;
	file.ehdr.e_phoff = UINT64_MAX;
	CHECK(!needs("libone"));
}

/* ---- build-ids ------------------------------------------------------------------------- */

/* The file, loaded at address 0x5000 - 0x10000 + an address in it. */
#define BIAS (UINT64_C(0x5000) - 0x10000)

static ssize_t read_loaded(const void *arg, uint64_t at, void *buf, size_t size)
{
	size_t offset = (size_t)(at - 0x5000);

	(void)arg;
	if (offset >= SIZE)
		return -EFAULT;
	size = size < SIZE - offset ? size : SIZE - offset;
	memcpy(buf, file.bytes + offset, size);
	return (ssize_t)size;
}

static ssize_t read_offset(const void *arg, uint64_t at, void *buf, size_t size)
{
	return read_loaded(arg, at + 0x5000, buf, size);
}

static void check_build_id(bool is_found)
{
	const struct elf_source loaded = { .read = read_loaded }, plain = { .read = read_offset };
	char text[ELF_BUILD_ID_TEXT] = "";
	struct elf_headers h;

	CHECK(elf_headers_read(&h, &loaded, 0x5000, OWN_MACHINE));
	CHECK_EQ(h.nr, file.ehdr.e_phnum);
	CHECK_EQ(elf_loaded_build_id(&h, &loaded, BIAS, text), is_found);
	CHECK_STR(text, is_found ? "00ab" : "");
	text[0] = '\0';
	CHECK_EQ(elf_file_build_id(&h, &plain, text), is_found);
	CHECK_STR(text, is_found ? "00ab" : "");
}

static void a_build_id_is_found_in_the_notes(void)
{
	const struct elf_source loaded = { .read = read_loaded };
	struct elf_headers h;
	size_t end;

	file_begin();
	end = put_note(NOTE_AT, "GNU", 1, "other", 5, 4);
	end = put_note(end, "GNU", NT_GNU_BUILD_ID, "\x00\xab", 2, 4);
	add_segment(PT_NOTE, NOTE_AT, 0); /* empty */
	add_segment(PT_NOTE, SIZE + 0x100, 0x40);
	check_build_id(false);
	add_segment(PT_NOTE, NOTE_AT, UINT64_C(1) << 40); /* too large */
	check_build_id(false);
	add_segment(PT_LOAD, NOTE_AT, end - NOTE_AT); /* not notes */
	check_build_id(false);
	add_segment(PT_NOTE, NOTE_AT, end - NOTE_AT);
	check_build_id(true);
	CHECK(!elf_headers_read(&h, &loaded, 0x5000, EM_386));
	CHECK(!elf_headers_read(&h, &loaded, 0x5001, OWN_MACHINE));
	file.ehdr.e_phnum = ELF_HEADERS_MAX + 1;
	CHECK(!elf_headers_read(&h, &loaded, 0x5000, OWN_MACHINE));
	file.ehdr.e_phnum = 0;
	CHECK(!elf_headers_read(&h, &loaded, 0x5000, OWN_MACHINE));
}

/* ---- this process ----------------------------------------------------------------------- */

static void the_notes_of_mapped_files_are_read_from_memory(void)
{
	struct seen s = { .most = 1 };
	struct err err = { 0 };
	struct target t;

	CHECK_EQ(elf_check_machine(getpid(), &err), 0);
	CHECK_EQ(elf_check_machine(4194305, &err), 0); /* reading it reports the error */
	CHECK_EQ(target_open(&t, getpid(), &err), 0);
	CHECK_EQ(elf_notes_each(&t, note_seen, &s, &err), 0);
	CHECK_EQ(s.nr, 1); /* the first one ends it */
	CHECK_STR(s.names[0], "GNU");
	target_close(&t);
}

int main(void)
{
	RUN(segments_of_notes_are_found_where_they_are_mapped);
	RUN(other_files_have_no_segments);
	RUN(at_most_sixteen_segments_are_read);
	RUN(notes_follow_each_other);
	RUN(notes_may_have_a_smaller_alignment_than_their_segment);
	RUN(a_long_name_is_cut_and_a_wrong_size_ends_the_walk);
	RUN(a_note_of_a_file_is_found_by_name_and_type);
	RUN(needed_libraries_are_found_by_the_start_of_their_name);
	RUN(a_build_id_is_found_in_the_notes);
	RUN(the_notes_of_mapped_files_are_read_from_memory);
	return 0;
}
