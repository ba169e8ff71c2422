/* SPDX-License-Identifier: MIT */
/*
 * test_kept_indexes.c - what was derived from a program is kept for the next look: it is the same
 * when it is read again, and nothing is read that is damaged, of others, or of other files.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "check.h"
#include "symbols/coroutine_index.h"
#include "symbols/coroutine_layout.h"
#include "symbols/index_cache.h"

static char home[64], folder[96]; /* $XDG_CACHE_HOME, and the folder in it */
static char note[256];

/* ---- entries -------------------------------------------------------------------------- */

static void write_entry(const char *name, const char *text)
{
	struct bytes content = { 0 };

	bytes_add(&content, text, strlen(text));
	index_cache_write(name, &content);
	bytes_release(&content);
}

/* The text of an entry, or "-"; the note is in `note`. */
static const char *read_entry(const char *name)
{
	static char text[128];
	struct bytes content = { 0 };

	note[0] = '\0';
	snprintf(text, sizeof(text), "-");
	if (index_cache_read(name, &content, note, sizeof(note)))
		snprintf(text, sizeof(text), "%.*s", (int)content.size, (char *)content.data);
	bytes_release(&content);
	return text;
}

static const char *path_of(const char *name)
{
	static char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void an_entry_is_read_as_it_was_written(void)
{
	struct stat st;

	CHECK(!index_cache_is_used());
	write_entry("a.index", "not used");
	CHECK_STR(read_entry("a.index"), "-");
	CHECK(access(folder, F_OK) < 0);
	index_cache_set(true);
	CHECK(index_cache_is_used());
	write_entry("a.index", "first");
	CHECK_STR(read_entry("a.index"), "first");
	CHECK_STR(note, "");
	write_entry("a.index", "second, which is longer");
	CHECK_STR(read_entry("a.index"), "second, which is longer");
	CHECK_STR(read_entry("b.index"), "-");
	CHECK_STR(note, ""); /* a missing one is nothing to speak of */
	CHECK_EQ(stat(folder, &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0700);
	CHECK_EQ(stat(path_of("a.index"), &st), 0);
	CHECK_EQ(st.st_mode & 07777, 0600);
	CHECK_EQ(st.st_size, 24 + 23); /* no temporary file is left, and the header has 24 bytes */
}

static void change(const char *name, off_t at, char byte)
{
	int fd = open(path_of(name), O_RDWR);

	CHECK(fd >= 0);
	CHECK_EQ(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

static void a_damaged_entry_is_not_used(void)
{
	static const off_t places[] = { 0, 7, 8, 15, 16, 23, 24, 28 };
	size_t i;

	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		write_entry("d.index", "whole");
		change("d.index", places[i], '~');
		CHECK_STR(read_entry("d.index"), "-");
		CHECK_STR(note, "ignoring 'd.index' in the cache: it is damaged");
	}
	write_entry("d.index", "whole");
	CHECK_EQ(truncate(path_of("d.index"), 28), 0);
	CHECK_STR(read_entry("d.index"), "-");
	CHECK_EQ(truncate(path_of("d.index"), 23), 0);
	CHECK_STR(read_entry("d.index"), "-");
	CHECK_STR(note, "ignoring 'd.index' in the cache: it is damaged");
	write_entry("d.index", "");
	CHECK_STR(read_entry("d.index"), "");
	CHECK_STR(note, "");
}

static void an_entry_that_others_can_read_or_replace_is_not_used(void)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610 };
	size_t i;

	write_entry("o.index", "own");
	for (i = 0; i < 5; i++) {
		CHECK_EQ(chmod(path_of("o.index"), modes[i]), 0);
		CHECK_STR(read_entry("o.index"), "-");
		CHECK_STR(note, "ignoring 'o.index' in the cache: it does not belong to this user "
				"alone");
	}
	CHECK_EQ(chmod(path_of("o.index"), 0400), 0);
	CHECK_STR(read_entry("o.index"), "own");
	unlink(path_of("l.index"));
	CHECK_EQ(symlink("o.index", path_of("l.index")), 0);
	CHECK_STR(read_entry("l.index"), "-");
	CHECK_STR(note, "ignoring 'l.index' in the cache: it cannot be opened");
	unlink(path_of("l.index"));
	CHECK_EQ(mkdir(path_of("l.index"), 0700), 0);
	CHECK_STR(read_entry("l.index"), "-");
	CHECK(strstr(note, "does not belong to this user alone") != NULL);
	rmdir(path_of("l.index"));
}

static void a_folder_that_others_can_write_to_is_not_used(void)
{
	write_entry("w.index", "own");
	CHECK_EQ(chmod(folder, 0770), 0);
	CHECK_STR(read_entry("w.index"), "-");
	CHECK_EQ(chmod(folder, 0702), 0);
	CHECK_STR(read_entry("w.index"), "-");
	CHECK_EQ(chmod(folder, 0755), 0);
	CHECK_STR(read_entry("w.index"), "own");
	CHECK_EQ(chmod(home, 0722), 0);
	CHECK_STR(read_entry("w.index"), "-");
	CHECK_EQ(chmod(home, 0700), 0);
	if (geteuid() == 0) {
		CHECK_EQ(chown(folder, 1234, 0), 0);
		CHECK_STR(read_entry("w.index"), "-");
		CHECK_EQ(chown(folder, 0, 0), 0);
	}
	CHECK_STR(read_entry("w.index"), "own");
}

static void without_xdg_it_is_in_the_home(void)
{
	char path[160];

	setenv("HOME", home, 1);
	setenv("XDG_CACHE_HOME", "relative", 1);
	write_entry("h.index", "at home");
	CHECK_STR(read_entry("h.index"), "at home");
	snprintf(path, sizeof(path), "%s/.cache/corotracer/h.index", home);
	CHECK_EQ(unlink(path), 0);
	*strrchr(path, '/') = '\0';
	CHECK_EQ(rmdir(path), 0);
	*strrchr(path, '/') = '\0';
	CHECK_EQ(rmdir(path), 0);
	setenv("HOME", "relative", 1);
	write_entry("h.index", "nowhere");
	CHECK_STR(read_entry("h.index"), "-");
	setenv("XDG_CACHE_HOME", home, 1);
}

static void set_age(const char *name, long seconds)
{
	struct timeval now, times[2];

	gettimeofday(&now, NULL);
	times[0] = times[1] = (struct timeval){ .tv_sec = now.tv_sec - seconds };
	CHECK_EQ(utimes(path_of(name), times), 0);
}

static void set_size(const char *name, off_t size)
{
	int fd = open(path_of(name), O_WRONLY | O_CREAT, 0600);

	CHECK(fd >= 0);
	CHECK_EQ(ftruncate(fd, size), 0);
	close(fd);
}

static bool is_there(const char *name)
{
	return access(path_of(name), F_OK) == 0;
}

static void the_oldest_are_removed_when_there_are_too_many_bytes(void)
{
	unlink(path_of("a.index"));
	set_size("old.index", 200 << 20);
	set_size("new.index", 50 << 20);
	set_size("other.file", 300 << 20); /* not an entry */
	set_age("old.index", 100);
	set_age("new.index", 50);
	write_entry("x.index", "x");
	CHECK(is_there("old.index") && is_there("new.index")); /* 250 MiB */
	set_size("new.index", 56 << 20);
	set_age("new.index", 50);
	write_entry("x.index", "x");
	CHECK(!is_there("old.index"));
	CHECK(is_there("new.index") && is_there("other.file") && is_there("x.index"));
	unlink(path_of("new.index"));
	unlink(path_of("other.file"));
}

static void a_use_makes_an_entry_young(void)
{
	write_entry("used.index", "used");
	set_age("used.index", 1000);
	CHECK_STR(read_entry("used.index"), "used");
	set_size("idle.index", 200 << 20);
	set_age("idle.index", 500);
	set_size("more.index", 100 << 20);
	write_entry("x.index", "x");
	CHECK(is_there("used.index") && !is_there("idle.index") && is_there("more.index"));
	unlink(path_of("more.index"));
}

static void there_are_at_most_1024_entries(void)
{
	char name[32];
	int i;

	for (i = 0; i < 1030; i++) {
		snprintf(name, sizeof(name), "n%d.index", i);
		set_size(name, 1);
		set_age(name, 5000 - i);
	}
	write_entry("x.index", "x");
	/* x, d, o, w and used are younger: 1019 of the others stay. */
	CHECK(!is_there("n10.index") && is_there("n11.index") && is_there("x.index"));
	for (i = 0; i < 1030; i++) {
		snprintf(name, sizeof(name), "n%d.index", i);
		unlink(path_of(name));
	}
}

static void old_temporary_files_are_removed(void)
{
	set_size("t.index.abcdef", 10);
	set_size("u.index.abcdef", 10);
	set_age("t.index.abcdef", 3600 + 60);
	set_age("u.index.abcdef", 3600 - 60);
	write_entry("x.index", "x");
	CHECK(!is_there("t.index.abcdef") && is_there("u.index.abcdef"));
	unlink(path_of("u.index.abcdef"));
}

static void an_entry_has_at_most_64_mib(void)
{
	struct bytes content = { 0 };
	size_t most = (64 << 20) - 24;

	CHECK(bytes_more(&content, most + 1) != NULL);
	memset(content.data, 1, most + 1);
	index_cache_write("big.index", &content);
	CHECK(!is_there("big.index"));
	set_size("big.index", (64 << 20) + 1);
	CHECK_STR(read_entry("big.index"), "-");
	CHECK(strstr(note, "it is damaged") != NULL);
	unlink(path_of("big.index"));
	bytes_release(&content);
}

/* On a full disk the entry that exists stays as it is, and there is no other file. */
static void an_entry_is_written_whole_or_not_at_all(void)
{
	struct rlimit usual, small;
	struct bytes content = { 0 };
	struct dirent *e;
	DIR *d;

	write_entry("whole.index", "whole");
	CHECK(bytes_room(&content, 5000) != NULL);
	memset(content.data, 'x', 5000);
	content.size = 5000;
	signal(SIGXFSZ, SIG_IGN);
	CHECK_EQ(getrlimit(RLIMIT_FSIZE, &usual), 0);
	small = usual;
	small.rlim_cur = 4096;
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
	index_cache_write("whole.index", &content);
	index_cache_write("cut.index", &content);
	CHECK_EQ(setrlimit(RLIMIT_FSIZE, &usual), 0);
	signal(SIGXFSZ, SIG_DFL);
	bytes_release(&content);
	CHECK_STR(read_entry("whole.index"), "whole");
	d = opendir(folder);
	CHECK(d != NULL);
	while ((e = readdir(d)) != NULL)
		CHECK(strncmp(e->d_name, "cut", 3) != 0 &&
		      (strncmp(e->d_name, "whole", 5) != 0 || !strcmp(e->d_name, "whole.index")));
	closedir(d);
	CHECK_EQ(unlink(path_of("whole.index")), 0);
}

static void a_hash_depends_on_every_byte(void)
{
	CHECK(index_hash(INDEX_HASH_START, "", 0) == INDEX_HASH_START);
	CHECK(index_hash(INDEX_HASH_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c)); /* FNV-1a */
	CHECK(index_hash(index_hash(INDEX_HASH_START, "foo", 3), "bar", 3) ==
	      UINT64_C(0x85944171f73967e8));
}

/* ---- coroutines of a module --------------------------------------------------------------- */

static char text_a[] = "conn.fd", text_b[] = "int", text_c[] = "Socket", text_d[] = "a.cpp",
	    text_e[] = "Wait";

static struct coro_field bed_fields[] = {
	{ .path = text_a,
	  .type = text_b,
	  .owner = text_c,
	  .offset = 48,
	  .size = 4,
	  .kind = CORO_FIELD_INTEGER,
	  .in_promise = true },
	{ .path = text_a,
	  .type = text_b,
	  .root_type = text_c,
	  .offset = 70000,
	  .size = 8,
	  .kind = CORO_FIELD_POINTER,
	  .is_signed = true,
	  .nr_handles = 2,
	  .handles = { 8, 65535 } },
	{ .path = text_b,
	  .type = text_a,
	  .size = 64,
	  .kind = CORO_FIELD_HANDLE,
	  .is_reference = true },
};
static struct coro_point bed_points[] = {
	{ .index = 2, .addr = 0x5010, .file = text_d, .line = 17, .awaits = text_e },
	{ .index = UINT64_MAX, .addr = 0x4000, .line = 1, .is_initial = true },
	{ .index = 4 },
};
static struct coro_type bed_type = { .resume = 0x5000,
				     .has_layout = true,
				     .has_index = true,
				     .has_promise = true,
				     .starts_running = true,
				     .size = 96,
				     .index_offset = 88,
				     .index_size = 8,
				     .promise_offset = 16,
				     .promise_size = 32,
				     .file = text_d,
				     .line = 12,
				     .last_line = 30,
				     .fields = bed_fields,
				     .nr_fields = 3,
				     .points = bed_points,
				     .nr_points = 3 };

/* The content of an entry with two functions, one of them with a layout. */
static struct bytes bed_content(void)
{
	const struct coro_index_symbol resume = { .base = "base",
						  .addr = 0x1000,
						  .size = 99,
						  .is_resume = true,
						  .function = "f()",
						  .is_loaded = true,
						  .type = &bed_type };
	const struct coro_index_symbol destroy = { .base = "base", .addr = 0x1080, .size = 50 };
	struct coro_index index = { .flags = CORO_INDEX_NO_TOKIO };
	struct bytes content = { 0 };

	CHECK(coro_index_is_whole());
	CHECK_EQ(coro_index_add(&index, &resume), 0);
	CHECK_EQ(coro_index_add(&index, &destroy), 0);
	CHECK(module_companion_add(
		&index.companions,
		&(struct module_companion){
			.path = "/x.dwo", .size = 7, .mtime_s = -5, .mtime_ns = 999999999 }));
	CHECK(coro_index_put(&index, "abcd", &content));
	coro_index_release(&index);
	return content;
}

static void check_text(const char *a, const char *b)
{
	CHECK_STR(a ? a : "(none)", b ? b : "(none)");
}

static void check_fields(const struct coro_type *t)
{
	size_t i, k;

	CHECK_EQ(t->nr_fields, 3);
	for (i = 0; i < 3; i++) {
		const struct coro_field *f = &t->fields[i], *wanted = &bed_fields[i];

		check_text(f->path, wanted->path);
		check_text(f->type, wanted->type);
		check_text(f->owner, wanted->owner);
		check_text(f->root_type, wanted->root_type);
		CHECK_EQ(f->offset, wanted->offset);
		CHECK_EQ(f->size, wanted->size);
		CHECK_EQ(f->kind, wanted->kind);
		CHECK_EQ(f->in_promise, wanted->in_promise);
		CHECK_EQ(f->is_signed, wanted->is_signed);
		CHECK_EQ(f->is_reference, wanted->is_reference);
		CHECK_EQ(f->nr_handles, wanted->nr_handles);
		for (k = 0; k < f->nr_handles; k++)
			CHECK_EQ(f->handles[k], wanted->handles[k]);
	}
}

/* The function is elsewhere in the process now: its points move with it. */
static void check_points(struct coro_type *t)
{
	size_t i;

	t->resume = 0x7000;
	coro_index_settle(t);
	CHECK_EQ(t->nr_points, 3);
	for (i = 0; i < 3; i++) {
		CHECK_EQ(t->points[i].index, bed_points[i].index);
		CHECK_EQ(t->points[i].line, bed_points[i].line);
		CHECK_EQ(t->points[i].is_initial, bed_points[i].is_initial);
		check_text(t->points[i].file, bed_points[i].file);
		check_text(t->points[i].awaits, bed_points[i].awaits);
	}
	CHECK_EQ(t->points[0].addr, 0x7010);
	CHECK_EQ(t->points[1].addr, 0x6000);
	CHECK_EQ(t->points[2].addr, 0);
}

static void check_layout(struct coro_type *t)
{
	CHECK(t->has_layout && t->has_index && t->has_promise && t->starts_running);
	CHECK(!t->is_gcc && !t->starts_suspended);
	CHECK_EQ(t->size, 96);
	CHECK_EQ(t->index_offset, 88);
	CHECK_EQ(t->index_size, 8);
	CHECK_EQ(t->promise_offset, 16);
	CHECK_EQ(t->promise_size, 32);
	CHECK_EQ(t->line, 12);
	CHECK_EQ(t->last_line, 30);
	check_text(t->file, "a.cpp");
	check_fields(t);
	check_points(t);
}

static void coroutines_are_read_as_they_were_written(void)
{
	struct bytes content = bed_content();
	struct coro_index index = { 0 };

	CHECK(coro_index_take(&index, &content, "abcd") == NULL);
	CHECK(content.data == NULL);
	CHECK_EQ(index.flags, CORO_INDEX_NO_TOKIO);
	CHECK_EQ(index.nr, 2);
	CHECK_EQ(index.symbols[0].addr, 0x1000);
	CHECK_EQ(index.symbols[0].size, 99);
	CHECK(index.symbols[0].is_resume && index.symbols[0].is_loaded);
	check_text(index.symbols[0].base, "base");
	check_text(index.symbols[0].function, "f()");
	check_layout(index.symbols[0].type);
	CHECK_EQ(index.symbols[1].addr, 0x1080);
	CHECK(!index.symbols[1].is_resume && !index.symbols[1].is_loaded);
	CHECK(!index.symbols[1].type);
	CHECK_EQ(index.companions.nr, 1);
	check_text(index.companions.at[0].path, "/x.dwo");
	CHECK_EQ(index.companions.at[0].size, 7);
	CHECK_EQ(index.companions.at[0].mtime_s, -5);
	CHECK_EQ(index.companions.at[0].mtime_ns, 999999999);
	coro_index_release(&index);
}

static const char *take_damaged(size_t keep, size_t at, unsigned char byte)
{
	struct bytes content = bed_content();
	struct coro_index index = { 0 };
	const char *problem;

	content.size = keep < content.size ? keep : content.size;
	if (at < content.size)
		content.data[at] = byte;
	problem = coro_index_take(&index, &content, "abcd");
	coro_index_release(&index);
	return problem;
}

static void damage_is_noticed_wherever_the_content_ends(void)
{
	struct bytes content = bed_content();
	size_t size = content.size, i;

	bytes_add(&content, "", 1); /* one byte too many */
	{
		struct coro_index index = { 0 };

		check_text(coro_index_take(&index, &content, "abcd"), "it is damaged");
		coro_index_release(&index);
	}
	for (i = 1; i < size; i++)
		check_text(take_damaged(i, SIZE_MAX, 0), "it is damaged");
	check_text(take_damaged(0, SIZE_MAX, 0), ""); /* no format */
	check_text(take_damaged(size, 0, 3), "");     /* another format */
	/* Any byte may have any value: nothing but the result may differ. */
	for (i = 0; i < size; i++) {
		take_damaged(size, i, 0xff);
		take_damaged(size, i, 0);
		take_damaged(size, i, 0x7f);
	}
}

static void an_entry_of_another_program_is_not_used(void)
{
	struct bytes content = bed_content();
	struct coro_index index = { 0 };

	check_text(coro_index_take(&index, &content, "abce"), "it belongs to another program");
	coro_index_release(&index);
}

/* Layouts that would lead out of a frame. */
static void an_index_must_be_inside_of_its_frame(void)
{
	static const struct {
		uint32_t offset, size;
		bool has_layout, is_good;
	} cases[] = {
		{ 88, 8, true, true },   { 89, 8, true, false },   { 95, 1, true, true },
		{ 96, 1, true, false },  { 0, 0, true, false },    { 0, 9, true, false },
		{ 200, 4, false, true }, { 200, 9, false, false },
	};
	struct coro_type kept = bed_type;
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bed_type.index_offset = cases[i].offset;
		bed_type.index_size = cases[i].size;
		bed_type.has_layout = cases[i].has_layout;
		check_text(take_damaged(SIZE_MAX, SIZE_MAX, 0),
			   cases[i].is_good ? NULL : "it is damaged");
	}
	bed_type = kept;
}

