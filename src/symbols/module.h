/* SPDX-License-Identifier: MIT */
/*
 * module.h - one file that a traced process had mapped: its ELF and DWARF, if it is still that
 * file.
 *
 * The trace tells where it was mapped and its build-id; the file, or a separate file of debug
 * information that the build-id leads to, has the rest.
 */
#ifndef SYMBOLS_MODULE_H
#define SYMBOLS_MODULE_H

#include <stdbool.h>
#include <stdint.h>

struct Dwfl;
struct Dwfl_Module;

struct symbol_module {
	uint64_t pid;
	uint64_t start, end;
	uint64_t offset; /* in the file, of start; where the bias is not known */
	bool has_bias;
	uint64_t bias;        /* address in the process = address in the file + bias */
	const char *path;     /* as the process saw it */
	const char *build_id; /* in hexadecimal; NULL: it has none, or it could not be read */
};

enum module_state {
	MODULE_UNTRIED,
	MODULE_READY,
	MODULE_NO_FILE,     /* not there any more */
	MODULE_OTHER_BUILD, /* another build by now */
	MODULE_NO_ELF,      /* nothing that can be read */
	MODULE_DAMAGED,     /* reading it ended the process that did */
};

struct module_file {
	struct symbol_module module; /* its strings are copies */
	enum module_state state;
	struct Dwfl *dwfl;
	struct Dwfl_Module *dwfl_module;
};

#define MODULE_WATCH_PATH 4096
#define MODULE_WATCH_MAX  8

/*
 * Between a process that reads modules and the one that watches it, in memory that both have.
 * Files are not to be trusted, and neither are the libraries that read them.
 */
struct module_watch {
	char reading[MODULE_WATCH_PATH]; /* the module that was used last; "": none */
	unsigned nr_damaged;
	char damaged[MODULE_WATCH_MAX][MODULE_WATCH_PATH]; /* are not to be opened */
};

/* Tell @watch which module is used from now on; NULL: nobody watches. */
void module_set_watch(struct module_watch *watch);

/* 0 or -ENOMEM. */
int module_file_init(struct module_file *f, const struct symbol_module *module);

/* Opens it at the first call; true if it can be used. */
bool module_file_ready(struct module_file *f);

/* "is not there any more" ... */
const char *module_state_words(enum module_state state);

void module_file_release(struct module_file *f);

#endif
