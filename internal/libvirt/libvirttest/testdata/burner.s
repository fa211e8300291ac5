# A guest that burns CPU: a multiboot kernel of some 200 bytes, which needs no disk and no memory
# beyond 16 MiB. Of each 20 ticks of 10 ms it computes for `duty` ticks and halts for the rest.
# While it computes, it writes to one page after the other of the 8 MiB from 4 MiB on if
# `dirty` is not 0.
#
# Built by: as --32 -o b.o burner.s && ld -m elf_i386 -Ttext 0x100000 -o b.elf b.o && objcopy -O binary -j .text b.elf burner.bin
	.code32
	.text
	.globl _start
_start:
header:
	.long 0x1BADB002, 0x00010000, -(0x1BADB002 + 0x00010000)
	.long header, header, 0, 0, entry
duty:	.byte 20			# at offset 32
dirty:	.byte 0			# at offset 33
	.balign 8
gdt:	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdtr:	.word 23
	.long gdt
idtr:	.word 0x21 * 8 - 1
	.long 0x80000
entry:
	cli
	movl $0x90000, %esp
	lgdt gdtr
	ljmp $8, $1f
1:	movw $16, %ax
	movw %ax, %ds
	movw %ax, %es
	movw %ax, %ss
	movl $tick, %eax		# vector 0x20 of the interrupt table
	movw %ax, 0x80100
	movw $8, 0x80102
	movw $0x8e00, 0x80104
	shrl $16, %eax
	movw %ax, 0x80106
	lidt idtr
	movb $0x11, %al		# interrupt controller: from vector 0x20, the timer alone
	outb %al, $0x20
	movb $0x20, %al
	outb %al, $0x21
	movb $0x04, %al
	outb %al, $0x21
	movb $0x01, %al
	outb %al, $0x21
	movb $0xfe, %al
	outb %al, $0x21
	movb $0x34, %al		# timer: 100 Hz
	outb %al, $0x43
	movb $0x9c, %al
	outb %al, $0x40
	movb $0x2e, %al
	outb %al, $0x40
	xorl %ebx, %ebx
	xorl %edi, %edi
	sti
work:
	cmpb duty, %bl
	jb burn
	hlt
	jmp work
burn:
	cmpb $0, dirty
	je work
	incl 0x400000(%edi)
	addl $4096, %edi
	andl $0x7fffff, %edi
	jmp work
tick:
	pushl %eax
	incl %ebx
	cmpb $20, %bl
	jb 1f
	xorl %ebx, %ebx
1:	movb $0x20, %al
	outb %al, $0x20
	popl %eax
	iret
