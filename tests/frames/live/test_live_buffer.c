/* SPDX-License-Identifier: MIT */
/*
 * test_live_buffer.c - the buffers of a process: their symbols, their descriptions, and who is
 * attached.  The process is this one.
 */
#include "frames/live/live_buffer.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "count_memory.h"
#include "count_open.h"
#include "frames/live/attach_resize.h"
#include "frames/spec/frames_abi.h"
#include "own_module.h"

extern const char *const __ppt_Fixed_json;

/* ---- buffers of this program, beside those of the generated code ------------------------- */

/* AddressSanitizer of clang makes a variable larger. */
#ifdef __clang__
#define AS_LARGE_AS_IT_IS __attribute__((no_sanitize("address")))
#else
#define AS_LARGE_AS_IT_IS
#endif
#define SYMBOL(type, variable, symbol)        \
	extern type variable __asm__(symbol); \
	type variable __attribute__((used, aligned(8))) AS_LARGE_AS_IT_IS

#define N15  "nnnnnnnnnnnnnnn"
#define N63  N15 "n" N15 "n" N15 "n" N15
#define N255 N63 "n" N63 "n" N63 "n" N63

SYMBOL(char, beta_json[8], "_ppt_json_Beta") = "{}";
SYMBOL(int, beta_hmem, "_ppt_hmem_Beta") = 1;
SYMBOL(int, beta_stat, "_ppt_stat_Beta") = 2;
SYMBOL(int, half_json, "__ppt_Half_json") = 3;
SYMBOL(int, half_hmem, "__ppt_Half_hmem") = 4;
SYMBOL(int, part_json, "__ppt_Part_json") = 3;
SYMBOL(int, part_stat, "__ppt_Part_stat") = 4;
SYMBOL(int, last_hmem, "__ppt_Last_hmem") = 3;
SYMBOL(int, last_stat, "__ppt_Last_stat") = 4;
/* The names of one buffer in both forms are two buffers, and none of them is whole. */
SYMBOL(int, both_json, "__ppt_Both_json") = 5;
SYMBOL(int, both_hmem, "__ppt_Both_hmem") = 6;
SYMBOL(int, both_stat, "_ppt_stat_Both") = 7;
SYMBOL(int, one_json, "__ppt_1_json") = 8;
SYMBOL(int, one_hmem, "__ppt_1_hmem") = 9;
SYMBOL(int, one_stat, "__ppt_1_stat") = 10;
SYMBOL(int, no_json, "__ppt__json") = 8;
SYMBOL(int, no_hmem, "__ppt__hmem") = 9;
SYMBOL(int, no_stat, "__ppt__stat") = 10;
SYMBOL(int, two_json, "_ppt_json_2") = 8;
SYMBOL(int, two_hmem, "_ppt_hmem_2") = 9;
SYMBOL(int, two_stat, "_ppt_stat_2") = 10;
SYMBOL(int, long_json, "__ppt_" N255 "_json") = 11;
SYMBOL(int, long_hmem, "__ppt_" N255 "_hmem") = 12;
SYMBOL(int, long_stat, "__ppt_" N255 "_stat") = 13;
SYMBOL(int, longer_json, "__ppt_n" N255 "_json") = 14;
SYMBOL(int, longer_hmem, "__ppt_n" N255 "_hmem") = 15;
SYMBOL(int, longer_stat, "__ppt_n" N255 "_stat") = 16;
SYMBOL(int, longest_json, "_ppt_json_" N255) = 17;
SYMBOL(int, longest_hmem, "_ppt_hmem_" N255) = 18;
SYMBOL(int, longest_stat, "_ppt_stat_" N255) = 19;
SYMBOL(int, beyond_json, "_ppt_json_n" N255) = 17;
SYMBOL(int, beyond_hmem, "_ppt_hmem_n" N255) = 18;
SYMBOL(int, beyond_stat, "_ppt_stat_n" N255) = 19;
/* A function is not a buffer. */
void code_stat(void) __asm__("__ppt_Code_stat");
void code_stat(void)
{
}
SYMBOL(int, code_json, "__ppt_Code_json") = 20;
SYMBOL(int, code_hmem, "__ppt_Code_hmem") = 21;

