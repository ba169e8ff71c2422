/* SPDX-License-Identifier: MIT */
/*
 * ctf_dir.h - what is in a directory that a CTF trace is to go to.
 *
 * Only what is a trace of ours, or empty, is ever replaced or removed.
 */
#ifndef TRACE_CTF_DIR_H
#define TRACE_CTF_DIR_H

enum ctf_content { CTF_DIR_EMPTY, CTF_DIR_TRACE, CTF_DIR_SOMETHING };

/* A trace has our metadata and nothing that is not of a trace. */
enum ctf_content ctf_dir_content(int dir);

/* The files of a trace.  The metadata goes last: until then what is left is known to be one. */
void ctf_dir_clear(int dir);

/* Onto the disk, file by file.  0 or -errno. */
int ctf_dir_sync(int dir);

#endif
