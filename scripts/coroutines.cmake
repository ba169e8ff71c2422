# coroutines.cmake - set COROTRACER_HAS_COROUTINES if the C++ compiler supports coroutines.
# They need gcc 11 or clang 16; with an older one, programs that use them are not built.
if(CMAKE_CXX_COMPILER_LOADED)
	include(CheckCXXSourceCompiles)
	set(CMAKE_REQUIRED_FLAGS -std=c++20)
	check_cxx_source_compiles("
		#include <coroutine>
		#include <source_location>
		#if !defined(__cpp_impl_coroutine) || !defined(__cpp_lib_source_location)
		#error no coroutines
		#endif
		int main() { return std::source_location::current().line() == 0; }"
		COROTRACER_HAS_COROUTINES)
	unset(CMAKE_REQUIRED_FLAGS)
endif()