static void what_no_entry_may_have_is_not_written(void)
{
	struct coro_index index = { 0 };
	struct coro_index_symbol resume = { .base = "b",
					    .is_resume = true,
					    .function = "f",
					    .is_loaded = true,
					    .type = &bed_type };
	struct bytes content = { 0 };
	char *large = malloc(65537), *kept = bed_fields[0].path;

	CHECK(large != NULL);
	memset(large, 'x', 65536);
	large[65536] = '\0';
	resume.function = large;
	CHECK_EQ(coro_index_add(&index, &resume), 0);
	CHECK(!coro_index_put(&index, "id", &content));
	large[65535] = '\0';
	bytes_clear(&content);
	CHECK(coro_index_put(&index, "id", &content));
	bed_fields[0].path = NULL;
	bytes_clear(&content);
	CHECK(!coro_index_put(&index, "id", &content));
	bed_fields[0].path = kept;
	bytes_release(&content);
	coro_index_release(&index);
	free(large);
}

/* ---- other files of a module ---------------------------------------------------------------- */

static void a_changed_file_makes_an_entry_useless(void)
{
	struct module_companions list = { 0 };
	struct stat st;

	set_size("c.dwo", 10);
	CHECK_EQ(stat(path_of("c.dwo"), &st), 0);
	CHECK(module_companions_unchanged(&list));
	CHECK(module_companion_add(
		&list, &(struct module_companion){ .path = path_of("c.dwo"),
						   .size = 10,
						   .mtime_s = st.st_mtim.tv_sec,
						   .mtime_ns = (uint32_t)st.st_mtim.tv_nsec }));
	CHECK(module_companion_add(&list, &(struct module_companion){ .path = "/no/such.dwo",
								      .size = UINT64_MAX }));
	CHECK(module_companions_unchanged(&list));
	list.at[0].size++;
	CHECK(!module_companions_unchanged(&list));
	list.at[0].size--;
	list.at[0].mtime_s++;
	CHECK(!module_companions_unchanged(&list));
	list.at[0].mtime_s--;
	list.at[0].mtime_ns++;
	CHECK(!module_companions_unchanged(&list));
	list.at[0].mtime_ns--;
	list.at[1].size = 0; /* it was there */
	CHECK(!module_companions_unchanged(&list));
	list.at[1].size = UINT64_MAX;
	unlink(path_of("c.dwo"));
	CHECK(!module_companions_unchanged(&list));
	module_companions_release(&list);
	CHECK_EQ(list.nr, 0);
}

