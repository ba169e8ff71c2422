/* SPDX-License-Identifier: MIT */
/*
 * container_file.c - write a container from inside the traced program.
 *
 * zstd is used if the system has it: it is loaded at run time and works in memory that this file
 * provides, so that it never calls the program's allocator, which may be traced itself.
 */
#include "container_file.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"

#define HEAD       (sizeof(struct cray_chunk) + sizeof(struct cray_block))
#define STORED_MAX (CRAY_PACK_PLAIN_MAX + (CRAY_PACK_PLAIN_MAX >> 7) + 1024u) /* zstd's bound */
#define ENTRIES    1024u                                                      /* per index */
#define LOST_MAX   256u
#define ASIDE_MAX  (1u << 20)
#define SEQS       65536u
#define TAIL_ROOM  (ENTRIES * sizeof(struct cray_entry) + LOST_MAX * sizeof(struct cray_lost) + 4096)

typedef size_t (*compress_fn)(void *ctx, void *to, size_t room, const void *from, size_t size,
			      int level);
typedef unsigned (*is_error_fn)(size_t code);
typedef size_t (*estimate_fn)(int level);
typedef void *(*init_fn)(void *memory, size_t size);

/* Entries of one chunk type that wait to be written.  All are kept: ring mode rewrites the file. */
struct aside {
	uint32_t used;    /* bytes */
	uint32_t written; /* of these, already in the file */
	uint8_t bytes[ASIDE_MAX];
};

struct crt_maker {
	int level;
	void *zstd; /* zstd context; NULL: no compression */
	uint64_t zstd_size;
	compress_fn compress;
	is_error_fn is_error;
	uint64_t size; /* bytes of the block in out[] */
	uint8_t plain[CRAY_PACK_PLAIN_MAX];
	uint8_t out[HEAD + STORED_MAX];
};

struct crt_file {
	int fd;
	int error;
	int level;
	bool compresses;
	uint64_t at; /* offset of the next chunk */
	uint64_t max, ring;
	uint64_t index_at; /* offset of the newest index */
	uint32_t number;   /* number of the next chunk */
	uint32_t nr_entries, nr_lost;
	struct cray_end end;
	struct cray_file header;
	struct cray_crc crc;
	struct cray_lost lost[LOST_MAX];
	struct cray_entry entries[ENTRIES];
	struct aside facts, modules, threads;

	/* Ring mode: consecutive blocks in kept[], the oldest at `oldest`. */
	uint64_t *seqs; /* next block number of each thread while the ring is written */
	uint8_t *kept;
	uint64_t oldest, newest; /* positions increase monotonically */

	uint8_t plain[CRAY_PACK_PLAIN_MAX]; /* for chunks other than blocks */
	uint8_t out[HEAD + STORED_MAX];     /* and for blocks of the ring */
};

/* NULL in a statically linked program. */
void *dlopen(const char *path, int flags) __attribute__((weak));
void *dlsym(void *handle, const char *name) __attribute__((weak));

static void load_zstd(struct crt_maker *m)
{
	void *lib = m->level && dlopen ? dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
	estimate_fn estimate;
	init_fn init;

	if (!lib)
		return;
	estimate = (estimate_fn)dlsym(lib, "ZSTD_estimateCCtxSize");
	init = (init_fn)dlsym(lib, "ZSTD_initStaticCCtx");
	m->compress = (compress_fn)dlsym(lib, "ZSTD_compressCCtx");
	m->is_error = (is_error_fn)dlsym(lib, "ZSTD_isError");
	if (!estimate || !init || !m->compress || !m->is_error)
		return;
	m->zstd_size = estimate(m->level);
	if (m->is_error(m->zstd_size))
		return;
	m->zstd = crt_memory(m->zstd_size);
	if (m->zstd && !init(m->zstd, m->zstd_size)) {
		crt_memory_free(m->zstd, m->zstd_size);
		m->zstd = NULL;
	}
}

struct crt_maker *crt_maker_new(const struct crt_file *f)
{
	struct crt_maker *m = crt_memory(sizeof(*m));

	if (m) {
		m->level = f->level;
		load_zstd(m);
	}
	return m;
}

