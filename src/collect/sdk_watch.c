/* SPDX-License-Identifier: MIT */
/* sdk_watch.c - find the processes that have the SDK and did not connect. */
#include "collect/sdk_watch.h"

#include <corotracer/request.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "collect/program_request.h"
#include "process/elf_file.h"

/* Each interval is twice the last: a run of one day is looked at 25 times. */
#define SDK_FIRST_LOOK_NS (3 * NS_PER_MS)

/* Blocks are read after this part of the run's time: what a program did last is missed for 2 %. */
#define SDK_BLOCK_SHARE 50u

/* Processes that one look takes into account. */
#define SDK_TREE 256u

/* ---- the program's file ----------------------------------------------------- */

/* -1: there is no such file, or it cannot be a program. */
static int sdk_open_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)))
		return fd;
	close(fd);
	return -1;
}

/* Open @name as execvp(3) finds it: an empty folder of PATH is the current one. */
static int sdk_open_program(const char *name)
{
	const char *at = getenv("PATH"), *end;
	char path[4096];
	int fd;

	if (strchr(name, '/'))
		return sdk_open_file(name);
	for (at = at ? at : "/bin:/usr/bin";; at = end + 1) {
		end = strchrnul(at, ':');
		snprintf(path, sizeof(path), "%.*s%s%s", (int)(end - at), at, end > at ? "/" : "",
			 name);
		fd = access(path, X_OK) == 0 ? sdk_open_file(path) : -1;
		if (fd >= 0 || !*end)
			return fd;
	}
}

void sdk_watch_begin(struct sdk_watch *w, pid_t program, const char *name, uint64_t now_ns)
{
	int fd = sdk_open_program(name);

	memset(w, 0, sizeof(*w));
	w->program = program;
	w->start_ns = now_ns;
	w->next_ns = now_ns + SDK_FIRST_LOOK_NS;
	w->next_block_ns = UINT64_MAX;
	snprintf(w->name, sizeof(w->name), "%s",
		 strrchr(name, '/') ? strrchr(name, '/') + 1 : name);
	if (fd < 0)
		return;
	w->has_sdk = elf_file_has_note(fd, CTP_NOTE_NAME, CTP_NOTE_REQUEST) ||
		     elf_file_needs(fd, "libcorotracer.so");
	close(fd);
}

/* ---- processes --------------------------------------------------------------- */

struct sdk_tree {
	uint32_t pids[SDK_TREE];
	uint32_t nr;
};

/* Add the children of one thread. */
static void sdk_add_children(struct sdk_tree *tree, const char *path)
{
	FILE *f = fopen(path, "re");
	unsigned pid;

	while (f && tree->nr < SDK_TREE && fscanf(f, "%u", &pid) == 1)
		tree->pids[tree->nr++] = pid;
	if (f)
		fclose(f);
}

static void sdk_add_tree(struct sdk_tree *tree, uint32_t pid)
{
	struct dirent *e;
	char path[320];
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%u/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%u/task/%s/children", pid, e->d_name);
		sdk_add_children(tree, path);
	}
	if (d)
		closedir(d);
}

static bool sdk_is_peer(const struct endpoint *e, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < e->nr_peers; i++) {
		if (e->peers[i].pid == pid)
			return true;
	}
	return false;
}

static struct sdk_process *sdk_process_of(struct sdk_watch *w, uint32_t pid)
{
	uint32_t i;

	for (i = 0; i < w->nr; i++) {
		if (w->found[i].pid == pid)
			return &w->found[i];
	}
	if (w->nr == SDK_PROCESSES)
		return NULL;
	w->found[w->nr] = (struct sdk_process){ .pid = pid };
	return &w->found[w->nr++];
}

static void sdk_look_at(struct sdk_watch *w, uint32_t pid)
{
	struct sdk_process *p;
	uint64_t block;
	uint32_t why;

	if (!request_peek((pid_t)pid, &why, &block))
		return;
	p = sdk_process_of(w, pid);
	if (!p)
		return;
	p->is_seen = true;
	p->why = why;
	p->block = block;
	target_name((pid_t)pid, p->name);
}

