/* SPDX-License-Identifier: MIT */
/*
 * test_compiler_command.c - the commands that `mem cc` runs instead of the user's, word by word,
 * with the remarks; words of response files.
 *
 * tests/fixtures/golden/compiler_commands.txt has each command after the words that it is made of.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "golden.h"
#include "memory/compiler/compiler_command.h"
#include "memory/compiler/wide_vectors.h"

static void compiler_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	CHECK(f);
	CHECK(fputs(text, f) >= 0);
	CHECK_EQ(fclose(f), 0);
}

static void compiler_split(struct words *w, const char *line)
{
	char *copy = strdup(line), *at = copy, *word;

	CHECK(copy);
	while ((word = strsep(&at, " ")) != NULL)
		words_add(w, word);
	free(copy);
}

static const struct wrap_setup gcc_setup = { .compiler = "/usr/bin/gcc", .libdir = "/lib/ct" };
static const struct wrap_setup clang_setup = {
	.compiler = "clang-19", .family = WRAP_CLANG, .libdir = "/lib/ct", .includedir = "/inc"
};

/* The command and the remarks, or the error. */
static void compiler_show(FILE *out, const struct wrap_setup *setup, const char *line)
{
	struct words args = { 0 };
	struct wrap_plan plan;
	struct err err = { 0 };
	size_t i;
	int rc;

	compiler_split(&args, line);
	rc = wrap_make(setup, args.word, args.nr, &plan, &err);
	fprintf(out, "%s: %s\n", setup->family == WRAP_CLANG ? "clang" : "gcc", line);
	if (rc < 0)
		fprintf(out, " error %d: %s\n", rc, err.text);
	for (i = 0; i < plan.command.nr; i++) {
		if (strcmp(plan.command.word[i], "-mprefer-vector-width=128") != 0)
			fprintf(out, strchr(plan.command.word[i], ' ') ? " [%s]" : " %s",
				plan.command.word[i]);
	}
	fputs(rc < 0 ? "" : "\n", out);
	CHECK(rc < 0 || !plan.command.word[plan.command.nr]);
	for (i = 0; i < plan.remarks.nr; i++)
		fprintf(out, " remark: %s\n", plan.remarks.word[i]);
	wrap_release(&plan);
	CHECK(!plan.command.word && !plan.remarks.nr);
	words_release(&args);
}

static const char *const for_both[] = {
	/* compile, preprocess, link */
	"-O2 -c a.c -o a.o",
	"-S a.cc",
	"-E a.c",
	"-M a.c",
	"-MM a.c",
	"-fsyntax-only a.c",
	"-c a.S",
	"-c a.h",
	"-c b.o",
	"-o a a.o lib.a -lm",
	"a.c b.o",
	"-",
	"a.c -",
	"dir.c/name",
	"dir.d/b.cpp",
	"a.C b.mm c.f90 d.go",
	"a.xyz",
	".c",
	"a.",
	"c",
	/* what options take as the next word */
	"-c -o out.c in.o",
	"-I include.c -D x.c x.o",
	"-Xlinker a.c b.o",
	"-o",
	"a.o -o",
	"-x c",
	"-x",
	"-x c file",
	"-xc file",
	"-xc file -xnone a.o",
	"-x none file.c",
	"-xc++ - -o a",
	"-l m.c a.o",
	"-rpath x.c a.o",
	"-T script.c a.o",
	"-u s.c a.o",
	"-isystem i.c b.o",
	/* questions about the compiler */
	"--version",
	"-dumpmachine a.c",
	"-print-search-dirs",
	"--print-file-name=x",
	"--help=target",
	"-### a.c",
	"-v",
	"-V a.c",
	"",
	"-versions a.c",
	"-print a.c",
	"--help",
	/* what is linked */
	"-shared a.o -o a.so",
	"-static a.o",
	"-static-pie a.o",
	"-shared -static a.o",
	"-r a.o",
	"-Wl,-r a.o",
	"-nostdlib a.o",
	"-nodefaultlibs a.o",
	"-nolibc a.o",
	"-nostdlib -static a.o",
	"-nostartfiles a.o",
	/* other instrumentation, and optimization when the program is linked */
	"-fsanitize=thread a.c",
	"-fsanitize=address,thread -c a.c",
	"-fsanitize=address a.c",
	"-flto a.c",
	"-flto=4 -c a.c",
	"-ltsan a.o",
	"a.o /usr/lib/libtsan.so.2 -ltsan",
	"-fuse-ld=gold a.o",
	"-fuse-ld=gold -c a.c",
	/* response files */
	"@words",
	"-c @words",
	"@nested",
	"@",
	"@none",
	"@loop",
	"-c @empty x.c",
	/* vectors */
	"-c wide.c",
	"wide64.c -c",
	"-c attribute.c",
	"-c intrinsics.c narrow.c",
	"narrow.c -c",
	"-x c wide.o",
};