/* Write all bytes or none: the file always ends after a whole chunk. */
static bool container_file_put(struct crt_file *f, const void *bytes, uint64_t size)
{
	if (f->error)
		return false;
	if (f->max && f->at + size + TAIL_ROOM > f->max) {
		f->error = EFBIG;
		return false;
	}
	if (!crt_write_all(f->fd, bytes, size)) {
		f->error = errno ? errno : EIO;
		/* A pipe cannot be truncated; its reader resynchronizes at the next chunk. */
		if (ftruncate(f->fd, (off_t)f->at) == 0)
			lseek(f->fd, (off_t)f->at, SEEK_SET);
		return false;
	}
	f->at += size;
	return true;
}

static bool container_file_chunk(struct crt_file *f, uint16_t type, const void *bytes, size_t size)
{
	struct cray_chunk *c = (struct cray_chunk *)f->out;

	cray_chunk_seal(&f->crc, c, type, CRAY_CODEC_NONE, f->number, NULL, 0, bytes, size, size);
	__builtin_memcpy(f->out + sizeof(*c), bytes, size);
	if (!container_file_put(f, f->out, sizeof(*c) + size))
		return false;
	f->number++;
	return true;
}

/* Write the entries that are not in the file yet. */
static bool put_aside(struct crt_file *f, uint16_t type, struct aside *a)
{
	if (a->written == a->used)
		return true;
	if (!container_file_chunk(f, type, a->bytes + a->written, a->used - a->written))
		return false;
	a->written = a->used;
	return true;
}

static bool put_asides(struct crt_file *f)
{
	return put_aside(f, CRAY_INFO, &f->facts) && put_aside(f, CRAY_MODULES, &f->modules) &&
	       put_aside(f, CRAY_THREADS, &f->threads);
}

static void container_file_keep(struct aside *a, const void *head, size_t head_size,
				const void *bytes, size_t size)
{
	if (a->used + head_size + size > ASIDE_MAX)
		return; /* full: later threads have numbers but no names */
	__builtin_memcpy(a->bytes + a->used, head, head_size);
	if (size)
		__builtin_memcpy(a->bytes + a->used + head_size, bytes, size);
	a->used += (uint32_t)(head_size + size);
}

void crt_file_fact(struct crt_file *f, uint16_t key, const void *bytes, size_t size)
{
	struct cray_fact head = { .key = key, .size = (uint32_t)size };

	container_file_keep(&f->facts, &head, sizeof(head), bytes, size);
}

void crt_file_module(struct crt_file *f, const void *module_and_path, size_t size)
{
	if (size >= sizeof(struct cray_module))
		container_file_keep(&f->modules, module_and_path, size, NULL, 0);
}

void crt_file_thread(struct crt_file *f, const struct cray_thread *thread, const char *name)
{
	struct cray_thread t = *thread;

	t.name_size = (uint32_t)crt_length(name);
	container_file_keep(&f->threads, &t, sizeof(t), name, t.name_size);
}

void crt_file_lost(struct crt_file *f, uint32_t thread, uint32_t cause, uint64_t count)
{
	struct cray_lost *l;
	uint32_t i;

	for (i = 0; i < f->nr_lost; i++) {
		if (f->lost[i].thread == thread && f->lost[i].cause == cause)
			break;
	}
	if (i == f->nr_lost && i == LOST_MAX) { /* table full: count it without a thread */
		i = LOST_MAX - 1;
		f->lost[i].thread = ~0u;
	}
	l = &f->lost[i];
	if (i == f->nr_lost) {
		f->nr_lost++;
		l->thread = thread;
		l->cause = cause;
		l->count = 0;
	}
	l->count += count;
	if (cause < CRAY_GAP_SAMPLED)
		f->end.lost += count;
	else
		f->end.left_out += count;
}

