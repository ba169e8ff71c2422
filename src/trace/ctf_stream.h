/* SPDX-License-Identifier: MIT */
/*
 * ctf_stream.h - the stream files of a CTF trace being written, packet by packet.
 *
 * A packet is filled in memory and goes out in one write at the end of its file.  Only
 * so many files are open at a time, those written last: there may be more threads than
 * descriptors.
 */
#ifndef TRACE_CTF_STREAM_H
#define TRACE_CTF_STREAM_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/ctf.h"
#include "trace/writer.h"

#define CTF_OPEN_MAX 256

struct ctf_stream {
	uint8_t *at;      /* where the next record goes */
	uint8_t *limit;   /* none may begin here or beyond; buf while no packet is begun */
	uint64_t last_ts; /* of the last record, in this packet or in the one before */
	uint64_t tid;     /* of the packet */
	uint64_t transitions, others; /* in the packet */

	uint64_t next_tid; /* of the next packet */
	uint32_t lane;
	uint32_t pid;
	uint32_t stream_id;
	int fd; /* -1: not open now */
	uint8_t *buf;
	size_t size; /* of buf */
	uint64_t begin_ts;
	uint64_t seq;       /* packets so far */
	uint64_t discarded; /* events, so far */
	uint64_t file_size;
	uint64_t used; /* when it was last written, in packets of all streams */
	struct ctf_stream *next_dirty;
	struct ctf_stream **dirty_link; /* what points to it in the list; NULL: not in it */
	char name[CTF_NAME_SIZE];
};

struct ctf_files {
	int dir;
	uint8_t uuid[16];
	struct ctf_stream *dirty; /* those with a packet begun */
	struct ctf_stream *open[CTF_OPEN_MAX];
	unsigned nr_open;
	uint64_t nr_packets;
	uint64_t newest_ts; /* in any packet that was ended */
	uint64_t written, unwritten;
	uint64_t others_written, others_unwritten;
	int error; /* negative errno of the write that failed; 0 while all is well */
	const struct trace_saver *const
		*saver; /* the writer's; *saver NULL: nobody wants to know */
};

/* The file is made with the first packet. */
struct ctf_stream *ctf_stream_new(enum ctf_stream_id id, const char *name);
void ctf_stream_free(struct ctf_files *f, struct ctf_stream *s);

/*
 * Room for a record of up to @size bytes at s->at, of time @ts: begins a packet where
 * there is none, makes a fuller one larger or writes it out.  False: there is none, and
 * never will be.
 */
bool ctf_stream_room(struct ctf_files *f, struct ctf_stream *s, uint64_t ts, size_t size);

/* The packet is whole: out with it.  Nothing to do where none is begun. */
void ctf_stream_end_packet(struct ctf_files *f, struct ctf_stream *s);

/*
 * The records from here on are of another thread.  A short packet goes on, with the thread's
 * number in each record; a longer one, or one of another process, is ended.
 */
void ctf_stream_set_thread(struct ctf_files *f, struct ctf_stream *s, uint32_t pid, uint64_t tid);

/* All packets that are begun. */
void ctf_files_flush(struct ctf_files *f);

#endif
