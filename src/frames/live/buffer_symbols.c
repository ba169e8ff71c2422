/* SPDX-License-Identifier: MIT */
/* buffer_symbols.c - find the symbols of buffers in the files that a process has mapped. */
#include "frames/live/buffer_symbols.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/mapped_file.h"
#include "process/process_maps.h"
#include "base/io.h"

/* Longer names are not buffer names. */
#define NAME_LEN_MAX 255

struct elf_image {
	struct target *target;
	struct buffer_symbols *out;
	const struct process_map *maps; /* all mappings of one file */
	size_t nr_maps;
	uint64_t bias;
	size_t first; /* earlier places belong to other files */
};

/* ---- names --------------------------------------------------------------- */

enum buffer_kind { KIND_NONE, KIND_JSON, KIND_HMEM, KIND_STAT };

static const struct {
	const char *word; /* five characters, before or after the buffer's name */
	enum buffer_kind kind;
} kinds[] = { { "_json", KIND_JSON }, { "_hmem", KIND_HMEM }, { "_stat", KIND_STAT } };

static enum buffer_kind places_kind_of(const char *word)
{
	size_t i;

	for (i = 0; i < 3; i++) {
		if (!strncmp(word, kinds[i].word, 5))
			return kinds[i].kind;
	}
	return KIND_NONE;
}

/* Split a symbol's name: @buffer points to the @len characters of the buffer's name. */
static enum buffer_kind places_take_apart(const char *symbol, const char **buffer, size_t *len,
					  bool *existing)
{
	size_t all;

	if (symbol[0] != '_')
		return KIND_NONE;
	all = strnlen(symbol, NAME_LEN_MAX + 16);
	if (!strncmp(symbol, "__ppt_", 6) && all > 6 + 5) {
		*existing = false;
		*buffer = symbol + 6;
		*len = all - 6 - 5;
		return *len <= NAME_LEN_MAX ? places_kind_of(symbol + all - 5) : KIND_NONE;
	}
	if (!strncmp(symbol, "_ppt_", 5) && all > 4 + 5 + 1 && symbol[9] == '_') {
		*existing = true;
		*buffer = symbol + 10;
		*len = all - 10;
		return *len <= NAME_LEN_MAX ? places_kind_of(symbol + 4) : KIND_NONE;
	}
	return KIND_NONE;
}

/* ---- the list ------------------------------------------------------------ */

static struct buffer_symbol *places_place_of(struct elf_image *img, const char *name, size_t len,
					     bool existing)
{
	struct buffer_symbols *out = img->out;
	struct buffer_symbol *p;
	size_t i;

	for (i = img->first; i < out->nr; i++) {
		p = &out->at[i];
		if (p->existing == existing && strlen(p->name) == len &&
		    !memcmp(p->name, name, len))
			return p;
	}
	p = realloc(out->at, (out->nr + 1) * sizeof(*p));
	if (!p)
		return NULL;
	out->at = p;
	p = &out->at[out->nr];
	memset(p, 0, sizeof(*p));
	p->name = strndup(name, len);
	p->file = strdup(img->maps[0].path);
	p->existing = existing;
	out->nr++; /* released with the rest, even if a name is missing */
	return p->name && p->file ? p : NULL;
}

static int note_symbol(struct elf_image *img, const char *symbol, const GElf_Sym *sym)
{
	const char *name;
	size_t len = 0;
	bool existing = false;
	enum buffer_kind kind = places_take_apart(symbol, &name, &len, &existing);
	struct buffer_symbol *p;

	if (kind == KIND_NONE || sym->st_shndx == SHN_UNDEF || !sym->st_value)
		return 0;
	p = places_place_of(img, name, len, existing);
	if (!p)
		return -ENOMEM;
	if (kind == KIND_JSON) {
		p->json = img->bias + sym->st_value;
		p->bias = img->bias;
		p->json_size = sym->st_size;
	} else if (kind == KIND_HMEM) {
		p->hmem = img->bias + sym->st_value;
	} else {
		p->stat = img->bias + sym->st_value;
	}
	return 0;
}

