/* SPDX-License-Identifier: MIT */
/*
 * compiler_command.c - turn a compiler command into one that builds a traced program.
 *
 * The user's words stay as they are; words are added.  Which ones depends on what the command does
 * (compile, preprocess, link, or none such as --version) and on what it links, so that words are
 * read as the compiler does, those of response files, too.  Nothing is run here.
 */
#include "compiler_command.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wide_vectors.h"

#if defined(__x86_64__) || defined(__i386__)
#define IS_X86 true
#else
#define IS_X86 false
#endif

struct command_facts {
	const struct wrap_setup *setup;
	struct words in;      /* the command, with the words of response files */
	const char *language; /* of the inputs that would follow: -x; NULL: by their names */
	size_t nr_inputs, nr_sources;
	size_t nr_wanted; /* sources that --only names */
	bool links, asks; /* neither: it compiles only */
	bool shared, is_static, relocatable, no_lib, lto;
	bool thread;         /* -fsanitize=thread was given */
	bool is_for_another; /* machine: --target */
	const char *wide;    /* a source with vectors that clang does not report; NULL: none */
};

/* Options whose argument is the next word. */
static const char with_argument[] =
	" -o -D -U -I -isystem -iquote -idirafter -include -imacros -iprefix -iwithprefix"
	" -iwithprefixbefore -isysroot -Xpreprocessor -Xassembler -Xclang -mllvm --param -aux-info"
	" -target --target --sysroot -B -arch -MT -MQ -MF -specs -dumpbase -dumpbase-ext -dumpdir"
	" -gcc-toolchain -A -G -imultilib -L -l -Xlinker -T -u -z -e -rpath -soname --entry"
	" -wrapper -undefined ";

/* Options of commands that do not link. */
static const char without_link[] = " -c -S -E -M -MM -fsyntax-only --precompile -emit-ast ";

/* Options that query the compiler; such a command is run unchanged. */
static const char queries[] = " --version -dumpversion -dumpmachine -dumpfullversion -dumpspecs"
			      " -### --help -V -qversion ";

/* Suffixes of files that are compiled. */
static const char sources[] = " c i ii cc cp cxx cpp CPP c++ C m mi mm M mii s S sx f F f90 F90 d"
			      " go adb ";

/* @list has a blank around each word. */
static bool wrap_one_of(const char *word, const char *list)
{
	size_t size = strlen(word);
	const char *at = list;

	while (size && (at = strstr(at, word))) {
		if (at[-1] == ' ' && at[size] == ' ')
			return !strchr(word, ' ');
		at++;
	}
	return false;
}

static bool wrap_has_prefix(const char *word, const char *with)
{
	return !strncmp(word, with, strlen(with));
}

static bool is_source(const char *word)
{
	const char *dot = strrchr(word, '.'), *slash = strrchr(word, '/');

	if (!strcmp(word, "-"))
		return true;
	return dot && (!slash || dot > slash) && wrap_one_of(dot + 1, sources);
}

/* True if --only names the source @path: the path as given, its end after a '/', or its name. */
static bool wrap_is_wanted(const struct wrap_setup *setup, const char *path)
{
	const char *end;
	size_t i;

	for (i = 0; i < setup->nr_only; i++) {
		for (end = path; end; end = strchr(end, '/') ? strchr(end, '/') + 1 : NULL) {
			if (fnmatch(setup->only[i], end, 0) == 0)
				return true;
		}
	}
	return setup->nr_only == 0;
}

static void wrap_note_source(struct command_facts *f, const char *path)
{
	f->nr_sources++;
	f->nr_wanted += wrap_is_wanted(f->setup, path);
	if (!f->wide && f->setup->family == WRAP_CLANG && source_has_wide_vectors(path))
		f->wide = path;
}

static void wrap_note_option(struct command_facts *f, const char *w)
{
	f->links = f->links && !wrap_one_of(w, without_link);
	f->asks = f->asks || wrap_one_of(w, queries) || wrap_has_prefix(w, "-print-") ||
		  wrap_has_prefix(w, "--print-") || wrap_has_prefix(w, "--help=");
	f->thread = f->thread || (wrap_has_prefix(w, "-fsanitize=") && strstr(w, "thread"));
	f->shared = f->shared || !strcmp(w, "-shared");
	f->is_static = f->is_static || !strcmp(w, "-static") || !strcmp(w, "-static-pie");
	f->relocatable = f->relocatable || !strcmp(w, "-r") || !strcmp(w, "-Wl,-r");
	f->no_lib = f->no_lib || wrap_one_of(w, " -nostdlib -nodefaultlibs -nolibc ");
	f->lto = f->lto || wrap_has_prefix(w, "-flto");
	f->is_for_another = f->is_for_another || wrap_has_prefix(w, "--target=");
}

