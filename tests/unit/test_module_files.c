/* SPDX-License-Identifier: MIT */
/*
 * test_module_files.c - files of a library that was mapped: the library, its debug file, split
 * DWARF; missing, rebuilt and damaged ones.
 *
 * PIECES is a folder of the build with whole.so, stripped.so (the same without debug information),
 * stripped.so.debug and split.so, all made of module_piece.c.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"
#include "symbols/module_identity.h"
#include "symbols/symbols.h"

#define BASE UINT64_C(0x10000000)

static char folder[64];
static char build_id[2 * 64 + 1];
static uint64_t sum_at; /* address of piece_sum() in the file */

static const char *path_of(const char *name)
{
	static char paths[4][512];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, 512, "%s/%s", folder, name);
	return path;
}

/* Copy DIR/@from to @to in the folder of the test. */
static void copy_file(const char *from, const char *to)
{
	char command[1200];

	snprintf(command, sizeof(command), "cp '%s/%s' '%s'", PIECES, from, path_of(to));
	CHECK_EQ(system(command), 0); // NOLINT(cert-env33-c,concurrency-mt-unsafe)
}

static void remove_file(const char *name)
{
	CHECK_EQ(unlink(path_of(name)), 0);
}

static struct symbol_module module_at(const char *path, const char *id)
{
	return (struct symbol_module){ .pid = 7,
				       .start = BASE,
				       .end = BASE + 0x100000,
				       .has_bias = true,
				       .bias = BASE,
				       .path = path,
				       .build_id = id };
}

/* What is known of piece_sum() in the file at @path: "FUNCTION FILE:LINE", and the problem. */
static const char *found_in(const char *path, const char *id)
{
	static char text[800];
	struct symbol_module module = module_at(path, id);
	struct symbols *s = symbols_new();
	struct symbol symbol;
	const char *slash;

	CHECK(s && symbols_add(s, &module) == 0);
	CHECK(symbols_find(s, 7, BASE + sum_at, &symbol));
	CHECK(!symbols_find(s, 7, BASE - 1, &symbol) && !symbols_find(s, 8, BASE, &symbol));
	CHECK(symbols_find(s, 7, BASE + sum_at, &symbol));
	CHECK_STR(symbol.module, path);
	CHECK_EQ(symbol.offset, symbol.function ? 0 : sum_at);
	slash = symbol.file ? strrchr(symbol.file, '/') : NULL;
	snprintf(text, sizeof(text), "%s %s:%u", symbol.function ? symbol.function : "-",
		 slash         ? slash + 1
		 : symbol.file ? symbol.file
			       : "-",
		 symbol.line);
	if (symbols_problem(s))
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ": %s",
			 symbols_problem(s));
	symbols_free(s);
	return text;
}

static void check_problem(const char *path, const char *id, const char *words)
{
	char expected[800];

	snprintf(expected, sizeof(expected), "- -:0: Functions of '%s' have no names here: it %s.",
		 path, words);
	CHECK_STR(found_in(path, id), expected);
}

#define WITH_LINE "piece_sum module_piece.c:5"

static void check_only_name(const char *path)
{
	char expected[800];

	snprintf(expected, sizeof(expected),
		 "piece_sum -:0: '%s' has no debug information: functions are named, lines are not "
		 "(compile with -g).",
		 path);
	CHECK_STR(found_in(path, build_id), expected);
}

/* ---- where it is -------------------------------------------------------------------- */

