// SPDX-License-Identifier: MIT
// layout_bed.cpp - classes of C++ with what records of C do not have.
namespace bed
{
struct Base {
	long id;
};

class Middle : public Base
{
      public:
	int open;

      protected:
	short half;

      private:
	char shut;

      public:
	virtual ~Middle()
	{
	}
	int sum() const
	{
		return open + half + shut;
	}
};

Middle *kept_middle = new Middle();
} // namespace bed
