# SPDX-License-Identifier: MIT
# deep.s - debug information of entries inside each other, as deep as the file is long.
	.text
	.globl	here
	.type	here, @function
here:
	.fill	65536, 1, 0x90
	.size	here, 65536
end_of_text:
	.section .debug_abbrev, "", @progbits
	.uleb128 1			# a compilation unit, with entries inside
	.uleb128 0x11
	.byte	1
	.uleb128 0x11			# low_pc, addr
	.uleb128 1
	.uleb128 0x12			# high_pc, addr
	.uleb128 1
	.byte	0, 0
	.uleb128 2			# TAG, with entries inside
	.uleb128 TAG
	.byte	1
	.byte	0, 0
	.byte	0
	.section .debug_info, "", @progbits
	.long	info_end - info
info:
	.value	4
	.long	0
	.byte	8
	.uleb128 1
	.quad	here
	.quad	end_of_text
	.fill	1000000, 1, 2
	.fill	1000001, 1, 0
info_end:
