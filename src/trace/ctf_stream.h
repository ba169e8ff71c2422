/* SPDX-License-Identifier: MIT */
/*
 * ctf_stream.h - write the stream files of a CTF trace, packet by packet.
 *
 * A packet is filled in memory and appended to its file with one write.  At most CTF_OPEN_MAX
 * files are open, the most recently written ones: there may be more threads than descriptors.
 */
#ifndef TRACE_CTF_STREAM_H
#define TRACE_CTF_STREAM_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/ctf.h"
#include "trace/trace_writer.h"

#define CTF_OPEN_MAX 256

struct ctf_stream {
	uint8_t *at;    /* where the next record goes */
	uint8_t *limit; /* no record may begin here or later; equals buf while no packet is begun */
	uint64_t last_ts; /* of the last record, in this packet or in the previous one */
	uint64_t tid;     /* of the packet */
	uint64_t transitions, others; /* in the packet */

	uint64_t next_tid; /* of the next packet */
	uint32_t lane;
	uint32_t pid;
	uint32_t stream_id;
	int fd; /* -1: not open */
	uint8_t *buf;
	size_t size; /* of buf */
	uint64_t begin_ts;
	uint64_t seq;       /* number of packets so far */
	uint64_t discarded; /* number of events so far */
	uint64_t file_size;
	uint64_t used; /* value of nr_packets at the last write */
	struct ctf_stream *next_dirty;
	struct ctf_stream **dirty_link; /* points to this stream in the list; NULL: not in it */
	char name[CTF_NAME_SIZE];
};

struct ctf_files {
	int dir;
	uint8_t uuid[16];
	struct ctf_stream *dirty; /* streams with a packet begun */
	struct ctf_stream *open[CTF_OPEN_MAX];
	unsigned nr_open;
	uint64_t nr_packets;
	uint64_t newest_ts; /* in any packet that was ended */
	uint64_t written, unwritten;
	uint64_t others_written, others_unwritten;
	int error; /* negative errno of the failed write; 0: no failure */
	const struct trace_saver *const
		*saver; /* of the writer; *saver is NULL if no saver is set */
};

/* The file is created with the first packet. */
struct ctf_stream *ctf_stream_new(enum ctf_stream_id id, const char *name);
void ctf_stream_free(struct ctf_files *f, struct ctf_stream *s);

/*
 * Makes room for a record of up to @size bytes with time @ts at s->at: begins a packet if none
 * is begun, enlarges a full packet or writes it out.  False: writing has failed, and all later
 * calls return false too.
 */
bool ctf_stream_room(struct ctf_files *f, struct ctf_stream *s, uint64_t ts, size_t size);

/* Write the packet out.  No effect if no packet is begun. */
void ctf_stream_end_packet(struct ctf_files *f, struct ctf_stream *s);

/*
 * The following records are of another thread.  A short packet continues, with the tid in each
 * record; a longer packet, or one of another process, is ended.
 */
void ctf_stream_set_thread(struct ctf_files *f, struct ctf_stream *s, uint32_t pid, uint64_t tid);

/* Write all begun packets. */
void ctf_files_flush(struct ctf_files *f);

#endif
