package boot

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lease is an address of the guest, for a time.
type lease struct {
	prefix  netip.Prefix
	gateway netip.Addr    // invalid if there is none
	server  netip.Addr    // that gave it
	time    time.Duration // 0: unlimited
}

// The fields and options of DHCP messages (RFC 2131 and 2132) that are used.
const (
	dhcpLength = 240 // without options
	dhcpCookie = "\x63\x82\x53\x63"

	optionMask     = 1
	optionRouter   = 3
	optionAddress  = 50
	optionTime     = 51
	optionType     = 53
	optionServer   = 54
	optionRequests = 55
	optionEnd      = 255

	dhcpDiscover = 1
	dhcpOffer    = 2
	dhcpRequest  = 3
	dhcpAck      = 5
	dhcpNak      = 6
)

const (
	// leaseTime limits the wait for an address.
	leaseTime = 60 * time.Second
	// answerTime is the time until a request is repeated.
	answerTime = 3 * time.Second
)

// errRefused reports that the server does not renew an address.
var errRefused = errors.New("the DHCP server refused the address")

// requestLease gets an address by DHCP.
func requestLease(ctx context.Context, device *net.Interface) (lease, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTime)
	defer cancel()
	for {
		l, err := exchange(ctx, device, lease{})
		if err == nil {
			return l, nil
		}
		if pause(ctx, 200*time.Millisecond) != nil {
			return l, fmt.Errorf("get an address for network interface %s by DHCP: %w", device.Name, err)
		}
	}
}

// renew renews a lease. If the server does not respond, the address is kept: there is no
// other.
func renew(ctx context.Context, device *net.Interface, l lease) {
	for l.time > 0 && pause(ctx, l.time/2) == nil {
		if again, err := exchange(ctx, device, l); err == nil {
			l = again
		}
	}
}

// exchange requests an address and takes the first offer, or renews one.
func exchange(ctx context.Context, device *net.Interface, has lease) (l lease, err error) {
	conn, err := broadcasting(ctx, device.Name)
	if err != nil {
		return l, err
	}
	defer conn.Close() //nolint:errcheck // nothing to lose
	var id [4]byte
	_, _ = rand.Read(id[:]) // never fails
	l = has
	if !has.prefix.IsValid() {
		if l, err = converse(ctx, conn, dhcpMessage(id, device.HardwareAddr, dhcpDiscover, lease{}), dhcpOffer); err != nil {
			return l, err
		}
	}
	return converse(ctx, conn, dhcpMessage(id, device.HardwareAddr, dhcpRequest, l), dhcpAck)
}

// broadcasting is a socket on the DHCP client port of an interface that may have no address.
func broadcasting(ctx context.Context, device string) (net.PacketConn, error) {
	config := net.ListenConfig{Control: func(_, _ string, raw syscall.RawConn) error {
		var err error
		bad := raw.Control(func(fd uintptr) {
			err = errors.Join(unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_BROADCAST, 1),
				unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1), unix.BindToDevice(int(fd), device))
		})
		return errors.Join(bad, err)
	}}
	return config.ListenPacket(ctx, "udp4", ":68")
}

// converse sends a message and waits for the answer to it.
func converse(ctx context.Context, conn net.PacketConn, message []byte, kind byte) (l lease, err error) {
	until := time.Now().Add(answerTime)
	if limit, has := ctx.Deadline(); has && limit.Before(until) {
		until = limit
	}
	if err := conn.SetReadDeadline(until); err != nil {
		return l, err
	}
	if _, err := conn.WriteTo(message, &net.UDPAddr{IP: net.IPv4bcast, Port: 67}); err != nil {
		return l, err
	}
	answer := make([]byte, 1500)
	for {
		n, _, err := conn.ReadFrom(answer)
		if err != nil {
			return l, err
		}
		got, l, err := readDHCP(answer[:n], message[4:8])
		switch {
		case err == nil && got == kind:
			return l, nil
		case err == nil && got == dhcpNak:
			return l, errRefused
		}
	}
}

// dhcpMessage is a broadcast request for an address. Responses are to be broadcast.
func dhcpMessage(id [4]byte, card net.HardwareAddr, kind byte, l lease) []byte {
	m := make([]byte, dhcpLength)
	copy(m, "\x01\x01\x06\x00")
	copy(m[4:], id[:])
	m[10] = 0x80
	copy(m[28:], card)
	copy(m[236:], dhcpCookie)
	m = append(m, optionType, 1, kind, optionRequests, 3, optionMask, optionRouter, optionTime)
	if l.prefix.IsValid() {
		own := l.prefix.Addr().As4()
		m = append(append(m, optionAddress, 4), own[:]...)
	}
	if l.server.IsValid() {
		server := l.server.As4()
		m = append(append(m, optionServer, 4), server[:]...)
	}
	m = append(m, optionEnd)
	return append(m, make([]byte, max(0, 300-len(m)))...) // some relays drop shorter ones
}

// readDHCP parses an answer to the message with an id.
func readDHCP(m, id []byte) (kind byte, l lease, err error) {
	if len(m) < dhcpLength || m[0] != 2 || !bytes.Equal(m[4:8], id) || string(m[236:dhcpLength]) != dhcpCookie {
		return 0, l, errors.New("not an answer to this DHCP request")
	}
	bits := 24
	for rest := m[dhcpLength:]; len(rest) > 0 && rest[0] != optionEnd; {
		if rest[0] == 0 {
			rest = rest[1:]
			continue
		}
		if len(rest) < 2 || len(rest) < 2+int(rest[1]) {
			return 0, l, errors.New("truncated DHCP answer")
		}
		option, value := rest[0], rest[2:2+int(rest[1])]
		rest = rest[2+len(value):]
		switch {
		case option == optionType && len(value) == 1:
			kind = value[0]
		case option == optionMask && len(value) == 4:
			ones, size := net.IPMask(value).Size()
			if size == 0 {
				return 0, l, errors.New("a DHCP answer with a wrong network mask")
			}
			bits = ones
		case option == optionRouter && len(value) >= 4:
			l.gateway, _ = netip.AddrFromSlice(value[:4])
		case option == optionServer && len(value) == 4:
			l.server, _ = netip.AddrFromSlice(value)
		case option == optionTime && len(value) == 4:
			if s := binary.BigEndian.Uint32(value); s != 1<<32-1 {
				l.time = time.Duration(s) * time.Second
			}
		}
	}
	l.prefix = netip.PrefixFrom(netip.AddrFrom4([4]byte(m[16:20])), bits)
	if kind == dhcpOffer || kind == dhcpAck {
		if a := l.prefix.Addr(); a.IsUnspecified() || a.IsMulticast() {
			return 0, l, errors.New("a DHCP answer without an address")
		}
	}
	return kind, l, nil
}
