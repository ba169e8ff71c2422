/* SPDX-License-Identifier: MIT */
/* test_demangle.c - C++ and Rust symbols become readable; one that explodes does not. */
#include "symbols/demangle.h"

#include "check.h"

static const char *demangled(const char *name)
{
	static char kept[256];
	char *text = symbol_demangle(name);

	snprintf(kept, sizeof(kept), "%s", text ? text : "-");
	free(text);
	return kept;
}

static void both_languages_are_demangled(void)
{
	CHECK_STR(demangled("_ZN3net4Pool5serveEi"), "net::Pool::serve(int)");
	CHECK_STR(demangled("_Z4workIlEvT_"), "void work<long>(long)");
	CHECK_STR(demangled("_ZN4core3ptr4read17h0123456789abcdefE"), "core::ptr::read");
	CHECK_STR(demangled("_RNvNtCs1234_7mycrate3net5serve"), "mycrate::net::serve");
}

static void other_names_stay(void)
{
	CHECK_STR(demangled("main"), "-");
	CHECK_STR(demangled("_start"), "-");
	CHECK_STR(demangled("_Z"), "-");
	CHECK_STR(demangled("_ZN3net"), "-");
	CHECK_STR(demangled(""), "-");
}

/* Each argument is a pair of the one before: the text doubles 36 times. */
static void a_name_that_explodes_is_left_as_it_is(void)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[512] = "_Z1fSt4pairIiiE";
	size_t used = strlen(name), i;

	/* Few are readable. */
	memcpy(name + used, "S_IS0_S0_E", 11);
	CHECK_STR(demangled(name), "f(std::pair<int, int>, "
				   "std::pair<std::pair<int, int>, std::pair<int, int> >)");
	for (i = 0; i < 36; i++, used += 10)
		snprintf(name + used, 11, "S_IS%c_S%c_E", digits[i], digits[i]);
	CHECK_STR(demangled(name), "-");
}

int main(void)
{
	RUN(both_languages_are_demangled);
	RUN(other_names_stay);
	RUN(a_name_that_explodes_is_left_as_it_is);
	return 0;
}