static void drop_incomplete(struct buffer_symbols *list)
{
	size_t i, kept = 0;

	for (i = 0; i < list->nr; i++) {
		struct buffer_symbol *p = &list->at[i];

		if (p->json && p->hmem && p->stat) {
			list->at[kept++] = *p;
			continue;
		}
		free(p->name);
		free(p->file);
	}
	list->nr = kept;
}

void places_release(struct buffer_symbols *list)
{
	size_t i;

	for (i = 0; i < list->nr; i++) {
		free(list->at[i].name);
		free(list->at[i].file);
	}
	free(list->at);
	memset(list, 0, sizeof(*list));
}

/* ---- one ELF file -------------------------------------------------------- */

static int scan_table(struct elf_image *img, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t nr, i;
	GElf_Sym sym;
	int rc = 0;

	if (!data || !sh->sh_entsize)
		return 0;
	nr = data->d_size / sh->sh_entsize;
	for (i = 0; i < nr && !rc; i++) {
		const char *name;

		if (i > INT_MAX || !gelf_getsym(data, (int)i, &sym))
			break;
		if (GELF_ST_TYPE(sym.st_info) != STT_OBJECT &&
		    GELF_ST_TYPE(sym.st_info) != STT_NOTYPE)
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name)
			rc = note_symbol(img, name, &sym);
	}
	return rc;
}

/* *@full: there is a .symtab, so no symbol is hidden. */
static int scan_tables(struct elf_image *img, Elf *elf, bool *full)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int rc = 0;

	*full = false;
	while (!rc && (scn = elf_nextscn(elf, scn)) != NULL) {
		if (!gelf_getshdr(scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		*full |= sh.sh_type == SHT_SYMTAB;
		rc = scan_table(img, elf, scn, &sh);
	}
	return rc;
}

/*
 * Find the difference between addresses of the process and of the file.  Returns false if the
 * mappings do not match the file.
 */
static bool find_bias(struct elf_image *img, Elf *elf)
{
	size_t nr, i, m;
	GElf_Phdr ph;

	if (elf_getphdrnum(elf, &nr) < 0)
		return false;
	for (i = 0; i < nr && i <= INT_MAX; i++) {
		if (!gelf_getphdr(elf, (int)i, &ph) || ph.p_type != PT_LOAD)
			continue;
		for (m = 0; m < img->nr_maps; m++) {
			const struct process_map *map = &img->maps[m];

			/* A mapping starts at the page that contains the start of the segment. */
			if (map->offset > ph.p_offset ||
			    ph.p_offset - map->offset >= map->end - map->start)
				continue;
			img->bias = map->start - (ph.p_vaddr - (ph.p_offset - map->offset));
			return true;
		}
	}
	return false;
}

/* ---- separate debug info ------------------------------------------------- */

static bool places_same_build(Elf *a, Elf *b)
{
	char id_a[BUILD_ID_TEXT], id_b[BUILD_ID_TEXT];

	return !mapped_file_build_id(a, id_a) || !mapped_file_build_id(b, id_b) ||
	       !strcmp(id_a, id_b);
}

/* Returns true if @path is the debug info of @elf, and was scanned. */
static bool scan_debug_file(struct elf_image *img, Elf *elf, const char *path, int *rc)
{
	int fd = mapped_file_open_path(img->target->pid, path);
	bool full = false;
	Elf *debug;

	if (fd < 0)
		return false;
	debug = elf_begin(fd, ELF_C_READ, NULL);
	if (debug && elf_kind(debug) == ELF_K_ELF && places_same_build(elf, debug))
		*rc = scan_tables(img, debug, &full);
	elf_end(debug);
	close(fd);
	return full;
}

static bool scan_by_build_id(struct elf_image *img, Elf *elf, int *rc)
{
	char path[64 + BUILD_ID_TEXT], id[BUILD_ID_TEXT];

	if (!mapped_file_build_id(elf, id) || strlen(id) < 4)
		return false;
	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return scan_debug_file(img, elf, path, rc);
}

static bool scan_by_link(struct elf_image *img, Elf *elf, int *rc)
{
	static const char *const forms[] = { "%.*s/%s", "%.*s/.debug/%s", "/usr/lib/debug%.*s/%s" };
	const char *path = img->maps[0].path, *slash = strrchr(path, '/');
	GElf_Word crc;
	const char *link = dwelf_elf_gnu_debuglink(elf, &crc);
	char full[PATH_MAX];
	size_t i;

	/* The file provides the name: it must not lead out of the three folders. */
	if (!link || !slash || strchr(link, '/') || !*link)
		return false;
	for (i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		int len;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		len = snprintf(full, sizeof(full), forms[i], (int)(slash - path), path, link);
#pragma GCC diagnostic pop
		if (len < (int)sizeof(full) && scan_debug_file(img, elf, full, rc))
			return true;
	}
	return false;
}

/* ---- the file behind a mapping ------------------------------------------- */

static void places_cannot_read(struct buffer_symbols *out, const char *path, const char *why)
{
	if (!out->unreadable++)
		snprintf(out->unreadable_first, sizeof(out->unreadable_first), "%s: %s", path, why);
}

/* Compare the first page in the process with the file: the file may have been replaced. */
static bool is_still_that_file(const struct elf_image *img, int fd)
{
	char here[1024], there[sizeof(here)];
	ssize_t got;

	if (img->maps[0].offset)
		return true; /* the start of the file is not mapped: nothing to compare */
	got = io_pread(fd, here, sizeof(here), 0);
	return got > 0 &&
	       target_read_some(img->target, img->maps[0].start, there, (size_t)got) == got &&
	       !memcmp(here, there, (size_t)got);
}

static bool is_elf(int fd)
{
	char magic[4];

	return io_pread(fd, magic, 4, 0) == 4 && !memcmp(magic, ELFMAG, 4);
}

static int scan_elf(struct elf_image *img, int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	bool full = false;
	int rc = 0;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getclass(elf) == ELFCLASS64 &&
	    find_bias(img, elf)) {
		rc = scan_tables(img, elf, &full);
		if (!rc && !full && !scan_by_build_id(img, elf, &rc) && !rc)
			scan_by_link(img, elf, &rc);
	}
	elf_end(elf);
	return rc;
}