static bool container_file_put_index(struct crt_file *f)
{
	struct cray_index head = { .previous = f->index_at, .nr = f->nr_entries };
	uint64_t at = f->at;
	size_t size = f->nr_entries * sizeof(f->entries[0]);

	if (!f->nr_entries)
		return true;
	__builtin_memcpy(f->plain, &head, sizeof(head));
	__builtin_memcpy(f->plain + sizeof(head), f->entries, size);
	if (!container_file_chunk(f, CRAY_INDEX, f->plain, sizeof(head) + size))
		return false;
	f->index_at = at;
	f->nr_entries = 0;
	return true;
}

/* Write a sealed block. */
static bool container_file_put_block(struct crt_file *f, const uint8_t *bytes, uint64_t size)
{
	const struct cray_block *b = (const struct cray_block *)(bytes + sizeof(struct cray_chunk));
	struct cray_entry *e;

	e = &f->entries[f->nr_entries];
	e->offset = f->at;
	e->thread = b->thread;
	e->nr_records = b->nr_records;
	e->order_first = b->order_first;
	e->time_first_ns = b->time_first_ns;
	if (!container_file_put(f, bytes, size))
		return false;
	f->nr_entries++;
	f->number++;
	f->end.nr_blocks++;
	f->end.nr_records += b->nr_records;
	f->end.nr_accesses += b->nr_accesses;
	f->end.lost += b->lost;
	f->end.left_out += b->left_out;
	return true;
}

/*
 * While the program waits, compress only large blocks, and blocks of mostly equal symbols, which
 * compress in almost no time.
 */
static bool worth_compressing(const struct cray_pack *p, size_t plain)
{
	size_t symbols = (size_t)(p->symbol - p->symbols), zeros = 0, i;

	for (i = 0; i < 64; i++)
		zeros += p->symbols[symbols * i / 64] == 0;
	return zeros >= 56 || plain > p->nr_accesses + p->nr_accesses / 2;
}

void crt_maker_make(struct crt_maker *m, struct cray_pack *p, bool hurry)
{
	struct cray_chunk *c = (struct cray_chunk *)m->out;
	struct cray_block *b = (struct cray_block *)(m->out + sizeof(*c));
	size_t plain = cray_pack_finish(p, m->plain, b), stored = plain;

	c->codec = CRAY_CODEC_NONE;
	if (m->zstd && (!hurry || worth_compressing(p, plain))) {
		stored = m->compress(m->zstd, m->out + HEAD, STORED_MAX, m->plain, plain,
				     hurry ? -3 : m->level);
		if (!m->is_error(stored) && stored < plain)
			c->codec = CRAY_CODEC_ZSTD;
	}
	if (c->codec == CRAY_CODEC_NONE) {
		stored = plain;
		__builtin_memcpy(m->out + HEAD, m->plain, plain);
	}
	c->plain = (uint32_t)plain;
	m->size = HEAD + stored;
}

/* Fill in header and checksums of a block whose codec, plain size, head and bytes are set. */
static void seal_block(struct crt_file *f, uint8_t *block, uint64_t size)
{
	struct cray_chunk *c = (struct cray_chunk *)block;

	cray_chunk_seal(&f->crc, c, CRAY_BLOCK, c->codec, f->number, block + sizeof(*c),
			sizeof(struct cray_block), block + HEAD, size - HEAD, c->plain);
}

/* Copy to (@in) or from kept[] at position @at, modulo the ring's size. */
static void ring_copy(struct crt_file *f, uint64_t at, uint8_t *bytes, uint64_t size, bool in)
{
	uint64_t from = at % f->ring, first = size < f->ring - from ? size : f->ring - from;

	if (in) {
		__builtin_memcpy(f->kept + from, bytes, first);
		__builtin_memcpy(f->kept, bytes + first, size - first);
	} else {
		__builtin_memcpy(bytes, f->kept + from, first);
		__builtin_memcpy(bytes + first, f->kept, size - first);
	}
}

/* Ring mode: make room for @size bytes by overwriting the oldest blocks. */
static void ring_room(struct crt_file *f, uint64_t size)
{
	struct cray_block b;
	uint32_t bytes;

	while (f->newest + size - f->oldest > f->ring) {
		ring_copy(f, f->oldest, (uint8_t *)&bytes, sizeof(bytes), false);
		ring_copy(f, f->oldest + sizeof(bytes) + sizeof(struct cray_chunk), (uint8_t *)&b,
			  sizeof(b), false);
		crt_file_lost(f, b.thread, CRAY_GAP_RING, b.nr_accesses);
		/* The gaps in the block are lost with it. */
		f->end.lost += b.lost;
		f->end.left_out += b.left_out;
		f->oldest += sizeof(bytes) + bytes;
	}
}

