//go:build linux

package socket

import (
	"net"
	"strings"
	"syscall"
	"testing"

	"plimsoll/internal/load"
)

func TestResolve(t *testing.T) {
	for address, want := range map[string]syscall.Sockaddr{
		"127.0.0.1:80":   &syscall.SockaddrInet4{Port: 80, Addr: [4]byte{127, 0, 0, 1}},
		"[::1]:81":       &syscall.SockaddrInet6{Port: 81, Addr: [16]byte{15: 1}},
		"[fe80::1%1]:82": &syscall.SockaddrInet6{Port: 82, ZoneId: 1, Addr: [16]byte{0xfe, 0x80, 15: 1}},
		"[fe80::1%lo]:1": &syscall.SockaddrInet6{Port: 1, ZoneId: 1, Addr: [16]byte{0xfe, 0x80, 15: 1}},
		"127.0.0.1:http": &syscall.SockaddrInet4{Port: 80, Addr: [4]byte{127, 0, 0, 1}},
	} {
		p, err := resolve(t.Context(), load.Job{Network: "tcp", Address: address})
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		switch want := want.(type) {
		case *syscall.SockaddrInet4:
			if got, ok := p.address.(*syscall.SockaddrInet4); !ok || *got != *want || p.family != syscall.AF_INET {
				t.Errorf("%s: %+v", address, p)
			}
		case *syscall.SockaddrInet6:
			if got, ok := p.address.(*syscall.SockaddrInet6); !ok || *got != *want || p.family != syscall.AF_INET6 {
				t.Errorf("%s: %+v", address, p)
			}
		}
	}
	if _, err := resolve(t.Context(), load.Job{Network: "tcp", Address: "[fe80::1%nowhere]:82"}); err == nil || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("an interface that is not there gives %v", err)
	}
}

// A name may have an address at which nobody listens.
func TestTheFirstAddressThatAnswers(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	found := []net.IPAddr{{IP: net.IPv6loopback}, {IP: net.IPv4(127, 0, 0, 1)}}
	port := l.Addr().(*net.TCPAddr).Port
	if a := answering(t.Context(), found, port, load.Job{}); !a.IP.Equal(found[1].IP) {
		t.Errorf("%s answers", a)
	}
	_ = l.Close()
	if a := answering(t.Context(), found, port, load.Job{}); !a.IP.Equal(found[0].IP) {
		t.Errorf("nobody answers, and it is %s", a)
	}
}
