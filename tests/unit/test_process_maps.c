/* SPDX-License-Identifier: MIT */
/* test_process_maps.c - mappings of a child process whose files have hostile names. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "process/mapped_file.h"
#include "process/process_maps.h"

#define PAGE 4096L

static char folder[PATH_MAX];

/* ---- a child process ----------------------------------------------------- */

struct child {
	pid_t pid;
	int up[2], down[2];
};

/* The child calls @prepare, then waits until child_end(). */
static void child_begin(struct child *c, void (*prepare)(void))
{
	char byte = 0;

	CHECK(pipe2(c->up, O_CLOEXEC) == 0 && pipe2(c->down, O_CLOEXEC) == 0);
	c->pid = fork();
	CHECK(c->pid >= 0);
	if (c->pid == 0) {
		close(c->down[1]);
		prepare();
		CHECK(write(c->up[1], &byte, 1) == 1);
		_exit(read(c->down[0], &byte, 1) == 0 ? 0 : 1);
	}
	close(c->up[1]);
	CHECK(read(c->up[0], &byte, 1) == 1);
}

static void child_end(struct child *c)
{
	int status;

	close(c->down[1]);
	CHECK(waitpid(c->pid, &status, 0) == c->pid && status == 0);
	close(c->up[0]);
	close(c->down[0]);
}

/* ---- files with names that the kernel changes ---------------------------- */

static const char *const hostile[] = { "new\nline",     "two\n\nlines (deleted) of\n",
				       "  spaces  ",    "7f00-7f01 r-xp 0 0:0 5 x",
				       "tab\tand\\nul", "\xff\xfe bytes",
				       "gone (deleted)" };
#define NR_HOSTILE (sizeof(hostile) / sizeof(hostile[0]))

