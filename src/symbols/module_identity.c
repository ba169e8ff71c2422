/* SPDX-License-Identifier: MIT */
/* module_identity.c - which files the symbols and the DWARF of a module come from. */
#include "symbols/module_identity.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BUILD_ID_MAX 64 /* bytes; more than any linker writes */

/* ---- the file and its debug file ------------------------------------------------ */

struct module_sections {
	bool has_symbols, has_dwarf, has_third_file;
};

static bool module_read_sections(Elf *elf, struct module_sections *out)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names) != 0)
		return false;
	while ((section = elf_nextscn(elf, section))) {
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name)
			continue;
		out->has_symbols = out->has_symbols || header.sh_type == SHT_SYMTAB;
		out->has_dwarf = out->has_dwarf || !strcmp(name, ".debug_info") ||
				 !strcmp(name, ".zdebug_info");
		out->has_third_file = out->has_third_file || !strcmp(name, ".gnu_debugaltlink");
	}
	return true;
}

/*
 * Build-id, size and time of modification are under the control of the file's owner: the program of
 * another user must not get the entry of this one.  No user can set the change time of an inode.
 */
static uint64_t identity_add_stat(uint64_t hash, const struct stat *st)
{
	int64_t values[] = { (int64_t)st->st_dev,          (int64_t)st->st_ino,
			     (int64_t)st->st_size,         (int64_t)st->st_mtim.tv_sec,
			     (int64_t)st->st_mtim.tv_nsec, (int64_t)st->st_ctim.tv_sec,
			     (int64_t)st->st_ctim.tv_nsec };

	return index_hash(hash, values, sizeof(values));
}

/* Add the debug file @fd with that name; -1: there is none. */
static bool identity_add_file(int fd, const char *name, uint64_t *hash)
{
	struct module_sections sections = { 0 };
	struct stat st;
	Elf *elf;
	bool is_good;

	if (fd < 0)
		return true;
	elf = elf_begin(fd, ELF_C_READ, NULL);
	is_good = fstat(fd, &st) == 0 && module_read_sections(elf, &sections) &&
		  !sections.has_third_file;
	elf_end(elf);
	*hash = index_hash(*hash, name ? name : "", name ? strlen(name) : 0);
	if (is_good)
		*hash = identity_add_stat(*hash, &st);
	return is_good;
}

/*
 * The search leaves an ELF handle in the module whose descriptor libdwfl does not know yet: it
 * takes it for 0 and closes that, our standard input.
 */
static void identity_release_probe(struct module_file *probe)
{
	int input = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);

	module_file_release(probe);
	if (input < 0)
		return;
	dup2(input, STDIN_FILENO);
	close(input);
}

/*
 * Add the debug file that libdwfl would use.  Searching it changes the module in a way that only
 * libdwfl can go on from: the search uses a module of its own.
 */
static bool identity_add_debug_file(const struct module_file *f, uint64_t *hash)
{
	struct module_file probe;
	char *name = NULL;
	bool is_good;
	int fd = -1;

	if (module_file_init(&probe, &f->module) < 0)
		return false;
	probe.real_path = f->real_path ? strdup(f->real_path) : NULL;
	is_good = (probe.real_path || !f->real_path) && module_file_ready(&probe);
	if (is_good)
		fd = module_find_debug_file(&probe, &name);
	is_good = is_good && identity_add_file(fd, name, hash);
	identity_release_probe(&probe);
	if (fd >= 0)
		close(fd);
	free(name);
	return is_good;
}

static bool identity_build_id(struct module_file *f, char hex[2 * BUILD_ID_MAX + 1])
{
	const unsigned char *bits;
	GElf_Addr ignored;
	int size = dwfl_module_build_id(f->dwfl_module, &bits, &ignored), i;

	if (size < 8 || size > BUILD_ID_MAX)
		return false;
	for (i = 0; i < size; i++)
		snprintf(hex + (size_t)i * 2, 3, "%02x", bits[i]);
	return true;
}

bool module_entry_name(struct module_file *f, char name[INDEX_CACHE_NAME_MAX])
{
	struct module_sections sections = { 0 };
	char build_id[2 * BUILD_ID_MAX + 1];
	uint64_t hash = INDEX_HASH_START;
	GElf_Addr bias;
	struct stat st;

	if (!f->module.build_id || !identity_build_id(f, build_id) ||
	    stat(f->module.path, &st) != 0 ||
	    !module_read_sections(dwfl_module_getelf(f->dwfl_module, &bias), &sections) ||
	    sections.has_third_file)
		return false;
	hash = identity_add_stat(hash, &st);
	if ((!sections.has_symbols || !sections.has_dwarf) && !identity_add_debug_file(f, &hash))
		return false;
	snprintf(name, INDEX_CACHE_NAME_MAX, "%s-%016llx.index", build_id,
		 (unsigned long long)hash);
	return true;
}

