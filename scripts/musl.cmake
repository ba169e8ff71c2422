# musl.cmake - toolchain for musl-gcc (Debian's musl-tools): the SDK as static library.
#
#   cmake -B build/musl -DCMAKE_TOOLCHAIN_FILE=scripts/musl.cmake -DCOROTRACER_BUILD_TOOL=OFF \
#         -DCOROTRACER_BUILD_MEMORY=OFF -DCOROTRACER_BUILD_TESTS=OFF -DCOROTRACER_BUILD_EXAMPLES=OFF
#
# The tool needs its libraries in musl, too: scripts/static-tool builds them, and names their directory by
# -DCOROTRACER_MUSL_LIBRARIES=DIR.
set(CMAKE_C_COMPILER musl-gcc)
# musl has no headers of the kernel: those of the system, without the C library's beside them.
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
foreach(name linux asm-generic)
	file(CREATE_LINK /usr/include/${name} ${kernel_headers}/${name} SYMBOLIC)
endforeach()
execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
file(CREATE_LINK /usr/include/${multiarch}/asm ${kernel_headers}/asm SYMBOLIC)
# Its macros and prototypes convert signs where those of glibc do not.
set(CMAKE_C_FLAGS_INIT "-idirafter ${kernel_headers} -Wno-sign-conversion")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES COROTRACER_MUSL_LIBRARIES)
if(COROTRACER_MUSL_LIBRARIES) # these and no others: the system's are for its own C library
	set(CMAKE_FIND_ROOT_PATH ${COROTRACER_MUSL_LIBRARIES})
	set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
	set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
	set(ENV{PKG_CONFIG_LIBDIR} ${COROTRACER_MUSL_LIBRARIES}/lib/pkgconfig)
	set(PKG_CONFIG_ARGN --static)
	include_directories(SYSTEM ${COROTRACER_MUSL_LIBRARIES}/include)
endif()
