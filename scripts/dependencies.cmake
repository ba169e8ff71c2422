# dependencies.cmake - the libraries that the tool uses: find them, and say which are missing, what
# they are for and which packages have them.  docs/building.md has the same table.
#
#   ct_need(PREFIX MODULE PURPOSE DEBIAN FEDORA ARCH)              the tool is not built without it
#   ct_may_use(OPTION PREFIX MODULE PURPOSE DEBIAN FEDORA ARCH)    -DOPTION=OFF builds without it
#
# MODULE is a name for pkg-config; or a library's name after "lib:", which sets PREFIX_LIBRARY.
find_package(PkgConfig REQUIRED)

set(ct_missing "")  # required libraries, a line each
set(ct_packages_debian "")
set(ct_packages_fedora "")
set(ct_packages_arch "")
set(ct_left_out "") # optional libraries, a line each
set(ct_without "")  # all optional libraries that are not used: "NAME (PURPOSE)"

macro(ct_find prefix module)
	if("${module}" MATCHES "^lib:(.*)$")
		find_library(${prefix}_LIBRARY ${CMAKE_MATCH_1})
		set(${prefix}_FOUND ${${prefix}_LIBRARY})
	else()
		pkg_check_modules(${prefix} QUIET IMPORTED_TARGET GLOBAL "${module}")
	endif()
endmacro()

macro(ct_need prefix module purpose debian fedora arch)
	ct_find(${prefix} "${module}")
	if(NOT ${prefix}_FOUND)
		string(APPEND ct_missing "\n  ${module}: ${purpose}")
		string(APPEND ct_packages_debian " ${debian}")
		string(APPEND ct_packages_fedora " ${fedora}")
		string(APPEND ct_packages_arch " ${arch}")
	endif()
endmacro()

macro(ct_may_use option prefix module purpose debian fedora arch)
	option(${option} "${purpose} (${module})" ON)
	if(${option})
		ct_find(${prefix} "${module}")
		if(NOT ${prefix}_FOUND)
			string(APPEND ct_left_out "\n  ${module}: ${purpose}; packages: ${debian} (Debian), ${fedora} (Fedora), ${arch} (Arch)")
		endif()
	else()
		set(${prefix}_FOUND FALSE)
	endif()
	if(NOT ${prefix}_FOUND)
		string(REGEX REPLACE ">.*" "" name "${module}")
		list(APPEND ct_without "${name} (${purpose})")
	endif()
endmacro()

ct_need(JANSSON jansson "JSON" libjansson-dev jansson-devel jansson)
ct_need(ZSTD libzstd "compressed traces" libzstd-dev libzstd-devel zstd)
ct_need(ZLIB zlib "checksums and compressed pages" zlib1g-dev zlib-devel zlib)
ct_need(SQLITE3 sqlite3 "query and export sqlite" libsqlite3-dev sqlite-devel sqlite)
ct_need(LIBELF libelf "symbols of programs" libelf-dev elfutils-libelf-devel libelf)
ct_need(LIBDW libdw "debug information of programs" libdw-dev elfutils-devel libelf)
ct_need(IBERTY lib:iberty "names of C++ functions" libiberty-dev binutils-devel binutils)
ct_need(PFM lib:pfm "names of processor counters" libpfm4-dev libpfm-devel libpfm)
if(ct_missing)
	message(FATAL_ERROR "The tool needs libraries that were not found:${ct_missing}\n"
		"Debian, Ubuntu: apt-get install${ct_packages_debian}\n"
		"Fedora: dnf install${ct_packages_fedora}\n"
		"Arch: pacman -S${ct_packages_arch}\n"
		"The SDK alone needs none of them: -DCOROTRACER_BUILD_TOOL=OFF -DCOROTRACER_BUILD_TESTS=OFF -DCOROTRACER_BUILD_EXAMPLES=OFF")
endif()
pkg_check_modules(ELFUTILS QUIET REQUIRED IMPORTED_TARGET GLOBAL libelf libdw)

ct_may_use(WITH_POSTGRESQL LIBPQ libpq "export postgresql" libpq-dev libpq-devel postgresql-libs)
ct_may_use(WITH_MYSQL LIBMARIADB libmariadb "export mysql" libmariadb-dev mariadb-connector-c-devel mariadb-libs)
ct_may_use(WITH_HTTP MICROHTTPD "libmicrohttpd>=0.9.71" "serve and run --serve" libmicrohttpd-dev libmicrohttpd-devel libmicrohttpd)
ct_may_use(WITH_NCURSES NCURSES ncursesw "top as a screen, not one picture" libncurses-dev ncurses-devel ncurses)
ct_may_use(WITH_CAPSTONE CAPSTONE capstone "lines of co_await in why, types of heap blocks in mem sim" libcapstone-dev capstone-devel capstone)
ct_may_use(WITH_CURL CURL libcurl "load, fleet, export otlp: HTTP to other servers" libcurl4-openssl-dev libcurl-devel curl)
ct_may_use(WITH_NATS NATS libnats "ship and load by NATS JetStream" libnats-dev cnats-devel cnats)
if(ct_left_out)
	message(STATUS "Built without these, because they were not found:${ct_left_out}")
endif()
