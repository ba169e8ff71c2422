# coroutines.cmake - has the C++ compiler coroutines?  COROTRACER_HAS_COROUTINES says so.  They
# need gcc 11 or clang 16; with an older one, what is made of them is left out.
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
