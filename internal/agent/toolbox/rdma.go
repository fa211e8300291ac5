package toolbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// Numbers of linux/rdma_netlink.h.
const (
	rdmaNewLink   = 5<<10 | 3 // RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK
	rdmaName      = 2         // RDMA_NLDEV_ATTR_DEV_NAME
	rdmaInterface = 51        // RDMA_NLDEV_ATTR_NDEV_NAME
	rdmaType      = 65        // RDMA_NLDEV_ATTR_LINK_TYPE
	longestName   = 63        // of a device, without the end of the text
)

// rdma makes an RDMA device of a network interface, in software: rdma link add NAME type rxe netdev INTERFACE.
func rdma(c *Call) error {
	a := c.Args
	if len(a) != 7 || !slices.Equal(a[:2], []string{"link", "add"}) || a[3] != "type" || a[5] != "netdev" {
		return refused("usage: rdma link add NAME type rxe netdev INTERFACE")
	}
	for _, name := range []string{a[2], a[4], a[6]} {
		if name == "" || len(name) > longestName {
			return refused("%q is not a name", name)
		}
	}
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_RDMA)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		return errors.New("this kernel has no RDMA (module ib_core)")
	}
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer func() { _ = unix.Close(s) }()
	if err := unix.Sendto(s, rdmaMessage(a[2], a[4], a[6]), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send to the kernel: %w", err)
	}
	answer := make([]byte, 8192)
	n, _, err := unix.Recvfrom(s, answer, 0)
	if err != nil {
		return fmt.Errorf("receive from the kernel: %w", err)
	}
	return rdmaAnswer(answer[:n], a[2])
}

// rdmaMessage requests a device of a type on a network interface.
func rdmaMessage(name, kind, on string) []byte {
	b := binary.NativeEndian.AppendUint32(nil, 0) // the length, set later
	b = binary.NativeEndian.AppendUint16(b, rdmaNewLink)
	b = binary.NativeEndian.AppendUint16(b, unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = append(b, make([]byte, 8)...) // sequence number and sender: one request at a time
	for _, a := range []struct {
		number uint16
		text   string
	}{{rdmaName, name}, {rdmaType, kind}, {rdmaInterface, on}} {
		b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofNlAttr+len(a.text)+1))
		b = binary.NativeEndian.AppendUint16(b, a.number)
		b = append(append(b, a.text...), 0)
		b = append(b, make([]byte, -len(b)&3)...)
	}
	binary.NativeEndian.PutUint32(b, uint32(len(b)))
	return b
}

// rdmaAnswer is the error of the kernel's answer.
func rdmaAnswer(b []byte, name string) error {
	if len(b) < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(b[4:]) != unix.NLMSG_ERROR {
		return errors.New("unexpected response from the kernel")
	}
	if code := int32(binary.NativeEndian.Uint32(b[unix.SizeofNlMsghdr:])); code != 0 {
		return fmt.Errorf("add %s: %w", name, unix.Errno(-code))
	}
	return nil
}