static void ring_keep(struct crt_file *f, uint8_t *block, uint64_t size)
{
	const struct cray_block *b = (const struct cray_block *)(block + sizeof(struct cray_chunk));
	uint32_t bytes = (uint32_t)size;

	if (size + sizeof(bytes) > f->ring) {
		crt_file_lost(f, b->thread, CRAY_GAP_RING, b->nr_accesses);
		return;
	}
	ring_room(f, size + sizeof(bytes));
	ring_copy(f, f->newest, (uint8_t *)&bytes, sizeof(bytes), true);
	ring_copy(f, f->newest + sizeof(bytes), block, size, true);
	f->newest += sizeof(bytes) + size;
}

static bool container_file_begin(struct crt_file *f)
{
	f->at = 0;
	f->number = 0;
	return container_file_put(f, &f->header, sizeof(f->header));
}

/*
 * Renumber the kept blocks per thread from 0: overwritten blocks are counted as lost, and must
 * not appear as missing numbers.
 */
static void number_anew(struct crt_file *f, struct cray_block *b)
{
	if (b->thread < SEQS)
		b->thread_seq = f->seqs[b->thread]++;
}

/* Write everything that the ring holds as one file. */
static bool ring_write(struct crt_file *f)
{
	uint64_t at = f->oldest;
	uint32_t bytes;

	if (ftruncate(f->fd, 0) != 0 || lseek(f->fd, 0, SEEK_SET) != 0) {
		f->error = errno;
		return false;
	}
	f->facts.written = f->modules.written = f->threads.written = 0;
	__builtin_memset(f->seqs, 0, SEQS * sizeof(*f->seqs));
	f->index_at = 0;
	f->nr_entries = 0;
	f->end.nr_blocks = f->end.nr_records = f->end.nr_accesses = 0;
	if (!container_file_begin(f) || !put_asides(f))
		return false;
	for (; at < f->newest; at += sizeof(bytes) + bytes) {
		ring_copy(f, at, (uint8_t *)&bytes, sizeof(bytes), false);
		ring_copy(f, at + sizeof(bytes), f->out, bytes, false);
		number_anew(f, (struct cray_block *)(f->out + sizeof(struct cray_chunk)));
		seal_block(f, f->out, bytes);
		if (!container_file_put_block(f, f->out, bytes))
			return false;
		if (f->nr_entries == ENTRIES && !container_file_put_index(f))
			return false;
	}
	return true;
}

bool crt_file_block(struct crt_file *f, struct crt_maker *m, uint64_t thread_seq)
{
	struct cray_block *b = (struct cray_block *)(m->out + sizeof(struct cray_chunk));

	b->thread_seq = thread_seq;
	if (f->ring) {
		ring_keep(f, m->out, m->size);
		return f->error == 0;
	}
	/* Pending facts, modules and threads precede the block; so does an index that is full. */
	if (!put_asides(f) || (f->nr_entries == ENTRIES && !container_file_put_index(f)))
		return false;
	seal_block(f, m->out, m->size);
	return container_file_put_block(f, m->out, m->size);
}