/* Note the word at @i, and its argument if that is the next word.  Returns the next index. */
static size_t wrap_note_word(struct command_facts *f, size_t i)
{
	const char *w = f->in.word[i];
	bool more = i + 1 < f->in.nr;

	if (wrap_has_prefix(w, "-x") && (w[2] || more)) {
		f->language = w[2] ? w + 2 : f->in.word[i + 1];
		if (!strcmp(f->language, "none"))
			f->language = NULL;
		return i + (w[2] ? 1 : 2);
	}
	if (more && wrap_one_of(w, with_argument)) {
		f->is_for_another = f->is_for_another || wrap_one_of(w, " -target --target ");
		return i + 2;
	}
	if (w[0] == '-' && w[1]) {
		wrap_note_option(f, w);
		return i + 1;
	}
	f->nr_inputs++;
	if (f->language || is_source(w))
		wrap_note_source(f, w);
	return i + 1;
}

static int wrap_note_command(struct command_facts *f, char *const *args, size_t nr, struct err *err)
{
	size_t i;
	int rc;

	for (i = 0; i < nr; i++) {
		if (args[i][0] != '@' || !args[i][1]) {
			words_add(&f->in, args[i]);
			continue;
		}
		rc = words_from_file(&f->in, args[i] + 1, 0, err);
		if (rc < 0)
			return rc;
	}
	if (f->in.failed)
		return err_set(err, -ENOMEM, "no memory");
	for (i = 0; i < f->in.nr;)
		i = wrap_note_word(f, i);
	f->asks = f->asks || (f->links && !f->nr_inputs);
	return 0;
}

/*
 * Add the options for instrumentation.  Only the compiler proper gets -fsanitize=thread: its driver
 * would link ThreadSanitizer's own runtime, which silently takes precedence.
 */
static void wrap_instrument(const struct command_facts *s, struct words *out)
{
	const struct wrap_setup *setup = s->setup;
	static const char *const passes[] = { "-tsan-compound-read-before-write=1",
					      "-tsan-distinguish-volatile=1", NULL };
	size_t i;

	if (setup->family == WRAP_CLANG) {
		words_add(out, "-Xclang");
		words_add(out, "-fsanitize=thread");
		for (i = 0; passes[i]; i++) {
			words_add(out, "-mllvm");
			words_add(out, passes[i]);
		}
		/* clang reports no access of more than 16 bytes: no larger vectors of loops. */
		if (IS_X86 && !s->is_for_another)
			words_add(out, "-mprefer-vector-width=128");
	} else {
		words_add(out, "-specs");
		words_join(out, setup->libdir, "/cacheray.specs");
	}
	if (setup->includedir) {
		words_add(out, "-idirafter");
		words_add(out, setup->includedir);
	}
}

static void wrapped_calls(const struct command_facts *s, struct words *out)
{
	static const char *const copies[] = {
		"memcpy", "memmove", "memset", "__memcpy_chk", "__memmove_chk", "__memset_chk", NULL
	};
	static const char *const heap[] = { "malloc",        "calloc",         "realloc",
					    "free",          "reallocarray",   "memalign",
					    "aligned_alloc", "posix_memalign", NULL };
	const char *const *names = s->is_static && !s->shared ? heap : copies;
	size_t i;

	for (i = 0; names[i]; i++)
		words_join(out, "-Wl,--wrap=", names[i]);
}

