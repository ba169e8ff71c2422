/* SPDX-License-Identifier: MIT */
/*
 * ctf_dir.h - inspect and clear the output directory of a CTF trace.
 *
 * Only an empty directory or one with a corotracer trace is ever replaced or removed.
 */
#ifndef TRACE_CTF_DIR_H
#define TRACE_CTF_DIR_H

enum ctf_content { CTF_DIR_EMPTY, CTF_DIR_TRACE, CTF_DIR_SOMETHING };

/* CTF_DIR_TRACE: it has corotracer metadata and only files that belong to a trace. */
enum ctf_content ctf_dir_content(int dir);

/*
 * Remove the files of a trace.  The metadata is removed last: until then the rest is recognized
 * as a trace.
 */
void ctf_dir_clear(int dir);

/* fsync every file.  Returns 0 or -errno. */
int ctf_dir_sync(int dir);

#endif
