package peer

// Numbers of system calls, of which package syscall lacks one.
const (
	sysRecvmmsg = 299
	sysSendmmsg = 307
)
