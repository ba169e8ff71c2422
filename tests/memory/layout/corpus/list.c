/* SPDX-License-Identifier: MIT */
/* list.c - nodes from malloc: the fields that a search needs are in two cache lines of each. */
#include <stdio.h>
#include <stdlib.h>

#include <cacheray.h>

/* layout */
struct node {
	long key;
	char payload[112];
	struct node *next;
};
/* end */

int main(void)
{
	struct node *list = NULL, *n;
	long sum = 0;

	for (int i = 0; i < 1500; i++) {
		n = cacheray_malloc(struct node);
		n->key = i;
		n->next = list;
		list = n;
	}
	for (int round = 0; round < 15; round++) {
		for (n = list; n; n = n->next)
			sum += n->key;
	}
	while ((n = list)) {
		list = n->next;
		free(n);
	}
	printf("%ld\n", sum);
	return 0;
}