static int scan_image(struct elf_image *img)
{
	int fd = mapped_file_open(img->target->pid, &img->maps[0]), rc = 0;
	struct stat st;

	if (fd < 0) {
		places_cannot_read(img->out, img->maps[0].path,
				   img->maps[0].deleted ? "deleted since the process started"
							: strerror(errno));
		return 0;
	}
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && is_elf(fd)) {
		if (is_still_that_file(img, fd))
			rc = scan_elf(img, fd);
		else
			places_cannot_read(img->out, img->maps[0].path,
					   "replaced since the process started");
	}
	close(fd);
	return rc;
}

/* ---- mappings of the process --------------------------------------------- */

/* Only files remain: .bss and the like would end the sequence of a file's mappings. */
static void places_keep_files(struct process_maps *maps)
{
	size_t i, kept = 0;

	for (i = 0; i < maps->nr; i++) {
		const struct process_map *map = &maps->list[i];

		if (map->inode && map->path && map->path[0] == '/')
			maps->list[kept++] = *map;
	}
	maps->nr = kept;
}

static int places_read_maps(pid_t pid, struct process_maps *maps, struct err *err)
{
	int rc = process_maps_read(pid, maps);

	if (rc == -ENOMEM)
		return err_set(err, rc, "no memory for the map of process %d", (int)pid);
	if (rc == -EACCES || rc == -EPERM)
		return -EPERM;
	if (rc < 0)
		return err_set(err, rc, "cannot read '/proc/%d/maps': %s", (int)pid, strerror(-rc));
	places_keep_files(maps);
	return 0;
}

