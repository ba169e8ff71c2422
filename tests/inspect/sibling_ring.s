# SPDX-License-Identifier: MIT
# sibling_ring.s - a program that waits, with debug information of Rust whose siblings are a ring.
	.text
	.globl	main
	.type	main, @function
main:
	sub	$8, %rsp
1:	call	pause
	jmp	1b
	.size	main, .-main

	# Tasks of Tokio are searched if the program has this symbol.
	.globl	_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE
	.type	_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE, @function
_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE:
	ret
	.size	_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE, .-_ZN5tokio7runtime4task3raw4poll17h0123456789abcdefE
.Lend:

	.section .debug_abbrev,"",@progbits
	.uleb128 1		# the unit
	.uleb128 0x11
	.byte	1
	.uleb128 0x13		# language: data2
	.uleb128 0x5
	.uleb128 0x3		# name: string
	.uleb128 0x8
	.uleb128 0x11		# low pc: addr
	.uleb128 0x1
	.uleb128 0x12		# high pc: addr
	.uleb128 0x1
	.byte	0, 0
	.uleb128 2		# a namespace with a sibling
	.uleb128 0x39
	.byte	1
	.uleb128 0x3
	.uleb128 0x8
	.uleb128 0x1		# sibling: ref4
	.uleb128 0x13
	.byte	0, 0
	.byte	0

	.section .debug_info,"",@progbits
.Lunit:
	.long	.Lunit_end - .Lversion
.Lversion:
	.value	4
	.long	.debug_abbrev
	.byte	8
	.uleb128 1
	.value	0x1c		# Rust
	.asciz	"ring"
	.quad	main
	.quad	.Lend
.Lfirst:
	.uleb128 2
	.asciz	"tokio"
	.long	.Lsecond - .Lunit
.Linner:
	.uleb128 2
	.asciz	"runtime"
	.long	.Linner - .Lunit	# its own sibling
	.byte	0
	.byte	0
.Lsecond:
	.uleb128 2
	.asciz	"other"
	.long	.Lfirst - .Lunit	# the first one again
	.byte	0
	.byte	0
.Lunit_end:
	.section .note.GNU-stack,"",@progbits