static void read_identity(void)
{
	char path[600];
	void *library;
	struct link_map *map;
	const ElfW(Nhdr) * note;
	int (*sum)(int, int);
	Dl_info info;

	snprintf(path, sizeof(path), "%s/whole.so", PIECES);
	library = dlopen(path, RTLD_NOW);
	CHECK(library != NULL);
	*(void **)&sum = dlsym(library, "piece_sum");
	CHECK(sum && sum(2, 3) == 5);
	CHECK(dladdr((void *)(uintptr_t)sum, &info) != 0);
	CHECK(dlinfo(library, RTLD_DI_LINKMAP, &map) == 0);
	sum_at = (uint64_t)(uintptr_t)info.dli_saddr - map->l_addr;
	{
		const ElfW(Ehdr) *e = info.dli_fbase;
		const ElfW(Phdr) *p = (const ElfW(Phdr) *)((const char *)e + e->e_phoff);
		int i;

		for (i = 0; i < e->e_phnum; i++) {
			if (p[i].p_type != PT_NOTE)
				continue;
			note = (const ElfW(Nhdr) *)(map->l_addr + p[i].p_vaddr);
			if (note->n_type != NT_GNU_BUILD_ID)
				continue;
			for (unsigned k = 0; k < note->n_descsz; k++)
				sprintf(build_id + (size_t)2 * k, "%02x",
					((const unsigned char *)(note + 1))[4 + k]);
		}
	}
	dlclose(library);
	CHECK(strlen(build_id) >= 16);
}

/* ---- tests ---------------------------------------------------------------------------- */

static void a_file_is_used_if_it_is_the_same_build(void)
{
	char other[sizeof(build_id)];
	const char *path;

	copy_file("whole.so", "a.so");
	path = path_of("a.so");
	CHECK_STR(found_in(path, build_id), WITH_LINE);
	CHECK_STR(found_in(path, NULL), WITH_LINE);
	snprintf(other, sizeof(other), "%s", build_id);
	other[strlen(other) - 1] = other[strlen(other) - 1] == '0' ? '1' : '0';
	check_problem(path, other, "was rebuilt after the trace was recorded");
	snprintf(other, sizeof(other), "%s", build_id);
	other[strlen(other) - 2] = '\0'; /* the start of it */
	check_problem(path, other, "was rebuilt after the trace was recorded");
	remove_file("a.so");
	check_problem(path_of("a.so"), build_id, "no longer exists");
}

static void a_file_that_is_no_program_is_reported(void)
{
	FILE *f = fopen(path_of("a.so"), "w");

	CHECK(f != NULL);
	fputs("this is not a program", f);
	CHECK_EQ(fclose(f), 0);
	check_problem(path_of("a.so"), NULL, "cannot be read as a program");
	remove_file("a.so");
}

/* Without a bias, the mapping says which part of the file it shows. */
static void the_bias_follows_from_a_mapping(void)
{
	struct symbol_module module;
	struct module_file f;
	uint64_t offset;
	GElf_Sym sym;

	copy_file("whole.so", "a.so");
	module = module_at(path_of("a.so"), build_id);
	module.has_bias = false;
	module.bias = 0;
	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(module_file_ready(&f));
	CHECK_STR(module_file_symbol(&f, BASE + sum_at + 1, &offset, &sym), "piece_sum");
	CHECK_EQ(offset, 1);
	module_file_release(&f);
	module.offset = UINT64_C(1) << 30; /* no segment is there */
	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(!module_file_ready(&f));
	CHECK_EQ(f.state, MODULE_NO_ELF);
	module_file_release(&f);
	remove_file("a.so");
}

static void a_debug_file_is_found_by_its_link(void)
{
	copy_file("stripped.so", "a.so");
	check_only_name(path_of("a.so"));
	copy_file("stripped.so.debug", "stripped.so.debug");
	CHECK_STR(found_in(path_of("a.so"), build_id), WITH_LINE);
	remove_file("stripped.so.debug");
	/* Another one of that name. */
	copy_file("split.so", "stripped.so.debug");
	check_only_name(path_of("a.so"));
	remove_file("stripped.so.debug");
	remove_file("a.so");
}

/* In a folder that the user names: NAME and NAME.debug, if they are of the same build. */
static int debug_file_in(const char *dir, const char *real_path)
{
	struct symbol_module module = module_at(path_of("a.so"), build_id);
	struct module_file f;
	char *name = NULL;
	int fd, input = fcntl(0, F_DUPFD_CLOEXEC, 3);

	module_set_debug_dir(dir);
	CHECK_EQ(module_file_init(&f, &module), 0);
	f.real_path = real_path ? strdup(real_path) : NULL;
	CHECK(module_file_ready(&f));
	fd = module_find_debug_file(&f, &name);
	CHECK_EQ(fd >= 0, name != NULL);
	free(name);
	if (fd >= 0)
		close(fd);
	module_file_release(&f); /* libdwfl closes standard input (module_identity.c) */
	dup2(input, 0);
	close(input);
	return fd >= 0;
}

