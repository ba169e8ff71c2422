/* SPDX-License-Identifier: MIT */
/* places_lib.c - a buffer whose symbols are hidden: only the symbol table has them. */
__attribute__((visibility("hidden"), used)) const char *const __ppt_Lib_json = "{}";
__attribute__((visibility("hidden"), used)) int __ppt_Lib_hmem[2] = { 1, 2 };
__attribute__((visibility("hidden"), used)) int __ppt_Lib_stat[2] = { 3, 4 };

int *places_lib_hmem(void);

int *places_lib_hmem(void)
{
	return __ppt_Lib_hmem;
}
