/* SPDX-License-Identifier: MIT */
/* module_piece.c - a small library, whose debug information test_module_files.c looks for. */
int piece_sum(int a, int b);
int piece_sum(int a, int b)
{
	return a + b; /* @piece_sum */
}
