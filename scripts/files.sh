# shellcheck shell=sh
# files.sh - which files the checks look at: those that git knows or would add, also when the
# checkout is another user's.  Without git there is nothing to go by, and the check is skipped.

files() { git -c safe.directory="$PWD" ls-files -co --exclude-standard "$@"; }

if [ -z "$(files '*.c' 2>/dev/null)" ]; then
	echo "skipped: not a git checkout"
	exit 77
fi
