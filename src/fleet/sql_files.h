/* SPDX-License-Identifier: MIT */
/* sql_files.h - the files of src/fleet/sql, embedded into the tool. */
#ifndef FLEET_SQL_FILES_H
#define FLEET_SQL_FILES_H

#include <stddef.h>

extern const unsigned char sql_schema_1_current_sql[], sql_schema_1_old_sql[];
extern const size_t sql_schema_1_current_sql_size, sql_schema_1_old_sql_size;
extern const unsigned char sql_schema_2_current_sql[], sql_schema_2_old_sql[];
extern const size_t sql_schema_2_current_sql_size, sql_schema_2_old_sql_size;

#endif