static const char *const for_clang[] = {
	"--target=aarch64-linux-gnu -c a.c",
	"-target arm -c a.c",
	"--target arm -c a.c",
	"-c a.c -target",
};

static const char *const for_some[] = { "-c src/a.c",      "-c lib/a.c",   "-c x/src/a.c", "-c b.c",
					"src/a.c lib/c.c", "lib/c.c d.o",  "d.o",          "-c d.o",
					"-c wide.c",       "-c src/wide.c" };

static void compiler_files(void)
{
	char path[] = "/tmp/ct-compiler-XXXXXX";

	CHECK(mkdtemp(path));
	CHECK_EQ(chdir(path), 0);
	CHECK_EQ(mkdir("src", 0700), 0);
	compiler_file("words", "-O1 'a b.c'\n\t-DX=\"1 2\"  c\\ d.o\n-shared");
	compiler_file("nested", " @words -static @ x.c ");
	compiler_file("loop", "-g @loop");
	compiler_file("empty", "");
	compiler_file("wide.c", "int x; __m256 y;");
	compiler_file("src/wide.c", "__m256d v;");
	compiler_file("wide64.c", "__m512i y;");
	compiler_file("attribute.c", "typedef int v __attribute__((vector_size__(32)));");
	compiler_file("intrinsics.c", "f(_mm512_add_epi32(a, b));");
	compiler_file("narrow.c", "__m128 y; int v __attribute__((vector_size(16)));");
	compiler_file("wide.o", "__m256");
}

static void compiler_files_end(void)
{
	static const char *const names[] = { "words",       "nested",       "loop",    "empty",
					     "wide.c",      "src/wide.c",   "wide.o",  "wide64.c",
					     "attribute.c", "intrinsics.c", "narrow.c" };
	char path[64];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		CHECK_EQ(unlink(names[i]), 0);
	CHECK_EQ(rmdir("src"), 0);
	CHECK(getcwd(path, sizeof(path)));
	CHECK_EQ(chdir("/"), 0);
	CHECK_EQ(rmdir(path), 0);
}

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

static void commands_are_as_in_the_golden_file(void)
{
	char *only[] = { "src/*", "b.c" }, *text = NULL;
	struct wrap_setup some = gcc_setup;
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	CHECK(out);
	for (i = 0; i < COUNT(for_both); i++) {
		compiler_show(out, &gcc_setup, for_both[i]);
		compiler_show(out, &clang_setup, for_both[i]);
	}
	for (i = 0; i < COUNT(for_clang); i++)
		compiler_show(out, &clang_setup, for_clang[i]);
	some.only = only;
	some.nr_only = 2;
	fputs("\nonly src/* and b.c:\n\n", out);
	for (i = 0; i < COUNT(for_some); i++) {
		some.family = WRAP_GCC;
		compiler_show(out, &some, for_some[i]);
		some.family = WRAP_CLANG;
		compiler_show(out, &some, for_some[i]);
	}
	fclose(out);
	golden_check("compiler_commands.txt", text);
	free(text);
}