static char *path_of(const char *name)
{
	static char path[PATH_MAX + 300];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void *map_one(const char *name, int prot, int flags)
{
	int fd = open(path_of(name), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	void *at;

	CHECK(fd >= 0 && ftruncate(fd, 3 * PAGE) == 0);
	at = mmap(NULL, PAGE, prot, flags, fd, PAGE);
	CHECK(at != MAP_FAILED);
	close(fd);
	return at;
}

static void map_hostile(void)
{
	size_t i;

	for (i = 0; i < NR_HOSTILE; i++)
		map_one(hostile[i], PROT_READ, MAP_SHARED);
	map_one("was here", PROT_READ | PROT_WRITE, MAP_PRIVATE);
	CHECK(unlink(path_of("was here")) == 0);
}

static const struct process_map *find_path(const struct process_maps *maps, const char *path)
{
	const struct process_map *found = NULL;
	size_t i;

	for (i = 0; i < maps->nr; i++) {
		if (!maps->list[i].path || strcmp(maps->list[i].path, path) != 0)
			continue;
		CHECK(!found);
		found = &maps->list[i];
	}
	CHECK(found);
	return found;
}

static void hostile_names_are_read_as_the_files_are_called(void)
{
	struct process_maps maps;
	struct child c;
	struct stat st;
	size_t i;

	child_begin(&c, map_hostile);
	CHECK_EQ(process_maps_read(c.pid, &maps), 0);
	for (i = 0; i + 1 < NR_HOSTILE; i++) {
		const struct process_map *map = find_path(&maps, path_of(hostile[i]));

		CHECK(stat(path_of(hostile[i]), &st) == 0);
		CHECK(map->inode == st.st_ino && map->end - map->start == PAGE);
		CHECK(map->offset == PAGE && map->shared && map->read && !map->write);
		CHECK(!map->exec && !map->deleted);
		CHECK(process_maps_find(&maps, map->start) == map);
		CHECK(process_maps_find(&maps, map->end - 1) == map);
		CHECK(process_maps_find(&maps, map->end) != map);
		CHECK(process_maps_file(c.pid, path_of(hostile[i])));
	}
	CHECK(!process_maps_file(c.pid, path_of("new")));
	CHECK(!process_maps_file(c.pid, path_of("spaces")));
	process_maps_free(&maps);
	child_end(&c);
}

static void a_deleted_file_is_marked_and_so_is_one_that_is_called_so(void)
{
	const struct process_map *map;
	struct process_maps maps;
	struct child c;
	struct stat st;

	child_begin(&c, map_hostile);
	CHECK_EQ(process_maps_read(c.pid, &maps), 0);
	map = find_path(&maps, path_of("was here"));
	CHECK(map->deleted && map->write && !map->shared);
	/* The name is misread; the numbers are those of the file. */
	map = find_path(&maps, path_of("gone"));
	CHECK(map->deleted && stat(path_of("gone (deleted)"), &st) == 0);
	CHECK(map->inode == st.st_ino);
	CHECK(!st.st_dev || map->dev == st.st_dev || major(st.st_dev) == 0);
	CHECK(process_maps_file(c.pid, path_of("was here")));
	process_maps_free(&maps);
	child_end(&c);
}

/* ---- memory without a file ----------------------------------------------- */

static int segment = -1;

static void map_shared_memory(void)
{
	int fd = memfd_create("name with\nnewline", MFD_CLOEXEC);

	CHECK(fd >= 0 && ftruncate(fd, PAGE) == 0);
	CHECK(mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0) != MAP_FAILED);
	CHECK((intptr_t)shmat(segment, NULL, SHM_RDONLY) != -1);
}

static void shared_memory_has_a_name_and_the_id_of_its_segment(void)
{
	const struct process_map *map;
	struct process_maps maps;
	struct child c;
	size_t i, nr = 0;

	segment = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	CHECK(segment >= 0);
	child_begin(&c, map_shared_memory);
	CHECK(shmctl(segment, IPC_RMID, NULL) == 0);
	CHECK_EQ(process_maps_read(c.pid, &maps), 0);
	CHECK(find_path(&maps, "/memfd:name with\nnewline")->deleted);
	map = find_path(&maps, "/SYSV00000000");
	CHECK(map->deleted && map->inode == (uint64_t)segment);
	CHECK(!find_path(&maps, "[stack]")->deleted);
	for (i = 0; i < maps.nr; i++) {
		CHECK(!i || maps.list[i - 1].end <= maps.list[i].start);
		nr += !maps.list[i].path;
		if (!maps.list[i].path)
			CHECK(!maps.list[i].inode);
	}
	CHECK(nr > 0);
	process_maps_free(&maps);
	child_end(&c);
}

/* ---- programs ------------------------------------------------------------ */

static void build_id_of_fd(int fd, char text[BUILD_ID_TEXT])
{
	Elf *elf;

	CHECK(fd >= 0 && elf_version(EV_CURRENT) != EV_NONE);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	CHECK(elf && mapped_file_build_id(elf, text));
	elf_end(elf);
	close(fd);
}

static void copy_program(const char *to)
{
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0700);
	char buf[65536];
	ssize_t n;

	CHECK(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		CHECK(write(out, buf, (size_t)n) == n);
	close(in);
	close(out);
}

/* Returns the input of the program, which runs until it is closed. */
static int start_copy(const char *path, pid_t *pid)
{
	int to[2], from[2];
	char byte;

	CHECK(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	*pid = fork();
	CHECK(*pid >= 0);
	if (*pid == 0) {
		dup2(to[0], 0);
		dup2(from[1], 1);
		execl(path, path, "wait", (char *)NULL);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	CHECK(read(from[0], &byte, 1) == 1);
	close(from[0]);
	return to[1];
}

static void the_build_id_of_a_deleted_program_is_read(void)
{
	const char *path = path_of("program\n1");
	char own[BUILD_ID_TEXT], its[BUILD_ID_TEXT];
	const struct process_map *map;
	struct process_maps maps;
	int input, status;
	size_t i = 0;
	pid_t pid;

	copy_program(path);
	input = start_copy(path, &pid);
	CHECK(unlink(path) == 0);
	CHECK_EQ(process_maps_read(pid, &maps), 0);
	while (i < maps.nr && (!maps.list[i].path || strcmp(maps.list[i].path, path) != 0))
		i++;
	CHECK(i < maps.nr);
	map = &maps.list[i];
	CHECK(map->deleted && process_map_same_file(map, map));
	build_id_of_fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), own);
	build_id_of_fd(mapped_file_open(pid, map), its);
	CHECK_STR(its, own);
	process_maps_free(&maps);
	close(input);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* A map of @pid whose path contains @words. */
static const struct process_map *map_of(const struct process_maps *maps, const char *words)
{
	size_t i = 0;

	while (i < maps->nr && (!maps->list[i].path || !strstr(maps->list[i].path, words)))
		i++;
	CHECK(i < maps->nr);
	return &maps->list[i];
}

static ino_t inode_of(int fd)
{
	struct stat st;

	CHECK(fd >= 0 && fstat(fd, &st) == 0);
	close(fd);
	return st.st_ino;
}

/* map_files is for root: others use the program, the path in its root, and the path here. */
static void open_as_user(const char *path)
{
	struct process_maps maps;
	struct process_map map;
	pid_t pid;
	int input = start_copy(path, &pid), status;

	CHECK_EQ(process_maps_read(pid, &maps), 0);
	map = *map_of(&maps, path);
	CHECK_EQ(inode_of(mapped_file_open(pid, &map)), map.inode);
	map = *map_of(&maps, "/libc.so");
	CHECK_EQ(inode_of(mapped_file_open(pid, &map)), map.inode);
	/* It is not the program, and another file may have its name now. */
	map.deleted = true;
	errno = 0;
	CHECK(mapped_file_open(pid, &map) == -1 && errno == ENOENT);
	map.deleted = false;
	/* Without the process: the path here, if it is the same file. */
	CHECK_EQ(inode_of(mapped_file_open(1 << 28, &map)), map.inode);
	map.inode++;
	CHECK(mapped_file_open(1 << 28, &map) == -1 && errno == ENOENT);
	map.path = (char *)"/no/such/file";
	CHECK_EQ(mapped_file_open(pid, &map), -1);
	CHECK(inode_of(mapped_file_open_path(pid, "/")) > 0);
	CHECK(inode_of(mapped_file_open_path(1 << 28, "/")) > 0);
	CHECK_EQ(mapped_file_open_path(pid, "/no/such/file"), -1);
	process_maps_free(&maps);
	close(input);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	_exit(0);
}

static void files_are_opened_without_privileges(void)
{
	const char *path = path_of("program2");
	int status;
	pid_t pid;

	copy_program(path);
	CHECK(chmod(path, 0755) == 0 && chmod(folder, 0755) == 0);
	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		CHECK(getuid() != 0 || (setgid(65534) == 0 && setuid(65534) == 0));
		open_as_user(path);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(unlink(path) == 0);
}

static void a_process_that_has_ended_has_no_mappings(void)
{
	struct process_maps maps;
	siginfo_t info;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0)
		_exit(0);
	CHECK(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) == 0);
	CHECK(process_maps_read(pid, &maps) <= 0 && maps.nr == 0);
	process_maps_free(&maps);
	CHECK(waitpid(pid, NULL, 0) == pid);
	CHECK(process_maps_read(pid, &maps) < 0 && maps.nr == 0 && !maps.text);
	CHECK(!process_maps_file(pid, "/") && process_maps_read(-1, &maps) == -ENOENT);
}