static struct err err;

static struct target target_of(pid_t pid)
{
	struct target t;

	err = (struct err){ 0 };
	CHECK_EQ(target_open(&t, pid, &err), 0);
	return t;
}

static const struct buffer_symbol *place_named(const struct buffer_symbols *list, const char *name)
{
	const struct buffer_symbol *found = NULL;
	size_t i;

	for (i = 0; i < list->nr; i++) {
		if (strcmp(list->at[i].name, name) != 0)
			continue;
		CHECK(!found);
		found = &list->at[i];
	}
	return found;
}

static void buffers_are_found_by_their_symbols(void)
{
	struct target t = target_of(getpid());
	struct symbol_module own = own_module();
	struct buffer_symbols list;
	const struct buffer_symbol *p;
	unsigned before = count_open();

	CHECK_EQ(places_find(&t, &list, &err), 0);
	p = place_named(&list, "Beta");
	CHECK(p && p->existing);
	CHECK_EQ(p->json, (uintptr_t)beta_json);
	CHECK_EQ(p->hmem, (uintptr_t)&beta_hmem);
	CHECK_EQ(p->stat, (uintptr_t)&beta_stat);
	CHECK_EQ(p->json_size, 8);
	CHECK_EQ(p->bias, own.bias);
	CHECK_STR(p->file, own.path);
	p = place_named(&list, "1");
	CHECK(p && !p->existing && p->json == (uintptr_t)&one_json && p->json_size == 4);
	p = place_named(&list, "2");
	CHECK(p && p->existing && p->stat == (uintptr_t)&two_stat);
	CHECK(place_named(&list, "Fixed") && place_named(&list, "Busy"));
	/* With the longest name in both forms, and nothing else. */
	CHECK_EQ(list.nr, 7);
	CHECK(!place_named(&list, "") && !place_named(&list, "n" N255));
	CHECK(!place_named(&list, "Half") && !place_named(&list, "Part"));
	CHECK(!place_named(&list, "Last") && !place_named(&list, "Both"));
	CHECK(!place_named(&list, "Code"));
	CHECK_EQ(list.unreadable, 0);
	CHECK_EQ(count_open(), before);
	places_release(&list);
	CHECK(!list.at && !list.nr);
	target_close(&t);
}

/* ---- choose one ------------------------------------------------------------------------------ */

static struct buffer_symbol alpha = { .name = (char *)"Alpha", .file = (char *)"/lib/liba.so" };
static struct buffer_symbol again = { .name = (char *)"Alpha", .file = (char *)"/lib/libb.so" };
static struct buffer_symbol other = { .name = (char *)"Other", .file = (char *)"/bin/prog" };

static const struct buffer_symbol *pick(const struct buffer_symbols *list, const char *name)
{
	err = (struct err){ 0 };
	return places_pick(list, name, 77, &err);
}

static void a_buffer_is_chosen_by_name_and_file(void)
{
	struct buffer_symbol at[3] = { alpha, again, other };
	struct buffer_symbols list = { .at = at, .nr = 3 };

	CHECK(pick(&list, "Other") == &at[2]);
	CHECK(pick(&list, "Alpha@liba.so") == &at[0]);
	CHECK(pick(&list, "Alpha@/lib/libb.so") == &at[1]);
	CHECK(!pick(&list, "Alpha@b.so") && !pick(&list, "Othe") && !pick(&list, "Other2"));
	CHECK_EQ(err.code, -ENOENT);
	CHECK_STR(err.text, "process 77 has no frame buffer 'Other2'");
	CHECK_STR(err.hint, "choose one with -b: Alpha, Alpha, Other");
	CHECK(!pick(&list, "Alpha"));
	CHECK_EQ(err.code, -EEXIST);
	CHECK_STR(err.text, "process 77 has two buffers 'Alpha'");
	CHECK_STR(err.hint, "choose one with -b Alpha@liba.so or -b Alpha@libb.so");
	CHECK(!pick(&list, NULL));
	CHECK_STR(err.text, "process 77 has 3 frame buffers: which one?");
	list.nr = 1;
	CHECK(pick(&list, NULL) == &at[0]);
	CHECK(!pick(&list, "Other"));
}

