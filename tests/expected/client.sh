#!/bin/sh
# SPDX-License-Identifier: MIT
# client.sh FILE ARGUMENTS...: takes the place of a database client, and keeps what it is given.
file=$1
shift
echo "-- $*" >> "$file"
cat >> "$file"
echo corotracer-export-done
