/* SPDX-License-Identifier: MIT */
/* mem_facts.c - metadata of a memory trace: process, modules, threads, losses. */
#include "memory/format/mem_facts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACT_MAX (1u << 20) /* bytes per fact; longer facts are cut */

/* A copy with a terminating NUL; embedded NULs stay. */
static char *mem_copy(const void *data, size_t size)
{
	char *text = malloc(size + 1);

	if (text) {
		memcpy(text, data, size);
		text[size] = '\0';
	}
	return text;
}

static int mem_replace(char **where, const void *data, size_t size)
{
	char *text = mem_copy(data, size < FACT_MAX ? size : FACT_MAX);

	if (!text)
		return -ENOMEM;
	free(*where);
	*where = text;
	return 0;
}

/* Grow @array to hold one more element of @width bytes. */
static int mem_grow(void **array, size_t nr, size_t *size, size_t width)
{
	size_t more = *size ? *size * 2 : 16;
	void *bigger;

	if (nr < *size)
		return 0;
	bigger = realloc(*array, more * width);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*size = more;
	return 0;
}

/* ---- the process --------------------------------------------------------- */

const char *mem_module_build_id(const struct mem_module *m, char buf[65])
{
	unsigned i;

	for (i = 0; i < m->m.build_id_size && i < sizeof(m->m.build_id); i++)
		snprintf(buf + (size_t)i * 2, 3, "%02x", m->m.build_id[i]);
	return i ? buf : NULL;
}

int mem_facts_add_note(struct mem_facts *f, const char *text, size_t size)
{
	if (f->nr_notes == MEM_NOTES_MAX)
		return 0;
	f->notes[f->nr_notes] = mem_copy(text, size < FACT_MAX ? size : FACT_MAX);
	return f->notes[f->nr_notes] ? (f->nr_notes++, 0) : -ENOMEM;
}

static void mem_facts_mem_number(uint64_t *where, const uint8_t *data, size_t size)
{
	if (size == sizeof(*where))
		memcpy(where, data, size);
}

static int mem_command(struct mem_facts *f, const uint8_t *data, size_t size)
{
	f->command_size = size < FACT_MAX ? size : FACT_MAX;
	return mem_replace(&f->command, data, size);
}

static int one_fact(struct mem_facts *f, uint16_t key, const uint8_t *data, size_t size)
{
	switch (key) {
	case CRAY_FACT_PID:
		mem_facts_mem_number(&f->pid, data, size);
		return 0;
	case CRAY_FACT_PARENT:
		mem_facts_mem_number(&f->parent, data, size);
		return 0;
	case CRAY_FACT_LINE:
		mem_facts_mem_number(&f->line_size, data, size);
		return 0;
	case CRAY_FACT_PAGE:
		mem_facts_mem_number(&f->page_size, data, size);
		return 0;
	case CRAY_FACT_EXE:
		return mem_replace(&f->exe, data, size);
	case CRAY_FACT_COMMAND:
		return mem_command(f, data, size);
	case CRAY_FACT_CWD:
		return mem_replace(&f->cwd, data, size);
	case CRAY_FACT_MACHINE:
		return mem_replace(&f->machine, data, size);
	case CRAY_FACT_WRITER:
		return mem_replace(&f->writer, data, size);
	case CRAY_FACT_OPTIONS:
		return mem_replace(&f->options, data, size);
	case CRAY_FACT_NOTE:
		return mem_facts_add_note(f, (const char *)data, size);
	}
	return 0; /* unknown key of a later version */
}

static int mem_info(struct mem_facts *f, const uint8_t *data, size_t size, uint64_t offset,
		    struct mem_faults *faults)
{
	struct cray_fact fact;

	while (size > 0) {
		int ret;

		if (size >= sizeof(fact))
			memcpy(&fact, data, sizeof(fact));
		if (size < sizeof(fact) || fact.size > size - sizeof(fact)) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset,
				      "a fact longer than its chunk");
			return 0;
		}
		ret = one_fact(f, fact.key, data + sizeof(fact), fact.size);
		if (ret < 0)
			return ret;
		data += sizeof(fact) + fact.size;
		size -= sizeof(fact) + fact.size;
	}
	return 0;
}

