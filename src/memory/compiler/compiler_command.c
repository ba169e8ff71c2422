/* SPDX-License-Identifier: MIT */
/*
 * compiler_command.c - translate a compiler command into commands that build a traced program.
 *
 * Steps: read response files, classify words (an input, an option, an option's argument), find
 * the goal of the command (compile, preprocess, link, or none such as --version), and generate
 * the new commands.  Nothing is run here.
 */
#include "compiler_command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum goal {
	GOAL_LINK,
	GOAL_COMPILE, /* -c, -S, -E, -M: one command without linking */
	GOAL_ASK      /* --version and similar: unchanged */
};

/* The class of one word of the command. */
enum argument_kind {
	W_OPTION,  /* for compiling and for linking */
	W_LINK,    /* for linking only */
	W_COMPILE, /* for compiling only */
	W_SOURCE,  /* an input that has to be compiled */
	W_OBJECT,  /* an input of the linker */
	W_OUTPUT,  /* -o and its argument */
	W_GOAL,    /* -c and so on: not passed on when a command is split */
	W_LEFT_OUT /* -fsanitize=thread: removed when linking */
};

struct sorted {
	const struct wrap_setup *setup;
	struct words in;
	enum argument_kind *kind; /* of each word */
	const char **language;    /* -x of each source, or NULL */
	const char *output;       /* NULL: none */
	enum goal goal;
	size_t nr_sources, nr_inputs;
	bool shared, is_static, relocatable, no_lib, dep_file, dep;
	bool thread; /* -fsanitize=thread was given */
};

/* Options whose argument is the next word: for compiling and linking, and for linking only. */
static const char *const both_with[] = { "-D",
					 "-U",
					 "-I",
					 "-isystem",
					 "-iquote",
					 "-idirafter",
					 "-include",
					 "-imacros",
					 "-iprefix",
					 "-iwithprefix",
					 "-iwithprefixbefore",
					 "-isysroot",
					 "-Xpreprocessor",
					 "-Xassembler",
					 "-Xclang",
					 "-mllvm",
					 "--param",
					 "-aux-info",
					 "-target",
					 "--target",
					 "--sysroot",
					 "-B",
					 "-arch",
					 "-MT",
					 "-MQ",
					 "-MF",
					 "-specs",
					 "-dumpbase",
					 "-dumpbase-ext",
					 "-dumpdir",
					 "-gcc-toolchain",
					 "-A",
					 "-G",
					 "-imultilib",
					 NULL };
static const char *const link_with[] = { "-L",       "-l",         "-Xlinker", "-T",      "-u",
					 "-z",       "-e",         "-rpath",   "-soname", "--entry",
					 "-wrapper", "-undefined", NULL };

static bool wrap_one_of(const char *word, const char *const *list)
{
	for (; *list; list++) {
		if (!strcmp(word, *list))
			return true;
	}
	return false;
}

static bool wrap_has_prefix(const char *word, const char *with)
{
	return !strncmp(word, with, strlen(with));
}

static bool is_source(const char *word)
{
	static const char *const suffixes[] = { "c",   "i",   "ii", "cc",  "cp", "cxx", "cpp",
						"CPP", "c++", "C",  "m",   "mi", "mm",  "M",
						"mii", "s",   "S",  "sx",  "f",  "F",   "f90",
						"F90", "d",   "go", "adb", NULL };
	const char *dot = strrchr(word, '.'), *slash = strrchr(word, '/');

	if (!strcmp(word, "-"))
		return true;
	return dot && (!slash || dot > slash) && wrap_one_of(dot + 1, suffixes);
}

/* Options that query the compiler; such a command is run unchanged. */
static bool wrap_has_option(const char *w)
{
	static const char *const words[] = { "--version",
					     "-dumpversion",
					     "-dumpmachine",
					     "-dumpfullversion",
					     "-dumpspecs",
					     "-###",
					     "--help",
					     "-v",
					     "-V",
					     "-qversion",
					     NULL };

	return wrap_one_of(w, words) || wrap_has_prefix(w, "-print-") ||
	       wrap_has_prefix(w, "--print-") || wrap_has_prefix(w, "--help=");
}

static bool for_linker(const char *w)
{
	static const char *const words[] = { "-shared",
					     "-static",
					     "-static-pie",
					     "-pie",
					     "-no-pie",
					     "-rdynamic",
					     "-r",
					     "-nostdlib",
					     "-nodefaultlibs",
					     "-nostartfiles",
					     "-nolibc",
					     "-static-libgcc",
					     "-static-libstdc++",
					     "-shared-libgcc",
					     "-s",
					     "-symbolic",
					     NULL };

	return wrap_one_of(w, words) || wrap_has_prefix(w, "-Wl,") || wrap_has_prefix(w, "-l") ||
	       wrap_has_prefix(w, "-L") || wrap_has_prefix(w, "-fuse-ld=");
}

