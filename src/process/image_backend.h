/* SPDX-License-Identifier: MIT */
/* image_backend.h - what differs between a running process and a core file. */
#ifndef PROCESS_IMAGE_BACKEND_H
#define PROCESS_IMAGE_BACKEND_H

#include "process/process_image.h"

struct elf_headers;
struct registers_bpf;

/* Strings that are freed together. */
struct image_strings {
	struct image_string *first;
};

/* A copy that lives until image_strings_free().  NULL: out of memory. */
const char *image_strings_copy(struct image_strings *strings, const char *text);
char *image_strings_copy_n(struct image_strings *strings, const char *text, size_t len);
void image_strings_free(struct image_strings *strings);

struct image_operations {
	ssize_t (*read)(const struct process_image *image, uint64_t addr, void *buf, size_t size);
	int (*visit)(struct process_image *image, image_visitor visit, void *arg);
	int (*visit_protected)(struct process_image *image, image_visitor visit, void *arg);
	int (*read_threads)(struct process_image *image, struct err *err);
	int (*read_ranges)(struct process_image *image, struct err *err);
	/* Set @path to a file that can be opened here, or to "". */
	void (*find_file)(const struct process_image *image, const struct image_range *range,
			  char *path, size_t size);
	/* Read the headers of a file whose first page is not in memory; NULL: not supported. */
	bool (*read_headers)(const struct process_image *image, const struct image_range *range,
			     struct elf_headers *headers);
	void (*close)(struct process_image *image);
};

/* The first member of a backend's own struct. */
struct image_backend {
	const struct image_operations *operations;
	struct registers_bpf *bpf; /* NULL: not loaded */
	struct image_strings module_strings;
};

/* Find the modules in image->ranges.  Returns 0 or -ENOMEM. */
int image_find_modules(struct process_image *image);

/* True if image_visit() includes the range. */
bool image_range_visited(const struct image_range *range);

/* True if image_visit_protected() includes pages of the range. */
bool image_range_protected(const struct image_range *range);

/* True if the range belongs to a queue of requests in the kernel: io_uring, or io_submit(2). */
bool image_range_queues(const struct image_range *range);

/* True if @path is a regular file that can be read. */
bool image_file_opens(const char *path);

/* The machine this program was compiled for. */
unsigned image_own_machine(void);

/*
 * Compare the first bytes of an ELF file with this machine.  @what names the file in the message:
 * "process 12", "core file 'x'".
 */
int image_check_machine(const void *header, size_t size, const char *what, struct err *err);

/* ---- running processes ------------------------------------------------------ */

/* Read /proc/@pid/task.  Returns the number of threads, or a negative errno; -ESRCH: a zombie. */
ssize_t image_read_tasks(pid_t pid, struct image_thread **threads);

/* Read one thread, without registers.  False: it has ended. */
bool image_read_task(pid_t pid, pid_t tid, struct image_thread *thread);

/*
 * Keep the words of vector registers in image->vectors.  False: out of memory.
 */
bool image_add_vectors(struct process_image *image, const void *data, size_t size);

#endif
