/* SPDX-License-Identifier: MIT */
/* buffer_symbols.c - find the symbols of buffers in the files that a process has mapped. */
#include "frames/live/buffer_symbols.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <libelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Longer names are not buffer names. */
#define NAME_LEN_MAX 255

/* A line of /proc/PID/maps with a file. */
struct mapping {
	uint64_t start, end, offset;
	char *path;
};

struct elf_image {
	struct target *target;
	struct buffer_symbols *out;
	const struct mapping *maps; /* all mappings of one file */
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
			const struct mapping *map = &img->maps[m];

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

static int open_beneath(pid_t pid, const char *path)
{
	char full[PATH_MAX];
	int fd;

	if (snprintf(full, sizeof(full), "/proc/%d/root%s", (int)pid, path) < (int)sizeof(full)) {
		fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0)
			return fd;
	}
	return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static bool places_same_build(Elf *a, Elf *b)
{
	const void *id_a, *id_b;
	ssize_t len_a = dwelf_elf_gnu_build_id(a, &id_a), len_b = dwelf_elf_gnu_build_id(b, &id_b);

	return len_a <= 0 || len_b <= 0 || (len_a == len_b && !memcmp(id_a, id_b, (size_t)len_a));
}

/* Returns true if @path is the debug info of @elf, and was scanned. */
static bool scan_debug_file(struct elf_image *img, Elf *elf, const char *path, int *rc)
{
	int fd = open_beneath(img->target->pid, path);
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
	char path[PATH_MAX];
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id), i;
	int at;

	if (len < 2 || len > 64)
		return false;
	at = sprintf(path, "/usr/lib/debug/.build-id/%02x/", ((const unsigned char *)id)[0]);
	for (i = 1; i < len; i++)
		at += sprintf(path + at, "%02x", ((const unsigned char *)id)[i]);
	memcpy(path + at, ".debug", sizeof(".debug"));
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

static int open_image(const struct elf_image *img)
{
	char path[PATH_MAX], exe[PATH_MAX];
	const struct mapping *map = &img->maps[0];
	ssize_t len;
	int fd;

	/*
	 * The mapped file itself, even if it was deleted or replaced since; only root may open
	 * it.
	 */
	snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64,
		 (int)img->target->pid, map->start, map->end);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)img->target->pid);
	len = readlink(path, exe, sizeof(exe) - 1);
	if (len > 0) {
		exe[len] = '\0';
		if (!strcmp(exe, map->path))
			return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	}
	return open_beneath(img->target->pid, map->path);
}

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
	got = pread(fd, here, sizeof(here), 0);
	return got > 0 &&
	       target_read_some(img->target, img->maps[0].start, there, (size_t)got) == got &&
	       !memcmp(here, there, (size_t)got);
}

static bool is_elf(int fd)
{
	char magic[4];

	return pread(fd, magic, 4, 0) == 4 && !memcmp(magic, ELFMAG, 4);
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
	int fd = open_image(img), rc = 0;
	struct stat st;

	if (fd < 0) {
		places_cannot_read(img->out, img->maps[0].path, strerror(errno));
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

struct map_list {
	struct mapping *at;
	size_t nr;
};

static bool parse_mapping(char *line, struct mapping *map)
{
	char *path, perms[5];
	unsigned long inode;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %lu %n", &map->start,
		   &map->end, perms, &map->offset, &inode, &at) < 5 ||
	    !at || !inode || map->end <= map->start)
		return false;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	if (path[0] != '/')
		return false;
	map->path = path;
	return true;
}

static void release_maps(struct map_list *maps)
{
	while (maps->nr)
		free(maps->at[--maps->nr].path);
	free(maps->at);
}

static int places_read_maps(pid_t pid, struct map_list *maps, struct err *err)
{
	char name[64], *line = NULL;
	size_t size = 0;
	FILE *file;
	int rc = 0;

	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	file = fopen(name, "re");
	if (!file)
		return errno == EACCES ? -EPERM : err_errno(err, "cannot read '%s'", name);
	while (!rc && getline(&line, &size, file) > 0) {
		struct mapping map, *more;

		if (!parse_mapping(line, &map))
			continue;
		map.path = strdup(map.path);
		more = map.path ? realloc(maps->at, (maps->nr + 1) * sizeof(*more)) : NULL;
		if (!more) {
			free(map.path);
			rc = err_set(err, -ENOMEM, "no memory for the map of process %d", (int)pid);
			break;
		}
		maps->at = more;
		maps->at[maps->nr++] = map;
	}
	if (!rc && ferror(file))
		rc = -EPERM; /* the file opens for every user, but read needs permission */
	free(line);
	fclose(file);
	return rc;
}

static int scan_maps(struct target *t, struct map_list *maps, struct buffer_symbols *list,
		     struct err *err)
{
	size_t from, to;
	int rc = 0;

	for (from = 0; from < maps->nr && !rc; from = to) {
		struct elf_image img = { .target = t, .out = list, .maps = &maps->at[from] };

		for (to = from + 1; to < maps->nr; to++) {
			if (strcmp(maps->at[to].path, maps->at[from].path) != 0)
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
	struct map_list maps = { 0 };
	char byte;
	int rc;

	memset(list, 0, sizeof(*list));
	if (elf_version(EV_CURRENT) == EV_NONE)
		return err_set(err, -ENOSYS, "libelf is of another age: %s", elf_errmsg(-1));
	rc = places_read_maps(t->pid, &maps, err);
	/* An unreadable or empty map: read some memory, only for the error message. */
	if (rc == -EPERM || (!rc && !maps.nr))
		rc = target_read(t, maps.nr ? maps.at[0].start : 4096, &byte, 1, err);
	if (!rc && maps.nr)
		rc = target_read(t, maps.at[0].start, &byte, 1, err);
	if (!rc)
		rc = scan_maps(t, &maps, list, err);
	release_maps(&maps);
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
			err_hint(err, "could not look into %s", list->unreadable_first);
		else
			err_hint(err, "is the code of 'corotracer generate' linked in? a stripped "
				      "program needs its debug info, or -rdynamic when linked");
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
