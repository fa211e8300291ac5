package boot

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// deviceTime is the time limit for a network interface to appear after its driver was loaded.
const deviceTime = 3 * time.Second

// bringUp enables the loopback interface and every interface with an address.
func bringUp(ctx context.Context, addresses []address) error {
	n, err := openNetlink()
	if err != nil {
		return err
	}
	defer n.close()
	if lo, err := net.InterfaceByName("lo"); err == nil {
		if err := n.ask(upMessage(lo.Index)); err != nil {
			return fmt.Errorf("enable the loopback interface: %w", err)
		}
	}
	for _, a := range addresses {
		device, err := appear(ctx, a.device)
		if err != nil {
			return fmt.Errorf("set the address of network interface %s: %w", a.device, err)
		}
		err = n.ask(upMessage(device))
		if err == nil {
			err = n.ask(addressMessage(device, a.prefix))
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("set the address of network interface %s to %s: %w", a.device, a.prefix, err)
		}
	}
	return nil
}

// netlink is a socket of rtnetlink(7).
type netlink int

func openNetlink() (netlink, error) {
	s, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
	if err != nil {
		return 0, fmt.Errorf("set up the network: %w", err)
	}
	return netlink(s), nil
}

func (n netlink) close() { _ = unix.Close(int(n)) }

// set sets the address of a lease on a network interface, and the default route.
func (n netlink) set(device *net.Interface, l lease) error {
	err := n.ask(addressMessage(device.Index, l.prefix))
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("set the address of network interface %s to %s: %w", device.Name, l.prefix, err)
	}
	if !l.gateway.IsValid() {
		return nil
	}
	if err := n.ask(routeMessage(device.Index, l.gateway)); err != nil && !errors.Is(err, unix.EEXIST) {
		return fmt.Errorf("set the gateway %s of network interface %s: %w", l.gateway, device.Name, err)
	}
	return nil
}

// firstCard waits for a network card and returns the first.
func firstCard(ctx context.Context) (*net.Interface, error) {
	ctx, cancel := context.WithTimeout(ctx, deviceTime)
	defer cancel()
	for {
		all, err := net.Interfaces()
		if err != nil {
			return nil, err
		}
		for _, i := range all {
			if i.Flags&net.FlagLoopback == 0 && len(i.HardwareAddr) == 6 {
				return &i, nil
			}
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return nil, fmt.Errorf("no network card within %s; does the guest have one, and its kernel the driver?", deviceTime)
		}
	}
}

// appear waits for a network interface and returns its index.
func appear(ctx context.Context, name string) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, deviceTime)
	defer cancel()
	for {
		device, err := net.InterfaceByName(name)
		if err == nil {
			return device.Index, nil
		}
		if pause(ctx, 20*time.Millisecond) != nil {
			return 0, fmt.Errorf("no network interface within %s; does the guest have a network card and its driver?", deviceTime)
		}
	}
}

// Messages of rtnetlink(7), in native byte order.

func upMessage(device int) []byte {
	b := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(b[4:], uint32(device))
	binary.NativeEndian.PutUint32(b[8:], unix.IFF_UP)
	binary.NativeEndian.PutUint32(b[12:], unix.IFF_UP) // mask of the flags to change
	return message(unix.RTM_NEWLINK, 0, b)
}

func addressMessage(device int, prefix netip.Prefix) []byte {
	ip := prefix.Addr()
	b := make([]byte, unix.SizeofIfAddrmsg)
	b[0] = unix.AF_INET
	if ip.Is6() {
		b[0] = unix.AF_INET6
		b[2] = unix.IFA_F_NODAD // usable at once
	}
	b[1] = byte(prefix.Bits())
	binary.NativeEndian.PutUint32(b[4:], uint32(device))
	b = attribute(b, unix.IFA_LOCAL, ip.AsSlice())
	b = attribute(b, unix.IFA_ADDRESS, ip.AsSlice())
	return message(unix.RTM_NEWADDR, unix.NLM_F_CREATE|unix.NLM_F_EXCL, b)
}

// routeMessage is the default route.
func routeMessage(device int, gateway netip.Addr) []byte {
	b := make([]byte, unix.SizeofRtMsg)
	b[0] = unix.AF_INET
	if gateway.Is6() {
		b[0] = unix.AF_INET6
	}
	b[4], b[5], b[6], b[7] = unix.RT_TABLE_MAIN, unix.RTPROT_BOOT, unix.RT_SCOPE_UNIVERSE, unix.RTN_UNICAST
	b = attribute(b, unix.RTA_GATEWAY, gateway.AsSlice())
	b = attribute(b, unix.RTA_OIF, binary.NativeEndian.AppendUint32(nil, uint32(device)))
	return message(unix.RTM_NEWROUTE, unix.NLM_F_CREATE|unix.NLM_F_EXCL, b)
}

// attribute appends a netlink attribute whose length is a multiple of 4.
func attribute(b []byte, kind uint16, value []byte) []byte {
	b = binary.NativeEndian.AppendUint16(b, uint16(unix.SizeofRtAttr+len(value)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	return append(b, value...)
}

func message(kind, flags uint16, body []byte) []byte {
	b := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, kind)
	b = binary.NativeEndian.AppendUint16(b, flags|unix.NLM_F_REQUEST|unix.NLM_F_ACK)
	b = append(b, make([]byte, 8)...) // sequence number and port: one request at a time
	return append(b, body...)
}

// ask sends a message and returns the kernel's response.
func (n netlink) ask(text []byte) error {
	if err := unix.Sendto(int(n), text, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return os.NewSyscallError("sendto", err)
	}
	answer := make([]byte, 8192)
	size, _, err := unix.Recvfrom(int(n), answer, 0)
	if err != nil {
		return os.NewSyscallError("recvfrom", err)
	}
	return acknowledged(answer[:size])
}

func acknowledged(answer []byte) error {
	if len(answer) < unix.SizeofNlMsghdr+4 || binary.NativeEndian.Uint16(answer[4:]) != unix.NLMSG_ERROR {
		return errors.New("unexpected response from the kernel")
	}
	if code := int32(binary.NativeEndian.Uint32(answer[unix.SizeofNlMsghdr:])); code != 0 {
		return unix.Errno(-code)
	}
	return nil
}