static void a_debug_file_is_found_in_a_folder(void)
{
	char dir[100];

	snprintf(dir, sizeof(dir), "%s/more", folder);
	CHECK_EQ(mkdir(dir, 0700), 0);
	copy_file("stripped.so", "a.so");
	CHECK(!debug_file_in(dir, "/usr/lib/b.so"));
	copy_file("stripped.so.debug", "more/b.so");
	CHECK(debug_file_in(dir, "/usr/lib/b.so"));
	CHECK(!debug_file_in(dir, "/usr/lib/c.so"));
	CHECK(!debug_file_in(dir, NULL));
	remove_file("more/b.so");
	copy_file("stripped.so.debug", "more/b.so.debug");
	CHECK(debug_file_in(dir, "b.so"));
	remove_file("more/b.so.debug");
	copy_file("split.so", "more/b.so"); /* of another build */
	CHECK(!debug_file_in(dir, "b.so"));
	copy_file("stripped.so.debug", "more/b.so.debug"); /* the second one fits */
	CHECK(debug_file_in(dir, "b.so"));
	remove_file("more/b.so");
	remove_file("more/b.so.debug");
	remove_file("a.so");
	CHECK_EQ(rmdir(dir), 0);
	module_set_debug_dir("/no/such/folder");
}

/* ---- what may be kept ------------------------------------------------------------------ */

static bool entry_name(const char *file, const char *id, char name[INDEX_CACHE_NAME_MAX])
{
	struct symbol_module module = module_at(path_of(file), id);
	struct module_file f;
	bool has_name;

	name[0] = '\0';
	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(module_file_ready(&f));
	has_name = module_entry_name(&f, name);
	module_file_release(&f);
	return has_name;
}

/* The name of an entry changes with each of the files. */
static void an_entry_is_of_the_file_and_its_debug_file(void)
{
	char name[INDEX_CACHE_NAME_MAX], again[INDEX_CACHE_NAME_MAX];
	const struct timespec times[2] = { { 1000, 1 }, { 1000, 1 } };
	const struct timespec later[2] = { { 1000, 2 }, { 1000, 2 } };

	copy_file("whole.so", "a.so");
	CHECK_EQ(utimensat(AT_FDCWD, path_of("a.so"), times, 0), 0);
	CHECK(entry_name("a.so", build_id, name));
	CHECK_EQ(strncmp(name, build_id, strlen(build_id)), 0);
	CHECK_EQ(strlen(name), strlen(build_id) + 1 + 16 + 6);
	CHECK_STR(name + strlen(name) - 6, ".index");
	CHECK(entry_name("a.so", build_id, again));
	CHECK_STR(again, name);
	CHECK_EQ(utimensat(AT_FDCWD, path_of("a.so"), later, 0), 0);
	CHECK(entry_name("a.so", build_id, again) && strcmp(again, name) != 0);
	CHECK(!entry_name("a.so", NULL, again)); /* the trace has no build-id */
	copy_file("stripped.so", "a.so");
	CHECK_EQ(utimensat(AT_FDCWD, path_of("a.so"), times, 0), 0);
	CHECK(entry_name("a.so", build_id, name));
	copy_file("stripped.so.debug", "stripped.so.debug");
	CHECK_EQ(utimensat(AT_FDCWD, path_of("stripped.so.debug"), times, 0), 0);
	CHECK(entry_name("a.so", build_id, again) && strcmp(again, name) != 0);
	CHECK(entry_name("a.so", build_id, name));
	CHECK_STR(again, name);
	CHECK_EQ(utimensat(AT_FDCWD, path_of("stripped.so.debug"), later, 0), 0);
	CHECK(entry_name("a.so", build_id, again) && strcmp(again, name) != 0);
	remove_file("stripped.so.debug");
	remove_file("a.so");
	CHECK_EQ(access("/dev/stdin", F_OK), 0); /* the search does not close it */
}

