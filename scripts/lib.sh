# shellcheck shell=bash
# lib.sh - shared by demo.sh and test.sh: install packages, print messages.

say() { printf '%s\n' "$*" >&2; }

die() {
	say "$0: $1"
	[ -z "${2:-}" ] || say "hint: $2"
	exit 1
}

as_root() {
	if [ "$(id -u)" = 0 ]; then
		"$@"
	elif command -v sudo >/dev/null 2>&1; then
		sudo "$@"
	else
		die "packages are missing and neither root nor sudo is at hand" "$by_hand"
	fi
}

package_present() {
	# One line per architecture for which it is installed.
	dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# apt_get ARGUMENT...: apt-get that asks no question: not debconf, not dpkg about configuration
# files, not needrestart about services.
apt_get() {
	as_root env DEBIAN_FRONTEND=noninteractive DEBCONF_NONINTERACTIVE_SEEN=true \
		NEEDRESTART_MODE=a NEEDRESTART_SUSPEND=1 APT_LISTCHANGES_FRONTEND=none \
		apt-get -o Dpkg::Options::=--force-confdef -o Dpkg::Options::=--force-confold \
		"$@" </dev/null
}

# need PACKAGE...: install missing packages; prints nothing and needs no rights if there are none.
need() {
	local p log
	missing=()
	command -v dpkg-query >/dev/null 2>&1 || return 0 # not Debian: CMake reports missing ones
	for p in "$@"; do
		package_present "$p" || missing+=("$p")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	by_hand="install them by hand: apt-get install --no-install-recommends ${missing[*]}"
	as_root true || die "sudo would not let us install packages" "$by_hand"
	say "installing: ${missing[*]}"
	log=$(mktemp)
	apt_get update -qq >"$log" 2>&1 || say "apt-get update failed; using the package lists that exist"
	if ! apt_get install -y -qq --no-install-recommends "${missing[@]}" >>"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		die "cannot install ${missing[*]}" "$by_hand"
	fi
	rm -f "$log"
}

# need_if_known PACKAGE...: those that this distribution has.
need_if_known() {
	local p
	command -v apt-cache >/dev/null 2>&1 || return 0
	for p in "$@"; do
		! apt-cache show "$p" >/dev/null 2>&1 || need "$p"
	done
}

# shellcheck disable=SC2034 # used by scripts that source this file
BUILD_PACKAGES=(gcc libc6-dev cmake ninja-build pkg-config libjansson-dev
	libelf-dev libdw-dev libiberty-dev libpfm4-dev libsqlite3-dev libpq-dev libmariadb-dev
	libzstd-dev zlib1g-dev libncurses-dev libmicrohttpd-dev libcapstone-dev
	libcurl4-openssl-dev)

# The C++ examples, and clients for them.
# shellcheck disable=SC2034
EXAMPLE_PACKAGES=(g++ redis-tools)

# npm builds the dashboard page; a user-installed Node.js is newer than the package and is kept.
need_npm() {
	command -v npm >/dev/null 2>&1 || need nodejs npm
}

# build PRESET [CMAKE ARGUMENT...]: configure and build, quietly unless it fails.
build() {
	local preset=$1 log
	shift
	[ ! -e build ] || [ -w build ] ||
		die "build/ is not writable: it belongs to another user" "remove it, or run this as that user"
	if [ -f build/CMakeCache.txt ] &&
		! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" build/CMakeCache.txt; then
		say "build/ belongs to another checkout; creating it again"
		rm -rf build
	fi
	log=$(mktemp)
	if ! { cmake --preset "$preset" "$@" && cmake --build --preset "$preset"; } >"$log" 2>&1; then
		cat "$log" >&2
		rm -f "$log"
		die "the $preset build failed"
	fi
	rm -f "$log"
}
