/* SPDX-License-Identifier: MIT */
/* process_look.c - `corotracer why` as a process of its own: what it found, as JSON. */
#include "process_look.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/niceness.h"
#include "look_wait.h"

#define LOOK_NICE  10
#define LOOK_CPU_S 60
#ifdef __SANITIZE_ADDRESS__
#define LOOK_MEMORY ((rlim_t)0) /* no limit: shadow memory is address space */
#else
#define LOOK_MEMORY ((rlim_t)8 << 30)
#endif
#define LOOK_BYTES_MAX ((off_t)256 << 20)

/* In the new process, after fork(2). */
static void look_exec(const struct process_look *look, const char *pid, pid_t parent)
{
	const struct rlimit cpu = { LOOK_CPU_S, LOOK_CPU_S }, memory = { LOOK_MEMORY, LOOK_MEMORY };
	const struct rlimit size = { LOOK_BYTES_MAX, LOOK_BYTES_MAX };
	int null = open("/dev/null", O_RDWR);
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || null < 0 || dup2(null, 0) < 0 || dup2(look->fd, 1) < 0 ||
	    dup2(null, 2) < 0)
		_exit(1);
	setpgid(0, 0); /* Ctrl-C is for the collector */
	sigemptyset(&none);
	pthread_sigmask(SIG_SETMASK, &none, NULL);
	niceness_at_least(LOOK_NICE);
	if (setrlimit(RLIMIT_CPU, &cpu) < 0 || (LOOK_MEMORY && setrlimit(RLIMIT_AS, &memory) < 0) ||
	    setrlimit(RLIMIT_FSIZE, &size) < 0)
		_exit(1);
	execl("/proc/self/exe", "corotracer", "why", "--json", "-p", pid, (char *)NULL);
	_exit(1);
}

bool process_look_begin(struct process_look *look, pid_t pid)
{
	pid_t parent = getpid();
	char text[16];

	snprintf(text, sizeof(text), "%d", (int)pid);
	look->fd = memfd_create("corotracer-look", MFD_CLOEXEC);
	if (look->fd < 0)
		return false;
	look->ts = monotonic_clock_ns(CLOCK_MONOTONIC);
	look->child = fork();
	if (look->child == 0)
		look_exec(look, text, parent);
	if (look->child > 0)
		return true;
	look->child = 0;
	close(look->fd);
	return false;
}

void process_look_end(struct process_look *look)
{
	if (!look->child)
		return;
	kill(-look->child, SIGKILL); /* with its children, if it has its group already */
	kill(look->child, SIGKILL);
	while (waitpid(look->child, NULL, 0) < 0 && errno == EINTR)
		;
	close(look->fd);
	look->child = 0;
}

static json_t *look_parse(const struct process_look *look)
{
	json_t *found = NULL;
	struct stat st;
	void *map;

	if (fstat(look->fd, &st) < 0 || st.st_size <= 0 || st.st_size >= LOOK_BYTES_MAX)
		return NULL;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, look->fd, 0);
	if (map != MAP_FAILED) {
		found = json_loadb(map, (size_t)st.st_size, 0, NULL);
		munmap(map, (size_t)st.st_size);
	}
	return found;
}

json_t *process_look_take(struct process_look *look, char why[LOOK_WHY_SIZE])
{
	json_t *found = NULL;

	snprintf(why, LOOK_WHY_SIZE, "the look at the program could not be started");
	if (look->child && look_wait(look->child, look->is_unwanted, why, LOOK_WHY_SIZE)) {
		snprintf(why, LOOK_WHY_SIZE, "the result of the look at the program is unusable");
		found = look_parse(look);
	}
	process_look_end(look);
	return found;
}