static void a_process_without_buffers_is_explained(void)
{
	struct buffer_symbols list = { .nr = 0 };
	struct buffer_symbol many[9];
	char name[100];
	size_t i;

	CHECK(!pick(&list, NULL));
	CHECK_EQ(err.code, -ENOENT);
	CHECK_STR(err.text, "process 77 has no frame buffers");
	CHECK(strstr(err.hint, "'corotracer run -p 77' traces its coroutines") == err.hint);
	list.unreadable = 1;
	snprintf(list.unreadable_first, sizeof(list.unreadable_first), "/bin/x: gone");
	CHECK(!pick(&list, "Alpha"));
	CHECK_STR(err.text, "process 77 has no frame buffers");
	CHECK_STR(err.hint, "cannot read /bin/x: gone");
	/* As many names as fit. */
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < 9; i++)
		many[i] = (struct buffer_symbol){ .name = name, .file = (char *)"f" };
	list = (struct buffer_symbols){ .at = many, .nr = 9 };
	CHECK(!pick(&list, "y"));
	CHECK_EQ(strlen(err.hint), strlen("choose one with -b: ") + 255);
}

/* ---- descriptions ------------------------------------------------------------------------------
 */

static int describe(uint64_t json, uint64_t bias)
{
	struct buffer_symbol place = { .name = (char *)"Mine", .json = json, .bias = bias };
	struct target t = target_of(getpid());
	struct desc d;
	int rc = live_describe(&t, &place, &d, &err);

	if (!rc) {
		CHECK(d.extended && d.frame_size == 116 && d.stride == 120);
		desc_release(&d);
	}
	target_close(&t);
	return rc;
}

static void the_symbol_is_a_pointer_or_the_text(void)
{
	const char *pointer = __ppt_Fixed_json;
	uint64_t file_address = (uintptr_t)__ppt_Fixed_json - 0x10000;

	CHECK_EQ(describe((uintptr_t)&pointer, 0), 0);
	CHECK_EQ(describe((uintptr_t)__ppt_Fixed_json, 0), 0);
	/* Not relocated yet. */
	CHECK_EQ(describe((uintptr_t)&file_address, 0x10000), 0);
	CHECK(describe((uintptr_t)&file_address, 0) < 0);
	CHECK_EQ(describe(16, 0), -EFAULT);
}