/* Classify one option and note its effect on the goal. */
static enum argument_kind wrap_option(struct sorted *s, const char *w)
{
	if (!strcmp(w, "-c") || !strcmp(w, "-S") || !strcmp(w, "-E") || !strcmp(w, "-M") ||
	    !strcmp(w, "-MM") || !strcmp(w, "-fsyntax-only") || !strcmp(w, "--precompile") ||
	    !strcmp(w, "-emit-ast")) {
		s->goal = GOAL_COMPILE;
		return W_GOAL;
	}
	if (wrap_has_prefix(w, "-fsanitize=") && strstr(w, "thread")) {
		s->thread = true;
		return W_LEFT_OUT;
	}
	s->dep = s->dep || !strcmp(w, "-MD") || !strcmp(w, "-MMD");
	s->dep_file = s->dep_file || wrap_has_prefix(w, "-MF");
	s->shared = s->shared || !strcmp(w, "-shared");
	s->is_static = s->is_static || !strcmp(w, "-static") || !strcmp(w, "-static-pie");
	s->relocatable = s->relocatable || !strcmp(w, "-r") || !strcmp(w, "-Wl,-r");
	s->no_lib = s->no_lib || !strcmp(w, "-nostdlib") || !strcmp(w, "-nodefaultlibs") ||
		    !strcmp(w, "-nolibc");
	if (for_linker(w))
		return W_LINK;
	return wrap_has_prefix(w, "-M") || wrap_has_prefix(w, "-Wp,") ? W_COMPILE : W_OPTION;
}

/* Classify the word at @i, and its argument if that is the next word.  Returns the next index. */
static size_t sort_one(struct sorted *s, size_t i, const char **language)
{
	const char *w = s->in.word[i];
	bool more = i + 1 < s->in.nr;

	if (!strcmp(w, "-o") && more) {
		s->kind[i] = s->kind[i + 1] = W_OUTPUT;
		s->output = s->in.word[i + 1];
		return i + 2;
	}
	if (w[0] == '-' && w[1] == 'o' && w[2]) { /* -ofile: no option starts with -o */
		s->kind[i] = W_OUTPUT;
		s->output = w + 2;
		return i + 1;
	}
	if (wrap_has_prefix(w, "-x") && (w[2] || more)) {
		*language = w[2] ? w + 2 : s->in.word[i + 1];
		if (!strcmp(*language, "none"))
			*language = NULL;
		s->kind[i] = W_COMPILE;
		if (!w[2])
			s->kind[i + 1] = W_COMPILE;
		return i + (w[2] ? 1 : 2);
	}
	if (more && (wrap_one_of(w, both_with) || wrap_one_of(w, link_with))) {
		s->kind[i] = s->kind[i + 1] = wrap_one_of(w, link_with)  ? W_LINK
					      : wrap_has_prefix(w, "-M") ? W_COMPILE
									 : W_OPTION;
		s->dep_file = s->dep_file || !strcmp(w, "-MF");
		return i + 2;
	}
	if (w[0] == '-' && w[1]) {
		s->kind[i] = wrap_option(s, w);
		return i + 1;
	}
	s->kind[i] = *language || is_source(w) ? W_SOURCE : W_OBJECT;
	s->language[i] = *language;
	s->nr_inputs++;
	s->nr_sources += s->kind[i] == W_SOURCE;
	return i + 1;
}

static int wrap_sort(struct sorted *s, char *const *args, size_t nr, struct err *err)
{
	const char *language = NULL;
	size_t i;
	int rc;

	for (i = 0; i < nr; i++) {
		if (args[i][0] != '@' || !args[i][1]) {
			words_add(&s->in, args[i]);
			continue;
		}
		rc = words_from_file(&s->in, args[i] + 1, 0, err);
		if (rc < 0)
			return rc;
	}
	s->kind = calloc(s->in.nr + 1, sizeof(*s->kind));
	s->language = calloc(s->in.nr + 1, sizeof(*s->language));
	if (s->in.failed || !s->kind || !s->language)
		return err_set(err, -ENOMEM, "no memory");
	for (i = 0; i < s->in.nr;)
		i = sort_one(s, i, &language);
	if (s->goal == GOAL_LINK && s->nr_inputs == 0)
		s->goal = GOAL_ASK;
	for (i = 0; i < s->in.nr; i++) {
		if (s->kind[i] == W_OPTION && wrap_has_option(s->in.word[i]) &&
		    strcmp(s->in.word[i], "-v") != 0)
			s->goal = GOAL_ASK;
	}
	return 0;
}