static int scan_maps(struct target *t, const struct process_maps *maps, struct buffer_symbols *list,
		     struct err *err)
{
	size_t from, to;
	int rc = 0;

	for (from = 0; from < maps->nr && !rc; from = to) {
		struct elf_image img = { .target = t, .out = list, .maps = &maps->list[from] };

		for (to = from + 1; to < maps->nr; to++) {
			if (!process_map_same_file(&maps->list[to], &maps->list[from]))
				break;
		}
		img.nr_maps = to - from;
		img.first = list->nr;
		rc = scan_image(&img);
	}
	if (rc < 0)
		return err_set(err, rc, "no memory for the symbols of process %d", (int)t->pid);
	return 0;
}

int places_find(struct target *t, struct buffer_symbols *list, struct err *err)
{
	struct process_maps maps = { 0 };
	char byte;
	int rc;

	memset(list, 0, sizeof(*list));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOSYS, "libelf is of another age: %s", elf_errmsg(-1));
	rc = places_read_maps(t->pid, &maps, err);
	/* An unreadable or empty map: read some memory, only for the error message. */
	if (rc == -EPERM || (!rc && !maps.nr))
		rc = target_read(t, maps.nr ? maps.list[0].start : 4096, &byte, 1, err);
	if (!rc && maps.nr)
		rc = target_read(t, maps.list[0].start, &byte, 1, err);
	if (!rc)
		rc = scan_maps(t, &maps, list, err);
	process_maps_free(&maps);
	drop_incomplete(list);
	return rc;
}

/* ---- choose a buffer ----------------------------------------------------- */

static const char *places_last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_called(const struct buffer_symbol *p, const char *name)
{
	size_t len = strlen(p->name);

	if (strncmp(p->name, name, len) != 0)
		return false;
	name += len;
	if (!*name)
		return true;
	return *name == '@' &&
	       (!strcmp(name + 1, p->file) || !strcmp(name + 1, places_last_part(p->file)));
}

static void list_names(const struct buffer_symbols *list, char *buf, size_t size)
{
	size_t i, at = 0;

	buf[0] = '\0';
	for (i = 0; i < list->nr && at < size; i++) {
		int len = snprintf(buf + at, size - at, "%s%s", i ? ", " : "", list->at[i].name);

		at += len > 0 ? (size_t)len : 0;
	}
}

static void places_refuse(const struct buffer_symbols *list, const char *name, pid_t pid,
			  struct err *err)
{
	char names[256];

	if (!list->nr) {
		err_set(err, -ENOENT, "process %d has no frame buffers", (int)pid);
		if (list->unreadable)
			err_hint(err, "cannot read %s", list->unreadable_first);
		else
			err_hint(err,
				 "'corotracer run -p %d' traces its coroutines; frames need the "
				 "code of "
				 "'corotracer generate', and a stripped program its debug info, or "
				 "-rdynamic when linked",
				 (int)pid);
		return;
	}
	list_names(list, names, sizeof(names));
	if (name)
		err_set(err, -ENOENT, "process %d has no frame buffer '%s'", (int)pid, name);
	else
		err_set(err, -ENOENT, "process %d has %zu frame buffers: which one?", (int)pid,
			list->nr);
	err_hint(err, "choose one with -b: %s", names);
}

const struct buffer_symbol *places_pick(const struct buffer_symbols *list, const char *name,
					pid_t pid, struct err *err)
{
	const struct buffer_symbol *found = NULL;
	size_t i;

	if (!name && list->nr == 1)
		return &list->at[0];
	for (i = 0; name && i < list->nr; i++) {
		if (!is_called(&list->at[i], name))
			continue;
		if (found) {
			err_set(err, -EEXIST, "process %d has two buffers '%s'", (int)pid, name);
			err_hint(err, "choose one with -b %s@%s or -b %s@%s", found->name,
				 places_last_part(found->file), list->at[i].name,
				 places_last_part(list->at[i].file));
			return NULL;
		}
		found = &list->at[i];
	}
	if (!found)
		places_refuse(list, name, pid, err);
	return found;
}