/* ---- split DWARF ------------------------------------------------------------------ */

bool module_companion_add(struct module_companions *list, const struct module_companion *one)
{
	if (list->nr == list->room) {
		size_t room = list->room ? list->room * 2 : 16;
		struct module_companion *more = reallocarray(list->at, room, sizeof(*more));

		if (!more)
			return false;
		list->at = more;
		list->room = room;
	}
	if (list->nr == MODULE_COMPANIONS_MAX)
		return false;
	list->at[list->nr] = *one;
	list->at[list->nr].path = strdup(one->path);
	return list->at[list->nr++].path != NULL;
}

static void companion_look(const char *path, struct module_companion *out)
{
	struct stat st;

	*out = (struct module_companion){ .path = out->path, .size = UINT64_MAX };
	if (stat(path, &st) != 0)
		return;
	out->size = (uint64_t)st.st_size;
	out->mtime_s = (int64_t)st.st_mtim.tv_sec;
	out->mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
}

static bool companion_find(struct module_companions *list, const char *dir, const char *name)
{
	struct module_companion one = { 0 };
	char *path = NULL;
	bool ok;

	if (name[0] == '/' || !dir || !dir[0])
		path = strdup(name);
	else if (asprintf(&path, "%s/%s", dir, name) < 0)
		path = NULL;
	if (!path)
		return false;
	one.path = path;
	companion_look(path, &one);
	ok = module_companion_add(list, &one);
	free(path);
	return ok;
}

/* Where libdw searches: beside the program, beside its debug file, in the compiler's directory. */
struct companion_places {
	char main[PATH_MAX], debug[PATH_MAX]; /* files */
};

static void companion_places_find(struct module_file *f, struct companion_places *out)
{
	const char *files[2] = { NULL, NULL };

	dwfl_module_info(f->dwfl_module, NULL, NULL, NULL, NULL, NULL, &files[0], &files[1]);
	if (!files[0] || !realpath(files[0], out->main))
		out->main[0] = '\0';
	if (!files[1] || !realpath(files[1], out->debug))
		out->debug[0] = '\0';
}

static bool companion_find_beside(struct module_companions *list, const char *file,
				  const char *name)
{
	char dir[PATH_MAX], *slash;

	snprintf(dir, sizeof(dir), "%s", file);
	slash = strrchr(dir, '/');
	if (!slash)
		return true;
	*slash = '\0';
	return companion_find(list, dir, name);
}

static const char *unit_text(Dwarf_Die *unit, unsigned attribute, unsigned older)
{
	Dwarf_Attribute attr;

	if (!dwarf_attr(unit, attribute, &attr) && !dwarf_attr(unit, older, &attr))
		return NULL;
	return dwarf_formstring(&attr);
}

static bool companions_add_unit(struct module_companions *list,
				const struct companion_places *places, Dwarf_Die *unit)
{
	const char *name = unit_text(unit, DW_AT_dwo_name, DW_AT_GNU_dwo_name);
	const char *dir = unit_text(unit, DW_AT_comp_dir, DW_AT_comp_dir);

	return !name || (companion_find(list, dir, name) &&
			 companion_find_beside(list, places->main, name) &&
			 companion_find_beside(list, places->debug, name));
}

/* "PROGRAM.dwp". */
static bool companions_add_package(struct module_companions *list, const char *file)
{
	char path[PATH_MAX];

	if (!file[0] || strlen(file) + 5 > sizeof(path))
		return true;
	snprintf(path, sizeof(path), "%s.dwp", file);
	return companion_find(list, NULL, path);
}

bool module_companions_find(struct module_file *f, struct module_companions *out)
{
	struct companion_places places;
	Dwarf_Addr bias;
	Dwarf *dwarf = dwfl_module_getdwarf(f->dwfl_module, &bias);
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit, sub;
	uint8_t kind;
	bool ok = true, is_split = false;

	if (!dwarf)
		return true;
	companion_places_find(f, &places);
	while (ok && dwarf_get_units(dwarf, cu, &cu, NULL, &kind, &unit, &sub) == 0) {
		if (kind != DW_UT_skeleton)
			continue;
		is_split = true;
		ok = companions_add_unit(out, &places, &unit);
	}
	if (ok && is_split)
		ok = companions_add_package(out, places.main) &&
		     companions_add_package(out, places.debug);
	return ok;
}

bool module_companions_unchanged(const struct module_companions *list)
{
	struct module_companion now = { 0 };
	size_t i;

	for (i = 0; i < list->nr; i++) {
		const struct module_companion *was = &list->at[i];

		companion_look(was->path, &now);
		if (now.size != was->size || now.mtime_s != was->mtime_s ||
		    now.mtime_ns != was->mtime_ns)
			return false;
	}
	return true;
}

void module_companions_release(struct module_companions *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++)
		free((void *)list->at[i].path);
	free(list->at);
	*list = (struct module_companions){ 0 };
}