/* Add the options for instrumentation. */
static void wrap_instrument(const struct wrap_setup *setup, struct words *out)
{
	words_add(out, "-fsanitize=thread");
	if (setup->family == WRAP_CLANG) {
		static const char *const passes[] = { "-tsan-instrument-func-entry-exit=0",
						      "-tsan-compound-read-before-write=1",
						      "-tsan-distinguish-volatile=1", NULL };
		size_t i;

		for (i = 0; passes[i]; i++) {
			words_add(out, "-mllvm");
			words_add(out, passes[i]);
		}
	} else {
		words_add(out, "--param=tsan-instrument-func-entry-exit=0");
		words_add(out, "--param=tsan-distinguish-volatile=1");
		/* With LTO, gcc compiles again when it links, without the instrumentation. */
		words_add(out, "-fno-lto");
	}
	if (setup->includedir) {
		words_add(out, "-idirafter");
		words_add(out, setup->includedir);
	}
}

static void wrapped_calls(struct words *out)
{
	static const char *const names[] = {
		"memcpy", "memmove", "memset", "__memcpy_chk", "__memmove_chk", "__memset_chk", NULL
	};
	size_t i;

	for (i = 0; names[i]; i++)
		words_join(out, "-Wl,--wrap=", names[i]);
}

/* Add the runtime and its linker options. */
static void wrap_runtime(const struct sorted *s, struct words *out)
{
	static const char *const wanted[] = { "__tsan_read1",
					      "__tsan_atomic8_load",
					      "__tsan_memcpy",
					      "__tsan_acquire",
					      "cacheray_start",
					      "cacheray_rtta_add",
					      "free",
					      "_exit",
					      NULL };
	const char *libdir = s->setup->libdir;
	size_t i;

	if (s->relocatable || s->no_lib)
		return;
	if (s->is_static && !s->shared) { /* libc is linked in and would be traced as well */
		words_join(out, libdir, "/libcacheray.a");
		words_add(out, "-lpthread");
		return;
	}
	wrapped_calls(out);
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

/* Add the sanitizers other than thread, if there are any. */
static void other_sanitizers(const char *option, struct words *out)
{
	char rest[256] = "-fsanitize=", *copy = strdup(strchr(option, '=') + 1), *at = copy, *one;
	size_t used = strlen(rest), nr = 0;

	while (copy && (one = strsep(&at, ","))) {
		if (strcmp(one, "thread") != 0 && used + strlen(one) + 2 < sizeof(rest))
			used += (size_t)snprintf(rest + used, sizeof(rest) - used, "%s%s",
						 nr++ ? "," : "", one);
	}
	free(copy);
	if (nr)
		words_add(out, rest);
}

static struct words *new_command(struct wrap_plan *plan, const struct wrap_setup *setup)
{
	struct words *more = reallocarray(plan->commands, plan->nr + 1, sizeof(*more));

	if (!more)
		return NULL;
	plan->commands = more;
	more[plan->nr] = (struct words){ 0 };
	words_add(&more[plan->nr], setup->compiler);
	return &more[plan->nr++];
}

/*
 * With -MD, a split command would derive the dependency file's name from the temporary object:
 * set -MF to the name that the user expects.
 */
static void wrap_dependencies(const struct sorted *s, const char *source, struct words *out)
{
	const char *name = s->output ? s->output : source, *slash = strrchr(source, '/');
	char path[4096], *dot;

	if (!s->dep || s->dep_file)
		return;
	if (s->output && s->nr_sources > 1)
		snprintf(path, sizeof(path), "%s-%s", name, slash ? slash + 1 : source);
	else
		snprintf(path, sizeof(path), "%s", s->output || !slash ? name : slash + 1);
	dot = strrchr(path, '.');
	if (dot && !strchr(dot, '/'))
		*dot = '\0';
	words_add(out, "-MF");
	words_join(out, path, ".d");
}

/* Compile one source of a command that also links; the output is a temporary object. */
static bool compile_part(const struct sorted *s, size_t at, const char *object,
			 struct wrap_plan *plan)
{
	struct words *c = new_command(plan, s->setup);
	size_t i;

	if (!c)
		return false;
	for (i = 0; i < s->in.nr; i++) {
		if (s->kind[i] == W_OPTION ||
		    (s->kind[i] == W_COMPILE && !wrap_has_prefix(s->in.word[i], "-x") &&
		     !(i && !strcmp(s->in.word[i - 1], "-x"))))
			words_add(c, s->in.word[i]);
	}
	wrap_instrument(s->setup, c);
	wrap_dependencies(s, s->in.word[at], c);
	if (s->language[at]) {
		words_add(c, "-x");
		words_add(c, s->language[at]);
	}
	words_add(c, "-c");
	words_add(c, s->in.word[at]);
	words_add(c, "-o");
	words_add(c, object);
	return true;
}

static void link_remarks(const struct sorted *s, struct wrap_plan *plan)
{
	bool lto = false;
	size_t i;

	for (i = 0; i < s->in.nr; i++)
		lto = lto ||
		      (wrap_has_prefix(s->in.word[i], "-flto") && s->setup->family == WRAP_GCC);
	if (lto)
		words_add(&plan->remarks, "-flto is switched off: gcc would compile again when it "
					  "links, without the instrumentation");
	if (s->thread)
		words_add(&plan->remarks, "-fsanitize=thread is left out when linking: it would "
					  "bring ThreadSanitizer's "
					  "own runtime, and there would be no trace");
	for (i = 0; i < s->in.nr; i++) {
		if (strstr(s->in.word[i], "libtsan") || !strcmp(s->in.word[i], "-ltsan"))
			words_add(&plan->remarks, "the command links libtsan: it may win over our "
						  "runtime, and then there is no trace");
	}
	if (s->relocatable || s->no_lib)
		words_add(&plan->remarks,
			  "without the standard libraries there is no runtime either: "
			  "add it where the program is linked");
	else if (s->is_static && !s->shared)
		words_add(&plan->remarks,
			  "-static: memcpy and its like are not seen, free() takes no annotation "
			  "with "
			  "it, and a trace that the program writes alone is not compressed");
}

/* Generate the link command with @objects in place of the sources. */
static bool link_part(const struct sorted *s, const struct words *objects, struct wrap_plan *plan)
{
	struct words *c = new_command(plan, s->setup);
	size_t i, next = 0;

	if (!c)
		return false;
	for (i = 0; i < s->in.nr; i++) {
		switch (s->kind[i]) {
		case W_SOURCE:
			words_add(c, objects->word[next++]);
			break;
		case W_COMPILE:
		case W_GOAL:
			break;
		case W_LEFT_OUT:
			other_sanitizers(s->in.word[i], c);
			break;
		default:
			words_add(c, s->in.word[i]);
			break;
		}
	}
	if (s->setup->family == WRAP_GCC)
		words_add(c, "-fno-lto");
	wrap_runtime(s, c);
	link_remarks(s, plan);
	return true;
}

static bool make_link(const struct sorted *s, struct wrap_plan *plan)
{
	struct words objects = { 0 };
	char name[4096];
	size_t i;
	bool good = true;

	plan->needs_tmpdir = s->nr_sources > 0;
	for (i = 0; good && i < s->in.nr; i++) {
		const char *slash;

		if (s->kind[i] != W_SOURCE)
			continue;
		slash = strrchr(s->in.word[i], '/');
		snprintf(name, sizeof(name), "%s/%zu-%.200s.o", s->setup->tmpdir, objects.nr,
			 slash ? slash + 1 : s->in.word[i]);
		words_add(&objects, name);
		good = compile_part(s, i, name, plan);
	}
	good = good && !objects.failed && link_part(s, &objects, plan);
	words_release(&objects);
	return good;
}

/* Generate one command with the user's arguments, and instrumentation if it compiles. */
static bool make_simple(const struct sorted *s, bool compile, struct wrap_plan *plan)
{
	struct words *c = new_command(plan, s->setup);

	if (!c)
		return false;
	words_add_all(c, s->in.word, s->in.nr);
	if (compile)
		wrap_instrument(s->setup, c);
	return true;
}

int wrap_make(const struct wrap_setup *setup, char *const *args, size_t nr, struct wrap_plan *plan,
	      struct err *err)
{
	struct sorted s = { .setup = setup };
	int rc = wrap_sort(&s, args, nr, err);
	bool good = true;
	size_t i;

	*plan = (struct wrap_plan){ 0 };
	if (rc == 0) {
		if (s.goal == GOAL_LINK)
			good = make_link(&s, plan);
		else
			good = make_simple(&s, s.goal == GOAL_COMPILE, plan);
		for (i = 0; i < plan->nr; i++)
			good = good && !plan->commands[i].failed;
		if (!good || plan->remarks.failed)
			rc = err_set(err, -ENOMEM, "no memory");
	}
	words_release(&s.in);
	free(s.kind);
	free(s.language);
	if (rc < 0)
		wrap_release(plan);
	return rc;
}

void wrap_release(struct wrap_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nr; i++)
		words_release(&plan->commands[i]);
	free(plan->commands);
	words_release(&plan->remarks);
	*plan = (struct wrap_plan){ 0 };
}
