/* SPDX-License-Identifier: MIT */
/* mem_type_files.h - the options --program and --dwarf: types that the trace does not name. */
#ifndef TOOL_MEM_TYPE_FILES_H
#define TOOL_MEM_TYPE_FILES_H

#include "cmd.h"
#include "memory/types/type_files.h"

/* Rows of an option table, for options with a struct type_files in @files. */
/* NOLINTBEGIN(bugprone-macro-parentheses): names of fields */
#define MEM_TYPES_PROGRAM(options, files)                                                         \
	{                                                                                         \
		0, "program", "ELF", "types of a raw trace: its program, with debug information", \
			OPT_NAME(options, files.program), .is_rare = true                         \
	}
#define MEM_TYPES_DWARF(options, files)                                           \
	{                                                                         \
		0, "dwarf", "JSON", "types of a raw trace: output of dwarf2json", \
			OPT_NAME(options, files.json), .is_rare = true            \
	}
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