/* clang for this machine keeps the vectors of loops small, where it would use larger ones. */
static void vectors_of_loops_are_kept_small(void)
{
	static const struct {
		const char *line;
		bool is_for_this;
	} cases[] = { { "-c a.c", true },
		      { "-target arm -c a.c", false },
		      { "--target arm -c a.c", false },
		      { "--target=arm -c a.c", false },
		      { "-o --target=arm -c a.c", true } };
	struct wrap_plan plan;
	struct err err = { 0 };
	size_t i, k;

	for (i = 0; i < COUNT(cases); i++) {
		struct words args = { 0 };
		bool has = false, is_wanted = cases[i].is_for_this;

#if !defined(__x86_64__) && !defined(__i386__)
		is_wanted = false;
#endif
		compiler_split(&args, cases[i].line);
		CHECK_EQ(wrap_make(&clang_setup, args.word, args.nr, &plan, &err), 0);
		for (k = 0; k < plan.command.nr; k++)
			has |= !strcmp(plan.command.word[k], "-mprefer-vector-width=128");
		CHECK_EQ(has, is_wanted);
		wrap_release(&plan);
		words_release(&args);
	}
}

static void words_of_a_file_are_those_of_a_compiler(void)
{
	static const struct {
		const char *text, *words; /* each with a | after it */
	} cases[] = {
		{ "", "" },
		{ " \t\n ", "" },
		{ "a", "a|" },
		{ " a  b\n", "a|b|" },
		{ "'a b' \"c 'd'\" e'f'g", "a b|c 'd'|efg|" },
		{ "'a\"b' \"c\\\"d\"", "a\"b|c\"d|" },
		{ "a\\ b \\\\ c\\", "a b|\\|c\\|" },
		{ "'' x", "|x|" },
		{ "'open to the end", "open to the end|" },
		{ "@ a@b", "@|a@b|" },
	};
	size_t i, k;

	for (i = 0; i < COUNT(cases); i++) {
		struct words w = { 0 };
		struct err err = { 0 };
		char joined[256] = "";

		compiler_file("words", cases[i].text);
		CHECK_EQ(words_from_file(&w, "words", 0, &err), 0);
		for (k = 0; k < w.nr; k++)
			strcat(strcat(joined, w.word[k]), "|");
		CHECK_STR(joined, cases[i].words);
		CHECK(!w.failed);
		words_release(&w);
		CHECK(!w.word && !w.nr && !w.room);
	}
}

/* More than the first room for words, and more text than one reading takes. */
static void long_files_are_read_whole(void)
{
	struct words w = { 0 };
	struct err err = { 0 };
	char *text = NULL, expected[32];
	size_t size, i;
	FILE *out = open_memstream(&text, &size);

	for (i = 0; i < 20000; i++)
		fprintf(out, "w%zu ", i);
	fclose(out);
	compiler_file("words", text);
	free(text);
	CHECK_EQ(words_from_file(&w, "words", 0, &err), 0);
	CHECK_EQ(w.nr, 20000);
	for (i = 0; i < w.nr; i++) {
		snprintf(expected, sizeof(expected), "w%zu", i);
		CHECK_STR(w.word[i], expected);
	}
	CHECK(!w.word[w.nr]);
	words_release(&w);
}

static void files_may_name_files_to_a_limit(void)
{
	struct words w = { 0 };
	struct err err = { 0 };
	char name[16], text[32];
	int i;

	for (i = 0; i <= 17; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		snprintf(text, sizeof(text), i < 17 ? "@f%d" : "last", i + 1);
		compiler_file(name, text);
	}
	CHECK_EQ(words_from_file(&w, "f1", 0, &err), 0);
	CHECK_EQ(w.nr, 1);
	CHECK_STR(w.word[0], "last");
	CHECK(words_from_file(&w, "f0", 0, &err) < 0);
	CHECK_STR(err.text, "'f16' leads to itself");
	words_release(&w);
	for (i = 0; i <= 17; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		CHECK_EQ(unlink(name), 0);
	}
}

int main(void)
{
	compiler_files();
	RUN(commands_are_as_in_the_golden_file);
	RUN(vectors_of_loops_are_kept_small);
	RUN(words_of_a_file_are_those_of_a_compiler);
	RUN(long_files_are_read_whole);
	RUN(files_may_name_files_to_a_limit);
	compiler_files_end();
	return 0;
}