/* Read the blocks of processes that were found again.  Returns true if there are any. */
static bool sdk_read_blocks(struct sdk_watch *w, const struct endpoint *e)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < w->nr; i++) {
		struct sdk_process *p = &w->found[i];

		if (!p->block || sdk_is_peer(e, p->pid))
			continue;
		if (request_peek_again((pid_t)p->pid, p->block, &p->why))
			any = true;
		else
			p->block = 0;
	}
	return any;
}

static void sdk_look_at_all(struct sdk_watch *w, const struct endpoint *e)
{
	struct sdk_tree tree = { .nr = 1 };
	uint32_t i;

	tree.pids[0] = (uint32_t)w->program;
	for (i = 0; i < tree.nr; i++) {
		sdk_add_tree(&tree, tree.pids[i]);
		if (!sdk_is_peer(e, tree.pids[i]))
			sdk_look_at(w, tree.pids[i]);
	}
}

uint64_t sdk_watch_wait(const struct sdk_watch *w, uint64_t now_ns, uint64_t ns)
{
	uint64_t next = w->next_block_ns < w->next_ns ? w->next_block_ns : w->next_ns;
	uint64_t left = next > now_ns ? next - now_ns : 0;

	return w->program && left < ns ? left : ns;
}

void sdk_watch_look(struct sdk_watch *w, const struct endpoint *e, uint64_t now_ns)
{
	uint64_t age = now_ns - w->start_ns;

	if (!w->program)
		return;
	if (now_ns >= w->next_ns) {
		w->next_ns = now_ns + age;
		w->next_block_ns = now_ns;
		sdk_look_at_all(w, e);
	}
	if (now_ns >= w->next_block_ns)
		w->next_block_ns = sdk_read_blocks(w, e)
					   ? now_ns + SDK_FIRST_LOOK_NS + age / SDK_BLOCK_SHARE
					   : UINT64_MAX;
}

/* ---- the result --------------------------------------------------------------- */

bool sdk_process_failed(const struct sdk_process *p)
{
	uint32_t why = p->why & 0xff;

	return p->is_seen && why > CTP_WHY_ATTACHED && why <= CTP_WHY_NO_MEMORY;
}

static void sdk_add_reports(struct sdk_watch *w, const struct endpoint *e)
{
	uint32_t i;

	for (i = 0; i < e->nr_failed; i++) {
		struct sdk_process *p = sdk_process_of(w, e->failed[i].pid);

		if (!p)
			continue;
		p->is_seen = true;
		p->why = e->failed[i].why;
		memcpy(p->name, e->failed[i].name, sizeof(p->name));
	}
}

void sdk_watch_finish(struct sdk_watch *w, const struct endpoint *e)
{
	struct sdk_process *p;
	uint32_t i, kept = 0;

	sdk_add_reports(w, e);
	p = w->has_sdk ? sdk_process_of(w, (uint32_t)w->program) : NULL;
	if (p && !p->is_seen)
		memcpy(p->name, w->name, sizeof(p->name));
	for (i = 0; i < w->nr; i++) {
		p = &w->found[i];
		if (sdk_is_peer(e, p->pid) || (p->why & 0xff) == CTP_WHY_ATTACHED)
			continue;
		/* A process that only starts others needs no coroutine. */
		if (!e->nr_peers || sdk_process_failed(p))
			w->found[kept++] = *p;
	}
	w->nr = kept;
}

const char *sdk_process_reason(const struct sdk_process *p)
{
	static const char *const reasons[] = {
		[CTP_WHY_NO_COROUTINE] = "no-coroutine",
		[CTP_WHY_NO_ENVIRONMENT] = "no-environment",
		[CTP_WHY_SECURE] = "secure",
		[CTP_WHY_NOT_OPENED] = "not-opened",
		[CTP_WHY_NOT_REGION] = "not-a-region",
		[CTP_WHY_VERSION] = "version",
		[CTP_WHY_NOT_MAPPED] = "not-mapped",
		[CTP_WHY_NO_MEMORY] = "no-memory",
	};
	uint32_t why = p->why & 0xff;

	if (!p->is_seen)
		return "not-seen";
	if (why >= sizeof(reasons) / sizeof(reasons[0]) || !reasons[why])
		return "unknown";
	return reasons[why];
}
