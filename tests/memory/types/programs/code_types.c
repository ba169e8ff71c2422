/* SPDX-License-Identifier: MIT */
/* code_types.c - instructions with known types, for programs that are compiled and not run. */
struct node {
	int key;
	short hits;
	struct node *left, *right;
	double weight[4];
};

struct table {
	unsigned nr;
	struct node **slots;
	struct {
		short a, b;
	} pairs[8];
};

int table_sum(struct table *t)
{
	int sum = 0;
	unsigned i;

	for (i = 0; i < t->nr; i++) {
		struct node *n;

		for (n = t->slots[i]; n; n = n->left) {
			sum += n->key;
			n->weight[i & 3] += 1;
			t->pairs[i & 7].b++;
		}
	}
	return sum;
}

struct node *node_find(struct node *n, int key)
{
	while (n && n->key != key)
		n = key < n->key ? n->left : n->right;
	if (n)
		n->hits++;
	return n;
}

void _start(void)
{
	static struct table empty;

	table_sum(&empty);
	node_find(0, 0);
}