/* ---- text ---------------------------------------------------------------- */

static void lines_that_the_kernel_does_not_write_are_skipped(void)
{
	static const char text[] = "1000-2000 r-xp 00000000 fe:01 12     /a\n"
				   "nonsense\n"
				   "\n"
				   "3000-3000 r-xp 0 0:0 0 /empty\n"
				   "1800-2800 r--s 0 0:0 0\n"
				   "1000-9000 r-xp 0 0:0 0 /back\n"
				   "4000-5000 r-q- 0 0:0 0 /rights\n"
				   "10000000000000000-20000000000000000 r-xp 0 0:0 0 /large\n"
				   "6000-7000 ---p 5 0:0 18446744073709551615   (deleted)\n"
				   "ffffffffff600000-ffffffffff601000 --xp 0 00:00 0   [vsyscall]\n"
				   "8000-9000 r-xp 0 0:0 0 /no newline";
	char *copy = malloc(sizeof(text) - 1);
	struct process_maps maps;

	CHECK(copy != NULL);
	memcpy(copy, text, sizeof(text) - 1);
	CHECK_EQ(process_maps_parse(copy, sizeof(text) - 1, &maps), 0);
	CHECK_EQ(maps.nr, 4);
	CHECK_STR(maps.list[0].path, "/a");
	CHECK(maps.list[0].dev == makedev(0xfe, 1) && maps.list[0].inode == 12);
	CHECK(maps.list[1].start == 0x1800 && maps.list[1].shared && !maps.list[1].path);
	CHECK(maps.list[2].inode == UINT64_MAX && maps.list[2].offset == 5);
	CHECK_STR(maps.list[2].path, "(deleted)");
	CHECK_STR(maps.list[3].path, "[vsyscall]");
	CHECK(!process_maps_find(&maps, 0xfff) && !process_maps_find(&maps, UINT64_MAX));
	CHECK(process_maps_find(&maps, 0x1000) == &maps.list[0]);
	process_maps_free(&maps);
}

static void only_a_mapped_file_is_mapped(void)
{
	char exe[4096] = "";

	CHECK(readlink("/proc/self/exe", exe, sizeof(exe) - 1) > 0);
	CHECK(process_maps_file(getpid(), exe));
	CHECK(process_maps_file(getpid(), "/proc/self/exe")); /* by its number */
	*strrchr(exe, '/') = '\0';                            /* on the same device */
	CHECK(!process_maps_file(getpid(), exe));
	CHECK(!process_maps_file(getpid(), "/no/such/file"));
}

int main(int argc, char **argv)
{
	char byte = 0;

	(void)argv;
	if (argc > 1) /* the copy of the_build_id_of_a_deleted_program_is_read */
		return write(1, &byte, 1) == 1 && read(0, &byte, 1) == 0 ? 0 : 1;
	snprintf(folder, sizeof(folder), "/tmp/test-process-maps-XXXXXX");
	CHECK(mkdtemp(folder) != NULL);
	RUN(hostile_names_are_read_as_the_files_are_called);
	RUN(a_deleted_file_is_marked_and_so_is_one_that_is_called_so);
	RUN(shared_memory_has_a_name_and_the_id_of_its_segment);
	RUN(the_build_id_of_a_deleted_program_is_read);
	RUN(files_are_opened_without_privileges);
	RUN(a_process_that_has_ended_has_no_mappings);
	RUN(lines_that_the_kernel_does_not_write_are_skipped);
	RUN(only_a_mapped_file_is_mapped);
	for (size_t i = 0; i < NR_HOSTILE; i++)
		unlink(path_of(hostile[i]));
	CHECK(rmdir(folder) == 0);
	return 0;
}