static void there_are_at_most_8192_other_files(void)
{
	const struct module_companion one = { .path = "x" };
	struct module_companions list = { 0 };
	unsigned i;

	for (i = 0; i < MODULE_COMPANIONS_MAX; i++)
		CHECK(module_companion_add(&list, &one));
	CHECK(!module_companion_add(&list, &one));
	CHECK_EQ(list.nr, MODULE_COMPANIONS_MAX);
	module_companions_release(&list);
}

static void remove_all(void)
{
	static const char *const names[] = { "a", "d", "o", "w", "used", "x" };
	char name[32];
	size_t i;

	for (i = 0; i < 6; i++) {
		snprintf(name, sizeof(name), "%s.index", names[i]);
		unlink(path_of(name));
	}
	CHECK_EQ(rmdir(folder), 0);
	CHECK_EQ(rmdir(home), 0);
}

int main(void)
{
	snprintf(home, sizeof(home), "/tmp/corotracer-cache-XXXXXX");
	CHECK(mkdtemp(home) != NULL);
	snprintf(folder, sizeof(folder), "%s/corotracer", home);
	setenv("XDG_CACHE_HOME", home, 1);
	RUN(an_entry_is_read_as_it_was_written);
	RUN(a_damaged_entry_is_not_used);
	RUN(an_entry_that_others_can_read_or_replace_is_not_used);
	RUN(a_folder_that_others_can_write_to_is_not_used);
	RUN(without_xdg_it_is_in_the_home);
	RUN(the_oldest_are_removed_when_there_are_too_many_bytes);
	RUN(a_use_makes_an_entry_young);
	RUN(there_are_at_most_1024_entries);
	RUN(old_temporary_files_are_removed);
	RUN(an_entry_has_at_most_64_mib);
	RUN(an_entry_is_written_whole_or_not_at_all);
	RUN(a_hash_depends_on_every_byte);
	RUN(coroutines_are_read_as_they_were_written);
	RUN(damage_is_noticed_wherever_the_content_ends);
	RUN(an_entry_of_another_program_is_not_used);
	RUN(an_index_must_be_inside_of_its_frame);
	RUN(what_no_entry_may_have_is_not_written);
	RUN(a_changed_file_makes_an_entry_useless);
	RUN(there_are_at_most_8192_other_files);
	remove_all();
	return 0;
}
