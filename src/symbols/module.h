/* SPDX-License-Identifier: MIT */
/*
 * module.h - one file that a traced process had mapped: its ELF and DWARF, if the file is
 * unchanged.
 *
 * The trace gives the mapped address and the build-id; the file, or a separate debug file found by
 * build-id, gives the rest.
 */
#ifndef SYMBOLS_MODULE_H
#define SYMBOLS_MODULE_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct Dwfl;
struct Dwfl_Module;

struct symbol_module {
	uint64_t pid;
	uint64_t start, end;
	uint64_t offset; /* file offset of start; used if the bias is unknown */
	bool has_bias;
	uint64_t bias;        /* address in the process = address in the file + bias */
	const char *path;     /* as the process sees it */
	const char *build_id; /* in hexadecimal; NULL: the file has none, or it could not be read */
};

enum module_state {
	MODULE_UNTRIED,
	MODULE_READY,
	MODULE_NO_FILE,     /* the file no longer exists */
	MODULE_OTHER_BUILD, /* the file is another build */
	MODULE_NO_ELF,      /* not readable as ELF */
	MODULE_DAMAGED,     /* the process that read it crashed */
};

struct module_file {
	struct symbol_module module; /* its strings are copies */
	char *real_path;             /* name of the file, if module.path is another; or NULL */
	enum module_state state;
	struct Dwfl *dwfl;
	struct Dwfl_Module *dwfl_module;
	struct symbol_spans *spans; /* for module_file_symbol(); NULL: not needed yet */
};

#define MODULE_WATCH_PATH 4096
#define MODULE_WATCH_MAX  8

/*
 * Shared memory between a process that reads modules and the process that watches it.  Both the
 * files and the libraries that read them are untrusted.
 */
struct module_watch {
	char reading[MODULE_WATCH_PATH]; /* the module used last; "": none */
	unsigned nr_damaged;
	char damaged[MODULE_WATCH_MAX][MODULE_WATCH_PATH]; /* not to be opened again */
};

/* Record in @watch which module is in use from now on; NULL: no watching process. */
void module_set_watch(struct module_watch *watch);

/*
 * Also search debug files in @dir: by build-id, by debug link, and as NAME, NAME.debug with the
 * same build-id.  @dir must stay valid.
 */
void module_set_debug_dir(const char *dir);

/* 0 or -ENOMEM. */
int module_file_init(struct module_file *f, const struct symbol_module *module);

/* Opens the file at the first call; true if it can be used. */
bool module_file_ready(struct module_file *f);

/* The symbol at @addr in the process, as dwfl_module_addrinfo(); @f is ready.  NULL: none. */
const char *module_file_symbol(struct module_file *f, uint64_t addr, uint64_t *offset,
			       GElf_Sym *sym);

/*
 * The separate debug file that would be used for @f, which is ready, and can only be released after
 * it: a descriptor for the caller to close, or -1.  *@name: its name, from malloc(); or NULL.
 */
int module_find_debug_file(struct module_file *f, char **name);

/* True if the file has the build-id @wanted, in hexadecimal; NULL: there is nothing to compare. */
bool module_same_build(struct Dwfl_Module *module, const char *wanted);

/* "is not there any more", for example. */
const char *module_state_words(enum module_state state);

void module_file_release(struct module_file *f);

#endif
