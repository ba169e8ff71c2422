/* SPDX-License-Identifier: MIT */
/* ctf_reader.h - read a corotracer CTF trace: a format of reader.h. */
#ifndef TRACE_CTF_READER_H
#define TRACE_CTF_READER_H

#include "trace/trace_reader.h"

/* @path is the directory. */
struct trace_reader *ctf_reader_open(const char *path, struct err *err);

#endif
