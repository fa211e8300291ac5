# What UEFI firmware starts: hands the kernel that follows in the same file to the
# firmware's LoadImage, gives it the command line and the device that this
# program is from, and starts it. Everything is relative to the instruction
# pointer. "go generate" makes stub.bin of it; a test compares the two.
#
# In: rcx = handle of this image, rdx = system table (UEFI 2.10, 4.1).
	.intel_syntax noprefix
	.text
	push	rbx
	push	r12
	push	r13
	push	r14
	sub	rsp, 0x48		# 0x20 for callees, two arguments, two results
	mov	r12, rcx
	mov	r13, rdx
	mov	rbx, [rdx + 0x60]	# boot services

	lea	r9, [rip + parameters]
	mov	rax, [r9 + 8]
	mov	[rsp + 0x20], rax	# size of the kernel
	lea	rax, [rsp + 0x30]
	mov	qword ptr [rax], 0
	mov	[rsp + 0x28], rax	# where its handle goes
	add	r9, [r9]		# the kernel
	xor	ecx, ecx		# no boot policy
	mov	rdx, r12
	lea	r8, [rip + path]
	call	[rbx + 0xc8]		# LoadImage
	test	rax, rax
	jnz	failed

	mov	rcx, r12
	lea	rdx, [rip + loaded]
	lea	r8, [rsp + 0x38]
	call	[rbx + 0x98]		# HandleProtocol: about this image
	test	rax, rax
	jnz	failed
	mov	rax, [rsp + 0x38]
	mov	r14, [rax + 24]		# its device

	mov	rcx, [rsp + 0x30]
	lea	rdx, [rip + loaded]
	lea	r8, [rsp + 0x38]
	call	[rbx + 0x98]		# HandleProtocol: about the kernel's
	test	rax, rax
	jnz	failed
	mov	rax, [rsp + 0x38]
	mov	[rax + 24], r14
	lea	rdx, [rip + parameters]
	mov	rcx, [rdx + 24]
	mov	[rax + 48], ecx		# size of the command line
	add	rdx, [rdx + 16]
	mov	[rax + 56], rdx

	mov	rcx, [rsp + 0x30]
	xor	edx, edx
	xor	r8d, r8d
	call	[rbx + 0xd0]		# StartImage returns only where it failed

failed:
	mov	r14, rax
	mov	rcx, [r13 + 64]		# console
	lea	rdx, [rip + message]
	call	[rcx + 8]		# OutputString
	mov	rax, r14
	add	rsp, 0x48
	pop	r14
	pop	r13
	pop	r12
	pop	rbx
	ret

	.balign	8
loaded:	# EFI_LOADED_IMAGE_PROTOCOL
	.long	0x5b1b31a1
	.word	0x9562, 0x11d2
	.byte	0x8e, 0x3f, 0x00, 0xa0, 0xc9, 0x69, 0x72, 0x3b
path:	# a device path of one media node of our own, and its end
	.byte	4, 3
	.word	20
	.long	0x706c696d
	.word	0x736f, 0x4c6c
	.byte	0x8e, 0x3f, 0x6b, 0x65, 0x72, 0x6e, 0x65, 0x6c
	.byte	0x7f, 0xff
	.word	4
message:
	.string16 "plimsoll: the firmware does not start the kernel (is Secure Boot on?)\r\n"
	.balign	8
parameters:	# kernel and its size, command line and its size: 4 x 8 bytes that Go appends
