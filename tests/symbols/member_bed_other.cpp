// SPDX-License-Identifier: MIT
// member_bed_other.cpp - the definition of a struct that another file only declares.
namespace bed
{
struct Outer {
	struct Declared {
		long before;
		int found;
	};
	Declared in;
};

Outer declared_outer = { { 1, 71 } };
Outer::Declared *declared_object = &declared_outer.in;

struct Elsewhere {
	char padding[24];
	int found;
};

Elsewhere elsewhere_object = { { 0 }, 72 };
} // namespace bed
