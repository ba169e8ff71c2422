# shellcheck shell=sh
# files.sh - the files that the checks read: those that git knows or would add, also when the checkout
# belongs to another user.  Without git the check is skipped.

files() { git -c safe.directory="$PWD" ls-files -co --exclude-standard "$@"; }

if [ -z "$(files '*.c' 2>/dev/null)" ]; then
	echo "skipped: not a git checkout"
	exit 77
fi
