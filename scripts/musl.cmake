# musl.cmake - toolchain for musl-gcc (Debian's musl-tools): the SDK as static library.
#
#   cmake -B build/musl -DCMAKE_TOOLCHAIN_FILE=scripts/musl.cmake -DCOROTRACER_BUILD_TOOL=OFF \
#         -DCOROTRACER_BUILD_MEMORY=OFF -DCOROTRACER_BUILD_TESTS=OFF -DCOROTRACER_BUILD_EXAMPLES=OFF
set(CMAKE_C_COMPILER musl-gcc)
# musl has no headers of the kernel: those of the system, without the C library's beside them.
set(kernel_headers ${CMAKE_BINARY_DIR}/kernel-headers)
file(MAKE_DIRECTORY ${kernel_headers})
foreach(name linux asm-generic)
	file(CREATE_LINK /usr/include/${name} ${kernel_headers}/${name} SYMBOLIC)
endforeach()
execute_process(COMMAND gcc -print-multiarch OUTPUT_VARIABLE multiarch OUTPUT_STRIP_TRAILING_WHITESPACE)
file(CREATE_LINK /usr/include/${multiarch}/asm ${kernel_headers}/asm SYMBOLIC)
set(CMAKE_C_FLAGS_INIT "-idirafter ${kernel_headers}")
