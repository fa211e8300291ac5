package netem

import (
	"errors"
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// conversation is a netlink socket for one link.
type conversation struct {
	fd       int
	link     string
	index    int
	sequence uint32
}

// talk opens a conversation for f, in the network namespace of the calling thread.
func talk(link string, f func(*conversation) error) error {
	at, err := net.InterfaceByName(link)
	if err != nil {
		return fmt.Errorf("find the link: %w", err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return fmt.Errorf("open a netlink socket: %w", err)
	}
	defer unix.Close(fd)
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 10}); err != nil {
		return fmt.Errorf("set the timeout of the netlink socket: %w", err)
	}
	return f(&conversation{fd: fd, link: link, index: at.Index})
}

// read requests the root of the link.
func (c *conversation) read() (State, error) {
	found := State{Default: true} // a link without a queue may have no entry
	err := c.exchange(readMessage(c.index), func(message uint16, body []byte) error {
		if message != unix.RTM_NEWQDISC {
			return nil
		}
		s, ok, err := parse(body, c.index)
		if ok {
			found = s
		}
		return err
	})
	found.Link = c.link
	return found, err
}

// change sends a message that the kernel only acknowledges.
func (c *conversation) change(message []byte) error {
	err := c.exchange(message, func(uint16, []byte) error { return nil })
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("this kernel has no network emulator (module sch_netem): %w", errors.ErrUnsupported)
	case errors.Is(err, unix.EPERM):
		return fmt.Errorf("root or CAP_NET_ADMIN is required: %w", err)
	}
	return err
}

// exchange sends one message and passes on the answers until the last.
func (c *conversation) exchange(message []byte, each func(message uint16, body []byte) error) error {
	c.sequence++
	order.PutUint32(message[8:], c.sequence)
	if err := unix.Sendto(c.fd, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return fmt.Errorf("send to the kernel: %w", err)
	}
	buffer := make([]byte, 64<<10)
	for {
		n, from, err := unix.Recvfrom(c.fd, buffer, 0)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return fmt.Errorf("receive from the kernel: %w", err)
		}
		if kernel, ok := from.(*unix.SockaddrNetlink); !ok || kernel.Pid != 0 {
			continue // any process may write to the socket
		}
		if done, err := answers(buffer[:n], c.sequence, each); done || err != nil {
			return err
		}
	}
}

// answers parses one packet. After the last answer done is true.
func answers(b []byte, sequence uint32, each func(message uint16, body []byte) error) (done bool, err error) {
	for len(b) >= headSize {
		n := int(order.Uint32(b))
		if n < headSize || n > len(b) {
			return true, fmt.Errorf("the kernel's message claims %d of %d bytes", n, len(b))
		}
		message, body := order.Uint16(b[4:]), b[headSize:n]
		if order.Uint32(b[8:]) != sequence {
			b = b[min(len(b), (n+3)&^3):]
			continue
		}
		switch message {
		case unix.NLMSG_DONE:
			return true, nil
		case unix.NLMSG_ERROR:
			if len(body) < 4 {
				return true, errors.New("error without a number from the kernel")
			}
			if e := -int32(order.Uint32(body)); e > 0 {
				return true, fmt.Errorf("the kernel refused: %w", unix.Errno(e))
			}
			return true, nil
		}
		if err := each(message, body); err != nil {
			return true, err
		}
		b = b[min(len(b), (n+3)&^3):]
	}
	return false, nil
}