/* Add the runtime and its linker options. */
static void wrap_runtime(const struct command_facts *s, struct words *out)
{
	static const char *const wanted[] = {
		"__tsan_read1",   "__tsan_atomic8_load", "__tsan_memcpy",  "__tsan_acquire",
		"cacheray_start", "cacheray_rtta_add",   "free",           "_exit",
		"crt_heap_hooks", "crt_operator_hooks",  "crt_exit_hooks", NULL
	};
	const char *libdir = s->setup->libdir;
	size_t i;

	if (s->relocatable || s->no_lib)
		return;
	if (s->language) { /* the libraries are not of that language */
		words_add(out, "-x");
		words_add(out, "none");
	}
	if (s->is_static && !s->shared) {
		/* The copies of libc, which is linked in, would be traced as well. */
		wrapped_calls(s, out);
		words_add(out, "-Wl,-u,__wrap_malloc"); /* libraries that follow use it */
		words_join(out, libdir, "/libcacheray_heap.a");
		words_join(out, libdir, "/libcacheray.a");
		words_add(out, "-lpthread");
		return;
	}
	wrapped_calls(s, out);
	if (s->shared) {
		words_join(out, libdir, "/libcacheray_wrap.a");
		words_join(out, libdir, "/libcacheray.so");
		words_join(out, "-Wl,-rpath,", libdir);
		return;
	}
	/* Symbols that a library loaded later may call, and the interposed libc functions. */
	for (i = 0; wanted[i]; i++)
		words_join(out, "-Wl,-u,", wanted[i]);
	words_add(out, "-Wl,--export-dynamic-symbol=__tsan_*");
	words_add(out, "-Wl,--export-dynamic-symbol=cacheray_*");
	words_add(out, "-Wl,--export-dynamic-symbol=__cacheray_*");
	words_join(out, libdir, "/libcacheray_hooks.a");
	words_join(out, libdir, "/libcacheray.a");
	words_add(out, "-lpthread");
	words_add(out, "-ldl");
}

static void link_remarks(const struct command_facts *s, struct words *remarks)
{
	size_t i;

	if (s->lto && s->setup->family == WRAP_GCC)
		words_add(remarks, "-flto is switched off: gcc would compile again when it "
				   "links, without the instrumentation");
	if (s->thread)
		words_add(remarks, "-fsanitize=thread is left out when linking: it would "
				   "bring ThreadSanitizer's "
				   "own runtime, and there would be no trace");
	for (i = 0; i < s->in.nr; i++) {
		if (strstr(s->in.word[i], "libtsan") || !strcmp(s->in.word[i], "-ltsan")) {
			words_add(remarks, "the command links libtsan: it may win over our "
					   "runtime, and then there is no trace");
			break;
		}
	}
	for (i = 0; i < s->in.nr; i++) {
		if (!strcmp(s->in.word[i], "-fuse-ld=gold"))
			words_add(remarks,
				  "gold also replaces the calls of shared libraries, and does "
				  "not find what replaces them: use -fuse-ld=bfd, lld or mold");
	}
	if (s->relocatable || s->no_lib)
		words_add(remarks, "without the standard libraries there is no runtime either: "
				   "add it where the program is linked");
	else if (s->is_static && !s->shared)
		words_add(remarks,
			  "-static: memcpy and its like are not seen, and a trace that the program "
			  "writes alone is not compressed");
}

static void compile_remarks(const struct command_facts *s, struct words *remarks)
{
	if (s->nr_wanted && s->nr_wanted < s->nr_sources)
		words_add(remarks, "--only names some of the sources of one command: all of them "
				   "are instrumented");
	if (s->wide && s->nr_wanted)
		words_join(remarks,
			   "clang does not report accesses of vectors of 32 and 64 bytes, which "
			   "gcc does: they are missing in the trace of ",
			   s->wide);
}

static void wrap_add_words(const struct command_facts *s, struct words *out)
{
	if (s->nr_wanted || (!s->links && !s->nr_sources))
		wrap_instrument(s, out);
	/* With LTO, gcc compiles again when it links, without the instrumentation. */
	if (s->setup->family == WRAP_GCC)
		words_add(out, "-fno-lto");
	if (s->thread)
		words_add(out, "-fno-sanitize=thread"); /* for the driver */
	if (s->links)
		wrap_runtime(s, out);
}

int wrap_make(const struct wrap_setup *setup, char *const *args, size_t nr, struct wrap_plan *plan,
	      struct err *err)
{
	struct command_facts s = { .setup = setup, .links = true };
	int rc = wrap_note_command(&s, args, nr, err);

	*plan = (struct wrap_plan){ 0 };
	if (rc == 0) {
		words_add(&plan->command, setup->compiler);
		words_add_all(&plan->command, args, nr);
		if (!s.asks)
			wrap_add_words(&s, &plan->command);
		if (!s.asks && s.links)
			link_remarks(&s, &plan->remarks);
		if (!s.asks)
			compile_remarks(&s, &plan->remarks);
		if (plan->command.failed || plan->remarks.failed)
			rc = err_set(err, -ENOMEM, "no memory");
	}
	words_release(&s.in);
	if (rc < 0)
		wrap_release(plan);
	return rc;
}

void wrap_release(struct wrap_plan *plan)
{
	words_release(&plan->command);
	words_release(&plan->remarks);
}