/* The description at the end of mapped memory, with @shift bytes behind the end. */
static int describe_at_end(size_t shift, size_t spaces)
{
	size_t len = strlen(__ppt_Fixed_json), pages = (len + spaces) / 4096 + 2;
	char *map = mmap(NULL, (pages + 1) * 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *text = map + pages * 4096 - len - spaces - 1 + shift;
	int rc;

	CHECK(map != MAP_FAILED);
	memcpy(text, __ppt_Fixed_json, len);
	memset(text + len, ' ', spaces);
	CHECK_EQ(munmap(map + pages * 4096, 4096), 0);
	rc = describe((uintptr_t)text, 0);
	munmap(map, pages * 4096);
	return rc;
}

static void a_description_may_end_with_its_page(void)
{
	CHECK_EQ(describe_at_end(0, 0), 0);
	CHECK_EQ(describe_at_end(1, 1), -EFAULT); /* not terminated */
	CHECK_EQ(describe_at_end(0, 40000), 0);
}

static void a_description_without_an_end_is_refused(void)
{
	char *map = mmap(NULL, DESC_JSON_MAX + 8192, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(map != MAP_FAILED);
	memset(map, ' ', DESC_JSON_MAX + 4096);
	map[0] = '{';
	CHECK_EQ(describe((uintptr_t)map, 0), -E2BIG);
	CHECK_STR(err.text, "the description of the buffer is over 8388608 bytes long");
	munmap(map, DESC_JSON_MAX + 8192);
}

/* The description with @from replaced. */
static int describe_changed(const char *from, const char *to)
{
	char *changed, *at = strstr(__ppt_Fixed_json, from);
	int rc;

	CHECK(at != NULL);
	CHECK(asprintf(&changed, "%.*s%s%s", (int)(at - __ppt_Fixed_json), __ppt_Fixed_json, to,
		       at + strlen(from)) > 0);
	rc = describe((uintptr_t)changed, 0);
	free(changed);
	return rc;
}

static void a_description_that_does_not_fit_is_explained(void)
{
	char expected[200];

	CHECK_EQ(describe_changed("\"frame_size\":116", "\"frame_size\":116"), 0);
	CHECK_EQ(describe_changed("\"abi\":\"1.", "\"abi\":\"2."), -EPROTO);
	CHECK(strstr(err.text, "buffer 'Mine' speaks version '2.") == err.text);
	CHECK(strstr(err.text, "' of the protocol, and we speak 1") != NULL);
	CHECK_STR(err.hint, "use the corotracer whose 'generate' made the program's code");
	CHECK_EQ(describe_changed("\"abi\":\"1.", "\"abi\":\"x."), -EPROTO);
	CHECK_EQ(describe_changed("\"abi\":\"1.", "\"abi\":\"11."), -EPROTO);
	CHECK(describe_changed("\"abi\":\"", "\"abi\":\"1") < 0);
	CHECK(describe_changed("\"frame_size\":116,", "\"frame_size\":,") < 0);
	snprintf(expected, sizeof(expected), "buffer 'Mine' of process %d: ", (int)getpid());
	CHECK(strstr(err.text, expected) == err.text);
	CHECK_EQ(describe_changed("\"stride\":120", "\"stride\":122"), -EPROTO);
	CHECK(strstr(err.text, "its stride is impossible") != NULL);
}

/* ---- who is attached ---------------------------------------------------------------------------
 */

static struct ppt_stat stat_word;
static int32_t hmem_word;
static struct buffer_symbol own_place = { .name = (char *)"Mine" };
static struct live_buffer buffer;

/* A process with that name, which has the segment mapped; 0: none. */
static pid_t start_owner(const char *name, int segment)
{
	int pair[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(pair), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (segment && (intptr_t)shmat(segment, NULL, SHM_RDONLY) == -1)
			_exit(1);
		close(pair[0]);
		close(pair[1]);
		pause();
		_exit(0);
	}
	close(pair[1]);
	CHECK_EQ(read(pair[0], &byte, 1), 0); /* it is ready */
	close(pair[0]);
	return pid;
}

static void end_owner(pid_t pid)
{
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

static void claim_ends(int rc, bool force, pid_t owner, const char *notice)
{
	char expected[256];

	err = (struct err){ 0 };
	buffer.notice[0] = '\0';
	buffer.owned = false;
	stat_word.ppt_agent_pid = owner;
	CHECK_EQ(live_claim(&buffer, force, &err), rc);
	CHECK_EQ(buffer.owned, rc == 0);
	CHECK_EQ(stat_word.ppt_agent_pid, rc ? owner : getpid());
	// NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): one of the texts below
	snprintf(expected, sizeof(expected), notice, (int)owner);
	CHECK_STR(buffer.notice, expected);
}

static void a_free_buffer_is_claimed(void)
{
	unsigned before = count_open();
	pid_t found = 0;

	claim_ends(0, false, 0, "");
	CHECK_EQ(live_owner(&buffer), getpid());
	CHECK(!live_has_other_owner(&buffer, &found));
	CHECK_EQ(found, getpid());
	claim_ends(0, false, getpid(), ""); /* again */
	stat_word.ppt_agent_pid = 1;
	CHECK(live_has_other_owner(&buffer, &found));
	CHECK_EQ(found, 1);
	live_unclaim(&buffer); /* is not ours any more */
	CHECK_EQ(stat_word.ppt_agent_pid, 1);
	CHECK(!buffer.owned);
	claim_ends(0, false, 0, "");
	live_unclaim(&buffer);
	CHECK_EQ(stat_word.ppt_agent_pid, 0);
	own_place.stat = 16;
	CHECK_EQ(live_claim(&buffer, false, &err), -EFAULT);
	CHECK(!buffer.owned && !live_has_other_owner(&buffer, &found));
	own_place.stat = (uintptr_t)&stat_word;
	CHECK_EQ(count_open(), before);
}

static void a_collector_that_works_is_not_disturbed(void)
{
	pid_t owner = start_owner("corotracer", 0), stranger = start_owner("stranger", 0);
	pid_t ppt = start_owner("ppt", 0);
	char expected[200];

	hmem_word = 0;
	claim_ends(-EBUSY, false, owner, "");
	snprintf(expected, sizeof(expected),
		 "buffer 'Mine' of process %d: process %d (corotracer) is attached already",
		 (int)getpid(), (int)owner);
	CHECK_STR(err.text, expected);
	CHECK_STR(err.hint, "end that one, or take over with --force-attach");
	claim_ends(0, true, owner, "taking over from process %d (corotracer), as you asked");
	claim_ends(-EBUSY, false, ppt, "");
	claim_ends(0, false, stranger,
		   "process %d (stranger) is not attached here, though it says so; taking over");
	/* Without a ring no collector is attached. */
	CHECK(live_owner_works(&buffer, owner) && !live_is_attached(&buffer, owner));
	end_owner(owner);
	end_owner(ppt);
	end_owner(stranger);
	claim_ends(0, false, owner,
		   "its last collector, process %d, went without detaching; taking over");
}

static void a_collector_has_its_ring_mapped(void)
{
	int segment = shmget(IPC_PRIVATE, sizeof(struct ppt_control), IPC_CREAT | 0600);
	int small = shmget(IPC_PRIVATE, 16, IPC_CREAT | 0600);
	pid_t owner = start_owner("anything", segment), idle = start_owner("corotracer", 0);
	pid_t with_small = start_owner("anything", small);
	struct ppt_control *c = shmat(segment, NULL, 0); /* after the others: they would have it */

	CHECK(segment > 0 && small > 0 && (intptr_t)c != -1);
	CHECK_EQ(live_set_handle(&buffer, segment, &err), 0);
	CHECK_EQ(hmem_word, segment);
	CHECK(live_owner_works(&buffer, owner) && live_is_attached(&buffer, owner));
	CHECK(!live_owner_works(&buffer, idle) && !live_is_attached(&buffer, idle));
	CHECK(!live_is_attached(&buffer, 0));
	/* A child of fork has the handle of its parent: the block says who attached. */
	buffer.desc.extended = true;
	CHECK(live_owner_works(&buffer, owner)); /* no magic */
	c->magic = PPT_EXT_MAGIC;
	CHECK(live_owner_works(&buffer, owner)); /* not attached yet */
	c->client_pid = getpid();
	CHECK(live_owner_works(&buffer, owner));
	c->client_pid = getpid() + 1;
	CHECK(!live_owner_works(&buffer, owner));
	buffer.desc.extended = false;
	CHECK(live_owner_works(&buffer, owner));
	buffer.desc.extended = true;
	own_place.hmem = 16; /* it cannot be read: better not disturb */
	CHECK(live_owner_works(&buffer, idle));
	own_place.hmem = (uintptr_t)&hmem_word;
	hmem_word = small;
	CHECK(live_owner_works(&buffer, with_small));
	CHECK(!live_owner_works(&buffer, owner));
	buffer.desc.extended = false;
	hmem_word = 0;
	end_owner(owner);
	end_owner(idle);
	end_owner(with_small);
	shmdt(c);
	shmctl(segment, IPC_RMID, NULL);
	shmctl(small, IPC_RMID, NULL);
}

/* In a container, the program knows another number for itself. */
static void a_program_in_a_container_has_its_own_number(void)
{
	int segment = shmget(IPC_PRIVATE, sizeof(struct ppt_control), IPC_CREAT | 0600);
	struct ppt_control *c = shmat(segment, NULL, 0);
	pid_t owner = start_owner("anything", segment), pid;

	CHECK(segment > 0 && (intptr_t)c != -1);
	hmem_word = segment;
	pid = (pid_t)syscall(SYS_clone, CLONE_NEWPID | SIGCHLD, NULL, NULL, NULL, NULL);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		pause();
		_exit(0);
	}
	if (pid > 0) {
		struct live_buffer there = { .place = &own_place, .desc.extended = true };

		there.target = target_of(pid);
		c->magic = PPT_EXT_MAGIC;
		c->client_pid = 1;
		CHECK(live_owner_works(&there, owner));
		c->client_pid = pid;
		CHECK(!live_owner_works(&there, owner));
		target_close(&there.target);
		end_owner(pid);
	}
	hmem_word = 0;
	end_owner(owner);
	shmdt(c);
	shmctl(segment, IPC_RMID, NULL);
}

static void the_programs_error_is_read_if_it_has_one(void)
{
	stat_word.client_error = EPERM;
	buffer.desc.extended = false;
	CHECK_EQ(live_client_error(&buffer), 0);
	buffer.desc.extended = true;
	CHECK_EQ(live_client_error(&buffer), EPERM);
	buffer.desc.extended = false;
}

/* ---- libraries without their symbols ------------------------------------------------------------
 */

static char folder[64];

static void copy_file(const char *from, const char *name)
{
	char path[200], bytes[65536];
	FILE *in = fopen(from, "r"), *out;
	size_t nr;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	out = fopen(path, "w");
	CHECK(in && out);
	nr = fread(bytes, 1, sizeof(bytes), in);
	CHECK(nr > 0 && nr < sizeof(bytes));
	CHECK_EQ(fwrite(bytes, 1, nr, out), nr);
	fclose(in);
	CHECK_EQ(fclose(out), 0);
}

/* How many buffers "Lib" there are, with the library @name loaded; the file is removed @first. */
static size_t count_lib(const char *name, bool first)
{
	struct target t = target_of(getpid());
	struct buffer_symbols list;
	char path[200];
	size_t i, nr = 0;
	unsigned before;
	int *(*hmem)(void);
	void *lib;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	lib = dlopen(path, RTLD_NOW);
	CHECK(lib != NULL);
	*(void **)&hmem = dlsym(lib, "places_lib_hmem");
	if (first)
		CHECK_EQ(unlink(path), 0);
	before = count_open();
	CHECK_EQ(places_find(&t, &list, &err), 0);
	CHECK_EQ(count_open(), before);
	for (i = 0; i < list.nr; i++) {
		if (strcmp(list.at[i].name, "Lib") != 0)
			continue;
		nr++;
		CHECK_EQ(list.at[i].hmem, (uintptr_t)hmem());
		CHECK_STR(list.at[i].file, path);
	}
	places_release(&list);
	target_close(&t);
	dlclose(lib);
	unlink(path);
	return nr;
}

static void a_stripped_library_has_its_symbols_in_another_file(void)
{
	char path[200];

	snprintf(folder, sizeof(folder), "/tmp/corotracer-places-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	copy_file(PIECES "/whole.so", "whole.so");
	CHECK_EQ(count_lib("whole.so", false), 1);
	copy_file(PIECES "/stripped.so", "a.so");
	CHECK_EQ(count_lib("a.so", false), 0);
	copy_file(PIECES "/places.debug", "places.debug");
	copy_file(PIECES "/stripped.so", "b.so");
	CHECK_EQ(count_lib("b.so", false), 1);
	/* Of another build. */
	copy_file(PIECES "/other.debug", "places.debug");
	copy_file(PIECES "/stripped.so", "c.so");
	CHECK_EQ(count_lib("c.so", false), 0);
	snprintf(path, sizeof(path), "%s/.debug", folder);
	CHECK_EQ(mkdir(path, 0700), 0);
	copy_file(PIECES "/places.debug", ".debug/places.debug");
	copy_file(PIECES "/stripped.so", "d.so");
	CHECK_EQ(count_lib("d.so", false), 1);
	/* Root can read a file that was deleted. */
	copy_file(PIECES "/whole.so", "e.so");
	CHECK(geteuid() != 0 || count_lib("e.so", true) == 1);
	snprintf(path, sizeof(path), "%s/.debug/places.debug", folder);
	CHECK_EQ(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/.debug", folder);
	CHECK_EQ(rmdir(path), 0);
	snprintf(path, sizeof(path), "%s/places.debug", folder);
	CHECK_EQ(unlink(path), 0);
	snprintf(path, sizeof(path), "%s/e.so", folder);
	unlink(path);
	CHECK_EQ(rmdir(folder), 0);
}

static void an_open_buffer_has_everything(void)
{
	unsigned before = count_open();
	struct live_buffer b;

	err = (struct err){ 0 };
	CHECK_EQ(live_open(&b, getpid(), "Fixed", &err), 0);
	CHECK_STR(b.place->name, "Fixed");
	CHECK_EQ(b.desc.frame_size, 116);
	CHECK(!b.owned && !b.notice[0]);
	live_release(&b);
	CHECK_EQ(live_open(&b, getpid(), "Nothing", &err), -ENOENT);
	CHECK(live_open(&b, getpid(), "Beta", &err) < 0); /* its text describes nothing */
	CHECK(live_open(&b, 0x7ffffff0, "Fixed", &err) < 0);
	CHECK_EQ(count_open(), before);
}

static void a_ring_is_resized_by_its_collector(void)
{
	err = (struct err){ 0 };
	CHECK_EQ(attach_ask_resize(getpid(), "Fixed", 64, &err), -ENOTSUP);
	CHECK_STR(err.text, "buffer 'Fixed' cannot be resized");
	CHECK_STR(err.hint, "its spec lacks 'option buffer resize on'");
	CHECK_EQ(attach_ask_resize(getpid(), "Busy", 64, &err), -ESRCH);
	CHECK_STR(err.text, "no collector is attached to 'Busy'");
	CHECK_STR(err.hint, "'corotracer attach --size N' starts one with a ring of that size");
	CHECK_EQ(attach_ask_resize(getpid(), "Nothing", 64, &err), -ENOENT);
}

static void open_and_release(void)
{
	struct live_buffer b;

	err = (struct err){ 0 };
	CHECK_EQ(live_open(&b, getpid(), "Fixed", &err), 0);
	live_release(&b);
	CHECK(live_open(&b, getpid(), "Nothing", &err) < 0);
	CHECK(live_open(&b, getpid(), "Beta", &err) < 0);
}

static void nothing_is_kept(void)
{
	check_keeps_no_memory(open_and_release);
}

int main(void)
{
	alarm(60);
	RUN(buffers_are_found_by_their_symbols);
	RUN(a_buffer_is_chosen_by_name_and_file);
	RUN(a_process_without_buffers_is_explained);
	RUN(the_symbol_is_a_pointer_or_the_text);
	RUN(a_description_may_end_with_its_page);
	RUN(a_description_without_an_end_is_refused);
	RUN(a_description_that_does_not_fit_is_explained);
	own_place.hmem = (uintptr_t)&hmem_word;
	own_place.stat = (uintptr_t)&stat_word;
	buffer.place = &own_place;
	buffer.target = target_of(getpid());
	RUN(a_free_buffer_is_claimed);
	RUN(a_collector_that_works_is_not_disturbed);
	RUN(a_collector_has_its_ring_mapped);
	RUN(a_program_in_a_container_has_its_own_number);
	RUN(the_programs_error_is_read_if_it_has_one);
	target_close(&buffer.target);
	RUN(a_stripped_library_has_its_symbols_in_another_file);
	RUN(an_open_buffer_has_everything);
	RUN(a_ring_is_resized_by_its_collector);
	RUN(nothing_is_kept);
	return 0;
}