/* ---- modules ------------------------------------------------------------- */

int mem_facts_add_module(struct mem_facts *f, const struct cray_module *m, const char *path)
{
	struct mem_module *module;

	if (f->nr_modules == MEM_MODULES_MAX)
		return 0;
	if (mem_grow((void **)&f->modules, f->nr_modules, &f->modules_size, sizeof(*module)) < 0)
		return -ENOMEM;
	module = &f->modules[f->nr_modules];
	module->m = *m;
	if (module->m.build_id_size > sizeof(module->m.build_id))
		module->m.build_id_size = sizeof(module->m.build_id);
	module->path = strdup(path);
	return module->path ? (f->nr_modules++, 0) : -ENOMEM;
}

static int mem_modules(struct mem_facts *f, const uint8_t *data, size_t size, uint64_t offset,
		       struct mem_faults *faults)
{
	struct cray_module m;

	while (size > 0) {
		char *path;
		int ret;

		if (size >= sizeof(m))
			memcpy(&m, data, sizeof(m));
		if (size < sizeof(m) || m.path_size > size - sizeof(m)) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset,
				      "a module longer than its chunk");
			return 0;
		}
		path = mem_copy(data + sizeof(m), m.path_size);
		ret = path ? mem_facts_add_module(f, &m, path) : -ENOMEM;
		free(path);
		if (ret < 0)
			return ret;
		data += sizeof(m) + m.path_size;
		size -= sizeof(m) + m.path_size;
	}
	return 0;
}

/* ---- threads ------------------------------------------------------------- */

const struct mem_thread *mem_facts_thread(const struct mem_facts *f, uint32_t thread)
{
	uint64_t index;

	return u64map_get(&f->by_number, thread, &index) ? &f->threads[index - 1] : NULL;
}

uint64_t mem_facts_id(const struct mem_facts *f, uint32_t thread)
{
	const struct mem_thread *t = mem_facts_thread(f, thread);

	return t ? t->id : thread;
}

/* Remove a key whose entry could not be created. */
static int mem_undo(struct u64map *map, uint64_t key, int why)
{
	u64map_remove(map, key);
	return why;
}

int mem_facts_set_thread(struct mem_facts *f, const struct cray_thread *t, const char *name)
{
	uint64_t *index = u64map_at(&f->by_number, t->number);
	struct mem_thread *thread;

	if (!index)
		return -ENOMEM;
	if (!*index) {
		if (f->nr_threads == MEM_THREADS_MAX)
			return mem_undo(&f->by_number, t->number, -E2BIG);
		if (mem_grow((void **)&f->threads, f->nr_threads, &f->threads_size,
			     sizeof(*thread)) < 0)
			return mem_undo(&f->by_number, t->number, -ENOMEM);
		memset(&f->threads[f->nr_threads], 0, sizeof(*thread));
		*index = ++f->nr_threads;
	}
	thread = &f->threads[*index - 1];
	thread->number = t->number;
	thread->id = t->id;
	thread->start_ns = t->start_ns;
	thread->end_ns = t->end_ns;
	if (!name)
		return 0;
	return mem_replace(&thread->name, name, strlen(name));
}

int mem_facts_know_ids(struct mem_facts *f)
{
	size_t i;

	for (i = 0; i < f->nr_threads; i++) {
		if (u64map_put(&f->by_id, f->threads[i].id, (uint64_t)f->threads[i].number + 1) < 0)
			return -ENOMEM;
	}
	return 0;
}

int64_t mem_facts_number(struct mem_facts *f, uint64_t id)
{
	uint64_t *place = u64map_at(&f->by_id, id);
	struct cray_thread t = { .id = id };
	int ret;

	if (!place)
		return -ENOMEM;
	if (*place)
		return (int64_t)*place - 1;
	while (mem_facts_thread(f, f->next_number))
		f->next_number++;
	t.number = f->next_number;
	ret = mem_facts_set_thread(f, &t, NULL);
	if (ret < 0)
		return mem_undo(&f->by_id, id, ret);
	*place = (uint64_t)t.number + 1;
	return t.number;
}

