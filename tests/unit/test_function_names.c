/* SPDX-License-Identifier: MIT */
/* test_function_names.c - a function has one plain name, whatever compiler or demangler wrote it.
 */
#include <corotracer/function.h>

#include "check.h"

static const char *plain_name(const char *name)
{
	static char to[128];

	ctp_function_plain(name, to, sizeof(to));
	return to;
}

static void scopes_and_name_remain(void)
{
	CHECK_STR(plain_name("main"), "main");
	CHECK_STR(plain_name("int main(int, char**)"), "main");
	CHECK_STR(plain_name("Task net::Pool<T>::serve(int) [T = long]"), "net::Pool::serve");
	CHECK_STR(plain_name("net::Pool<long>::serve(int) [clone .resume]"), "net::Pool::serve");
	CHECK_STR(plain_name("void net::Pool<T>::serve(net::Pool<T>::serve(int)::_Z1fi.Frame*)"),
		  "net::Pool::serve");
	CHECK_STR(plain_name("bool net::Pool::empty() const"), "net::Pool::empty");
	CHECK_STR(plain_name("void f() const volatile &"), "f");
	CHECK_STR(plain_name("char* name(int)"), "name");
	CHECK_STR(plain_name("const std::string& cfg::get(int)"), "cfg::get");
	CHECK_STR(plain_name("decltype(auto) pick(int)"), "pick");
	CHECK_STR(plain_name("auto twice(F&&) [with F = int (*)(int)]"), "twice");
	CHECK_STR(plain_name("void call(std::function<auto (int) -> long>)"), "call");
}

static void nameless_scopes_have_a_placeholder(void)
{
	CHECK_STR(plain_name("main()::{lambda(int)#1}::operator()(int) const"), "main::<lambda>");
	CHECK_STR(plain_name("main()::<lambda(int)>"), "main::<lambda>");
	CHECK_STR(plain_name("main::$_12::operator()(int) const"), "main::<lambda>");
	CHECK_STR(plain_name("main::'lambda'(int)::operator()(int) const"), "main::<lambda>");
	CHECK_STR(plain_name("(anonymous namespace)::work(int)"), "(anonymous namespace)::work");
	CHECK_STR(plain_name("{anonymous}::work()"), "(anonymous namespace)::work");
	CHECK_STR(plain_name("<unnamed>::work()"), "(anonymous namespace)::work");
}

static void operators_keep_their_sign(void)
{
	CHECK_STR(plain_name("Sum::operator()(int)"), "Sum::operator()");
	CHECK_STR(plain_name("std::ostream& operator<<(std::ostream&, int)"), "operator<<");
	CHECK_STR(plain_name("bool Key::operator<(const Key&) const"), "Key::operator<");
	CHECK_STR(plain_name("Key::operator bool() const"), "Key::operator bool");
	CHECK_STR(plain_name("void* Pool::operator new[](unsigned long)"), "Pool::operator new[]");
	CHECK_STR(plain_name("int operators(int)"), "operators");
}

static void what_has_no_plain_name_stays(void)
{
	CHECK_STR(plain_name(""), "");
	CHECK_STR(plain_name("(int)"), "(int)");
}

static void a_small_buffer_holds_the_beginning(void)
{
	char to[5] = "xxxx";

	ctp_function_plain("void abcdefgh(int)", to, sizeof(to));
	CHECK_STR(to, "abcd");
	ctp_function_plain("abcd", to, 1);
	CHECK_STR(to, "");
	to[0] = 'y';
	ctp_function_plain("abcd", to, 0);
	CHECK_EQ(to[0], 'y');
}

int main(void)
{
	RUN(scopes_and_name_remain);
	RUN(nameless_scopes_have_a_placeholder);
	RUN(operators_keep_their_sign);
	RUN(what_has_no_plain_name_stays);
	RUN(a_small_buffer_holds_the_beginning);
	return 0;
}