/* The .dwo file where it was made, and beside the library; and the package of all. */
static void split_dwarf_is_in_other_files(void)
{
	struct symbol_module module;
	struct module_companions list = { 0 };
	struct module_file f;
	const char *name;
	struct stat st;

	copy_file("split.so", "a.so");
	module = module_at(path_of("a.so"), NULL);
	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(module_file_ready(&f));
	CHECK(module_companions_find(&f, &list));
	CHECK_EQ(list.nr, 3);
	name = strrchr(list.at[0].path, '/');
	CHECK(name && strstr(name, ".dwo"));
	CHECK_EQ(stat(list.at[0].path, &st), 0);
	CHECK_EQ(list.at[0].size, st.st_size);
	CHECK_EQ(list.at[0].mtime_s, st.st_mtim.tv_sec);
	CHECK_EQ(list.at[0].mtime_ns, st.st_mtim.tv_nsec);
	CHECK_EQ(strncmp(list.at[1].path, folder, strlen(folder)), 0);
	CHECK_STR(strrchr(list.at[1].path, '/'), name);
	CHECK_EQ(list.at[1].size, UINT64_MAX);
	CHECK_STR(list.at[2].path, path_of("a.so.dwp"));
	CHECK_EQ(list.at[2].size, UINT64_MAX);
	CHECK(module_companions_unchanged(&list));
	copy_file("whole.so", "a.so.dwp");
	CHECK(!module_companions_unchanged(&list));
	remove_file("a.so.dwp");
	module_companions_release(&list);
	module_file_release(&f);
	/* The others have all in one file. */
	copy_file("whole.so", "a.so");
	CHECK_EQ(module_file_init(&f, &module), 0);
	CHECK(module_file_ready(&f));
	CHECK(module_companions_find(&f, &list));
	CHECK_EQ(list.nr, 0);
	module_file_release(&f);
	remove_file("a.so");
}

/* ---- a process that watches ---------------------------------------------------------------- */

static void a_watch_knows_what_is_read(void)
{
	static struct module_watch watch;

	copy_file("whole.so", "a.so");
	module_set_watch(&watch);
	CHECK_STR(found_in(path_of("a.so"), NULL), WITH_LINE);
	CHECK_STR(watch.reading, path_of("a.so"));
	watch.nr_damaged = 1;
	snprintf(watch.damaged[0], sizeof(watch.damaged[0]), "%s", path_of("a.so"));
	check_problem(path_of("a.so"), NULL, "is damaged");
	watch.damaged[0][0] = '\0';
	CHECK_STR(found_in(path_of("a.so"), NULL), WITH_LINE);
	module_set_watch(NULL);
	remove_file("a.so");
}

static void find_and_release(void)
{
	CHECK_STR(found_in(path_of("a.so"), NULL), WITH_LINE);
	CHECK_EQ(count_mapped(folder), 0);
}

static void nothing_is_kept(void)
{
	copy_file("whole.so", "a.so");
	check_keeps_no_memory(find_and_release);
	remove_file("a.so");
}

int main(void)
{
	unsigned before;

	snprintf(folder, sizeof(folder), "/tmp/corotracer-modules-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	unsetenv("DEBUGINFOD_URLS");
	read_identity();
	before = count_open();
	RUN(a_file_is_used_if_it_is_the_same_build);
	RUN(a_file_that_is_no_program_is_reported);
	RUN(the_bias_follows_from_a_mapping);
	RUN(a_debug_file_is_found_by_its_link);
	RUN(an_entry_is_of_the_file_and_its_debug_file);
	RUN(split_dwarf_is_in_other_files);
	RUN(a_watch_knows_what_is_read);
	RUN(a_debug_file_is_found_in_a_folder);
	RUN(nothing_is_kept);
	CHECK_EQ(count_open(), before);
	CHECK_EQ(count_mapped(folder), 0);
	CHECK_EQ(rmdir(folder), 0);
	return 0;
}
