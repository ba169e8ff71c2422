/* SPDX-License-Identifier: MIT */
/* ctf_metadata.h - the metadata text that describes the streams to other tools. */
#ifndef TRACE_CTF_METADATA_H
#define TRACE_CTF_METADATA_H

#include <stdbool.h>

#include "base/err.h"
#include "trace/ctf.h"
#include "trace/item.h"

#define CTF_METADATA_MAX ((size_t)8 * 1024 * 1024) /* its env holds a command line */

/* Returns the text, which the caller frees; NULL: no memory. */
char *ctf_metadata_text(const uint8_t uuid[16], const struct sidecar_run *run, size_t *size);

enum ctf_whose { CTF_OURS, CTF_NEWER, CTF_OF_OTHERS, CTF_NONE };

/* Which tool wrote a metadata file that begins with @text. */
enum ctf_whose ctf_metadata_whose(const char *text, size_t size);

/* Kind of a file in the directory of a corotracer trace, by its name. */
enum ctf_file { CTF_FILE_STRANGE, CTF_FILE_METADATA, CTF_FILE_FACTS, CTF_FILE_EVENTS };

enum ctf_file ctf_file_of(const char *name);

/* Finds the uuid in the metadata of a corotracer trace.  False: there is none. */
bool ctf_metadata_uuid(const char *text, size_t size, uint8_t uuid[16]);

#endif