static int mem_threads(struct mem_facts *f, const uint8_t *data, size_t size, uint64_t offset,
		       struct mem_faults *faults)
{
	struct cray_thread t;

	while (size > 0) {
		char *name;
		int ret;

		if (size >= sizeof(t))
			memcpy(&t, data, sizeof(t));
		if (size < sizeof(t) || t.name_size > size - sizeof(t)) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset,
				      "a thread longer than its chunk");
			return 0;
		}
		name = mem_copy(data + sizeof(t), t.name_size);
		ret = name ? mem_facts_set_thread(f, &t, *name ? name : NULL) : -ENOMEM;
		free(name);
		if (ret == -E2BIG) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset, "more threads than %u",
				      MEM_THREADS_MAX);
			return 0;
		}
		if (ret < 0)
			return ret;
		data += sizeof(t) + t.name_size;
		size -= sizeof(t) + t.name_size;
	}
	return 0;
}

/* ---- losses and the end -------------------------------------------------- */

const char *mem_cause_name(uint32_t cause)
{
	switch (cause) {
	case CRAY_GAP_FULL:
		return "buffer full";
	case CRAY_GAP_RING:
		return "overwritten by newer ones";
	case CRAY_GAP_CAP:
		return "size cap reached";
	case CRAY_GAP_DISK:
		return "could not be written";
	case CRAY_GAP_BROKEN:
		return "buffer unreadable";
	case CRAY_GAP_NESTED:
		return "in a signal handler";
	case CRAY_GAP_SAMPLED:
		return "between bursts";
	case CRAY_GAP_FILTERED:
		return "filtered out";
	case CRAY_GAP_STOPPED:
		return "tracing was off";
	}
	return "unknown cause";
}

static int mem_lost(struct mem_facts *f, const uint8_t *data, size_t size)
{
	struct cray_lost l;

	for (; size >= sizeof(l); data += sizeof(l), size -= sizeof(l)) {
		uint64_t *sum;

		memcpy(&l, data, sizeof(l));
		sum = &f->lost[l.cause < MEM_CAUSES ? l.cause : 0];
		*sum += l.count > UINT64_MAX - *sum ? UINT64_MAX - *sum : l.count;
		f->lost_unknown |= l.count == 0;
	}
	return 0;
}

int mem_facts_chunk(struct mem_facts *f, uint16_t type, const uint8_t *data, size_t size,
		    uint64_t offset, struct mem_faults *faults)
{
	switch (type) {
	case CRAY_INFO:
		return mem_info(f, data, size, offset, faults);
	case CRAY_MODULES:
		return mem_modules(f, data, size, offset, faults);
	case CRAY_THREADS:
		return mem_threads(f, data, size, offset, faults);
	case CRAY_LOST:
		return mem_lost(f, data, size);
	case CRAY_STACKS:
		return stack_table_chunk(&f->stacks, data, size, offset, faults);
	case CRAY_END:
		if (size < sizeof(f->end)) {
			mem_fault_add(faults, MEM_FAULT_DAMAGE, offset, "an end cut short");
			return 0;
		}
		memcpy(&f->end, data, sizeof(f->end));
		f->has_end = true;
		return 0;
	}
	return 0;
}

void mem_facts_release(struct mem_facts *f)
{
	size_t i;

	for (i = 0; i < f->nr_threads; i++)
		free(f->threads[i].name);
	for (i = 0; i < f->nr_modules; i++)
		free(f->modules[i].path);
	for (i = 0; i < f->nr_notes; i++)
		free(f->notes[i]);
	free(f->threads);
	free(f->modules);
	free(f->exe);
	free(f->cwd);
	free(f->machine);
	free(f->writer);
	free(f->options);
	free(f->command);
	u64map_release(&f->by_number);
	u64map_release(&f->by_id);
	stack_table_release(&f->stacks);
	memset(f, 0, sizeof(*f));
}