bool crt_file_tail(struct crt_file *f)
{
	uint64_t at, end_at, lost = f->end.lost, left_out = f->end.left_out;
	uint32_t number, entries;
	uint64_t index_before, max = f->max;
	struct cray_foot foot;
	int error = f->error;
	bool good;

	/* container_file_put() reserves room for the tail below the cap; on a full disk the tail
	 * may still fit. */
	f->error = 0;
	f->max = 0;
	good = f->ring ? ring_write(f) : put_asides(f);
	/* What was written until here stays; the rest is the tail. */
	number = f->number;
	entries = f->nr_entries;
	index_before = f->index_at;
	at = f->at;
	good = good && (!f->nr_lost || container_file_chunk(f, CRAY_LOST, f->lost,
							    f->nr_lost * sizeof(f->lost[0])));
	good = good && container_file_put_index(f);
	end_at = f->at;
	f->end.time_ns = crt_now();
	good = good && container_file_chunk(f, CRAY_END, &f->end, sizeof(f->end));
	cray_foot_seal(&f->crc, &foot, f->index_at, end_at);
	good = good && container_file_put(f, &foot, sizeof(foot));
	/* The next block, if any, overwrites the tail. */
	f->at = at;
	f->number = number;
	f->nr_entries = entries;
	f->index_at = index_before;
	f->end.lost = lost;
	f->end.left_out = left_out;
	f->max = max;
	f->error = error ? error : f->error;
	if (!good && ftruncate(f->fd, (off_t)at) != 0)
		f->error = errno;
	lseek(f->fd, (off_t)at, SEEK_SET);
	return good;
}

struct crt_file *crt_file_open(const char *path, int level, uint64_t max, uint64_t ring,
			       uint64_t start_ns)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
	struct crt_file *f = fd >= 0 ? crt_memory(sizeof(*f)) : NULL;

	if (!f) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	f->fd = fd;
	f->level = level;
	f->max = max;
	f->ring = ring;
	cray_crc_init(&f->crc);
	f->kept = ring ? crt_memory(ring) : NULL;
	f->seqs = ring ? crt_memory(SEQS * sizeof(*f->seqs)) : NULL;
	if (!f->kept || !f->seqs)
		f->ring = 0;
	f->compresses = level && dlopen && dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
	cray_file_seal(&f->crc, &f->header, f->compresses ? CRAY_CODEC_ZSTD : CRAY_CODEC_NONE, 0,
		       start_ns, crt_wall());
	container_file_begin(f);
	return f;
}

int crt_file_error(const struct crt_file *f)
{
	return f->error;
}

int crt_file_fd(const struct crt_file *f)
{
	return f->fd;
}

bool crt_file_compresses(const struct crt_file *f)
{
	return f->compresses;
}

void crt_file_close(struct crt_file *f)
{
	close(f->fd);
	crt_memory_free(f->kept, f->ring);
	crt_memory_free(f->seqs, SEQS * sizeof(*f->seqs));
	crt_memory_free(f, sizeof(*f));
}

/* Start time of this process on CLOCK_MONOTONIC, or slightly earlier. */
static uint64_t process_start(void)
{
	char text[1024], *c;
	uint64_t ticks = 0, hz = (uint64_t)sysconf(_SC_CLK_TCK);
	size_t n = crt_read_file("/proc/self/stat", text, sizeof(text)), i;
	int field;

	/* The fields follow the last ')': the process name may contain any byte. */
	for (i = n; i > 0 && text[i] != ')'; i--)
		;
	for (c = text + i, field = 2; *c && field < 22; c++)
		field += *c == ' ';
	for (; *c >= '0' && *c <= '9'; c++)
		ticks = ticks * 10 + (uint64_t)(*c - '0');
	return hz ? ticks * (1000000000u / hz) : 0;
}

bool crt_file_is_ours(const char *path)
{
	char head[1024];
	size_t n = crt_read_file(path, head, sizeof(head));
	const struct cray_file *file = (const struct cray_file *)head;
	const struct cray_chunk *c = (const struct cray_chunk *)(head + sizeof(*file));
	size_t at = sizeof(*file) + sizeof(*c);
	uint64_t pid;
	struct cray_fact fact;

	if (n < at || __builtin_memcmp(file->magic, CRAY_MAGIC, 8) != 0 || c->type != CRAY_INFO ||
	    c->codec != CRAY_CODEC_NONE || file->start_ns < process_start())
		return false;
	/* The first fact is the pid (inprocess_writer.c). */
	if (n < at + sizeof(fact) + sizeof(pid))
		return false;
	__builtin_memcpy(&fact, head + at, sizeof(fact));
	__builtin_memcpy(&pid, head + at + sizeof(fact), sizeof(pid));
	return fact.key == CRAY_FACT_PID && pid == crt_pid();
}
