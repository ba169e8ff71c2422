/* SPDX-License-Identifier: MIT */
/*
 * loaded_modules.c - record mapped modules and facts about the process in the calling thread's
 * stream.
 *
 * Code addresses cannot be resolved without the modules.  They are recorded at the start, and
 * again whenever an instrumented library is loaded: its __tsan_init() leads here.
 */
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "container.h"
#include "trace_session.h"
#include "sys.h"

/* Find the build-id in the notes of one segment.  Returns its size, or 0. */
static uint32_t loaded_modules_build_id(const uint8_t *at, uint64_t size, uint8_t *out)
{
	while (size >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *n = (const ElfW(Nhdr) *)at;
		uint64_t name = (n->n_namesz + 3u) & ~UINT64_C(3);
		uint64_t desc = (n->n_descsz + 3u) & ~UINT64_C(3);
		uint64_t all = sizeof(*n) + name + desc;

		if (all > size)
			return 0;
		if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
		    __builtin_memcmp(n + 1, "GNU", 4) == 0) {
			uint32_t nr = n->n_descsz < 32 ? n->n_descsz : 32;

			__builtin_memcpy(out, at + sizeof(*n) + name, nr);
			return nr;
		}
		at += all;
		size -= all;
	}
	return 0;
}

static void loaded_modules_look_at(const struct dl_phdr_info *info, struct cray_module *m)
{
	uint32_t i;

	m->start = UINT64_MAX;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t from = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD) {
			m->start = from < m->start ? from : m->start;
			m->end = from + p->p_memsz > m->end ? from + p->p_memsz : m->end;
		} else if (p->p_type == PT_NOTE && !m->build_id_size) {
			/* NOLINTNEXTLINE(performance-no-int-to-ptr): an address from the loader */
			const uint8_t *note = (const uint8_t *)(uintptr_t)from;

			m->build_id_size = (uint8_t)loaded_modules_build_id(note, p->p_memsz,
									    m->build_id);
		}
	}
}

/* Start addresses of the modules that are recorded already. */
#define TOLD_MAX 1024u
static uint64_t told[TOLD_MAX];
static uint32_t nr_told, told_generation;
static unsigned long long adds_told;

static bool is_told(uint64_t start)
{
	uint32_t i;

	for (i = 0; i < nr_told; i++) {
		if (told[i] == start)
			return true;
	}
	if (nr_told < TOLD_MAX)
		told[nr_told++] = start;
	return false;
}

/* The program itself has no name; a library that dlopen found by a relative path has that path. */
static const char *loaded_modules_path(const char *name, char *buf, uint64_t room)
{
	uint64_t length = name ? crt_length(name) : 0, slash = 0;
	ssize_t n;

	while (slash < length && name[slash] != '/')
		slash++;
	if (length && (slash == 0 || slash == length)) /* or not a file: the vdso */
		return name;
	n = readlink(length ? "/proc/self/cwd" : "/proc/self/exe", buf, room - 1);
	n = n > 0 ? n : 0;
	buf[n] = '\0';
	if (!length)
		return buf;
	if (!n || (uint64_t)n + length + 2 > room)
		return name;
	buf[n] = '/';
	__builtin_memcpy(buf + n + 1, name, length + 1);
	return buf;
}

static int tell_one(struct dl_phdr_info *info, size_t size, void *data)
{
	struct cray_module m = { 0 };
	char buf[1024];
	const char *path;
	uint64_t length;

	(void)size;
	(void)data;
	adds_told = info->dlpi_adds;
	loaded_modules_look_at(info, &m);
	if (m.end <= m.start || is_told(m.start))
		return 0;
	path = loaded_modules_path(info->dlpi_name, buf, sizeof(buf));
	length = crt_length(path);
	if (length > CRW_PAYLOAD_MAX - sizeof(m))
		length = CRW_PAYLOAD_MAX - sizeof(m);
	m.bias = info->dlpi_addr;
	m.order = __atomic_load_n(&crt_state.word, __ATOMIC_RELAXED) >> 1;
	m.time_ns = crt_now();
	m.path_size = (uint16_t)length;
	crt_put_long(CRW_MODULE, 0, 1, &m, sizeof(m), path, (uint32_t)length);
	return 0;
}

/* *@changed: a module was loaded since the last call. */
static int loaded_modules_ask(struct dl_phdr_info *info, size_t size, void *changed)
{
	(void)size;
	*(bool *)changed = info->dlpi_adds != adds_told;
	return 1;
}

void crt_tell_modules(void)
{
	static uint32_t busy; /* [threads] */
	bool changed = true;

	/* Another thread is recording modules, or two dlopen calls overlap: one pass is enough. */
	if (__atomic_exchange_n(&busy, 1, __ATOMIC_RELAXED) &&
	    told_generation == crt_session.generation)
		return;
	if (told_generation != crt_session.generation) {
		nr_told = 0;
		told_generation = crt_session.generation;
	} else {
		dl_iterate_phdr(loaded_modules_ask, &changed);
	}
	if (changed)
		dl_iterate_phdr(tell_one, NULL);
	__atomic_store_n(&busy, 0, __ATOMIC_RELAXED);
}

static void loaded_modules_fact(uint64_t key, const void *bytes, uint64_t size)
{
	if (size)
		crt_put_long(CRW_FACT, key, 1, bytes,
			     (uint32_t)(size > CRW_PAYLOAD_MAX ? CRW_PAYLOAD_MAX : size), NULL, 0);
}

static void fact_link(uint64_t key, const char *path)
{
	char text[1024];
	ssize_t n = readlink(path, text, sizeof(text));

	if (n > 0)
		loaded_modules_fact(key, text, (uint64_t)n);
}

void crt_tell_facts(void)
{
	uint64_t pid = crt_session.pid, parent = (uint64_t)getppid();
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t line = crt_session.region.processes[crt_session.process].line_size;
	char text[CRW_PAYLOAD_MAX + 1];
	struct utsname name;
	const char *options;
	size_t n;

	loaded_modules_fact(CRAY_FACT_PID, &pid, sizeof(pid));
	loaded_modules_fact(CRAY_FACT_PARENT, &parent, sizeof(parent));
	loaded_modules_fact(CRAY_FACT_PAGE, &page, sizeof(page));
	loaded_modules_fact(CRAY_FACT_LINE, &line, sizeof(line));
	fact_link(CRAY_FACT_EXE, "/proc/self/exe");
	fact_link(CRAY_FACT_CWD, "/proc/self/cwd");
	n = crt_read_file("/proc/self/cmdline", text, sizeof(text));
	loaded_modules_fact(CRAY_FACT_COMMAND, text, n);
	if (uname(&name) == 0)
		loaded_modules_fact(CRAY_FACT_MACHINE, name.machine, crt_length(name.machine));
	/* Alone, they are in the file already. */
	options = getenv("CACHERAY_OPTIONS");
	if (options && !crt_session.alone && crt_length(options) <= CRW_PAYLOAD_MAX)
		loaded_modules_fact(CRAY_FACT_OPTIONS, options, crt_length(options));
}
