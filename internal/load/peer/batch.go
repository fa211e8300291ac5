package peer

import (
	"syscall"
	"unsafe"
)

// Batch receives or sends several datagrams per system call, in preallocated memory. It is
// used by one thread; its calls do not block and bypass Go's scheduler, so they need a locked
// thread.
type Batch struct {
	headers []message
	vectors []syscall.Iovec
	names   []syscall.RawSockaddrAny
	memory  []byte
	size    int
}

// message is struct mmsghdr of Linux.
type message struct {
	header syscall.Msghdr
	length uint32
	_      [4]byte
}

// NewBatch sets aside memory for count datagrams of at most size bytes.
func NewBatch(count, size int) *Batch {
	b := &Batch{
		headers: make([]message, count), vectors: make([]syscall.Iovec, count),
		names: make([]syscall.RawSockaddrAny, count), memory: make([]byte, count*size), size: size,
	}
	for i := range b.headers {
		b.vectors[i].Base = &b.memory[i*size]
		b.headers[i].header.Iov = &b.vectors[i]
		b.headers[i].header.Iovlen = 1
	}
	return b
}

// Datagram is the buffer of datagram i.
func (b *Batch) Datagram(i int) []byte { return b.memory[i*b.size : (i+1)*b.size] }

// From is the source of datagram i, once received.
func (b *Batch) From(i int) *syscall.RawSockaddrAny { return &b.names[i] }

// Receive receives the available datagrams. Length i is the length of datagram i on the
// wire.
func (b *Batch) Receive(socket int) (count int, err syscall.Errno) {
	for i := range b.headers {
		b.vectors[i].SetLen(b.size)
		h := &b.headers[i].header
		h.Name, h.Namelen = (*byte)(unsafe.Pointer(&b.names[i])), syscall.SizeofSockaddrAny
	}
	// MSG_TRUNC: the length of a datagram that is longer than its memory counts whole.
	n, _, err := syscall.RawSyscall6(sysRecvmmsg, uintptr(socket), uintptr(unsafe.Pointer(&b.headers[0])), uintptr(len(b.headers)),
		syscall.MSG_DONTWAIT|syscall.MSG_TRUNC, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// Length is the length of the received datagram i.
func (b *Batch) Length(i int) int { return int(b.headers[i].length) }

// Reply prepares datagram i to be returned to its source, with another length.
func (b *Batch) Reply(i, length int) { b.vectors[i].SetLen(length) }

// Address prepares datagram i for the connected peer.
func (b *Batch) Address(i, length int) {
	b.vectors[i].SetLen(length)
	b.headers[i].header.Name, b.headers[i].header.Namelen = nil, 0
}

// Send sends the datagrams in the range, which must be prepared. It sends fewer if the socket
// accepts no more; the error is that of the first one.
func (b *Batch) Send(socket, from, to int) (count int, err syscall.Errno) {
	n, _, err := syscall.RawSyscall6(sysSendmmsg, uintptr(socket), uintptr(unsafe.Pointer(&b.headers[from])), uintptr(to-from),
		syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// Count is the capacity of the batch.
func (b *Batch) Count() int { return len(b.headers) }
