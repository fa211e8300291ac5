package peer

// Numbers of system calls, of which package syscall lacks some elsewhere.
const (
	sysRecvmmsg = 243
	sysSendmmsg = 269
)
