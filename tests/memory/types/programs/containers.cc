/* SPDX-License-Identifier: MIT */
/* containers.cc - containers of the standard library, whose nodes are heap blocks. */
#include <cstdio>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>
struct point {
	int x, y;
	double weight;
};
struct base {
	virtual ~base()
	{
	}
	int id = 1;
};
struct derived : base {
	long extra[3] = {};
	point p = {};
};
int main()
{
	std::map<int, point> tree;
	std::list<point> chain;
	std::unordered_map<int, point> table;
	std::vector<point> row;
	std::vector<std::unique_ptr<base>> objects;
	for (int i = 0; i < 400; i++) {
		int k = i * 7919 % 1000;
		tree[k].x = i;
		chain.push_back({ i, k, 1.5 });
		table[k].y = i;
		row.push_back({ k, i, 2 });
		if (i % 8 == 0) {
			auto d = std::make_unique<derived>();
			d->extra[1] = i;
			d->p.weight = k;
			objects.push_back(std::move(d));
		}
	}
	double s = 0;
	for (int n = 0; n < 5; n++) {
		for (auto &e : tree)
			s += e.second.weight + e.first;
		for (auto &p : chain)
			s += p.weight;
		for (auto &e : table)
			s += e.second.y;
		for (auto &p : row)
			s += p.weight * p.x;
		for (auto &o : objects)
			s += o->id;
	}
	for (int k = 0; k < 1000; k++) {
		auto it = tree.find(k);
		if (it != tree.end())
			s += it->second.x;
		s += table.count(k);
	}
	printf("%g\n", s);
}
