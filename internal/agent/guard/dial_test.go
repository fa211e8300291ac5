package guard

import (
	"context"
	"errors"
	"net"
	"testing"
)

// reaching is a machine that says where it was sent.
type reaching struct {
	*fake
	to []string
}

func (r *reaching) Dial(_ context.Context, network, address string) (net.Conn, error) {
	r.to = append(r.to, network+" "+address)
	return nil, net.ErrClosed
}

func TestDialling(t *testing.T) {
	own := []net.Addr{&net.IPNet{IP: net.IPv4(10, 0, 0, 7), Mask: net.CIDRMask(24, 32)}, &net.IPNet{IP: net.ParseIP("fd00::7"), Mask: net.CIDRMask(64, 128)}}
	for address, ok := range map[string]bool{
		"tcp 127.0.0.1:6379": true, "tcp [::1]:6379": true, "tcp [::ffff:127.0.0.2]:1": true, "tcp 10.0.0.7:80": true, "tcp4 10.0.0.7:80": true, "tcp [fd00::7]:80": true,
		"unix /scratch/study/socket": true,
		"tcp 10.0.0.8:80":            false, "tcp 0.0.0.0:80": false, "tcp localhost:80": false, "tcp web:80": false, "tcp [fd00::8]:80": false, "tcp": false,
		"unix /run/docker.sock": false, "unix /scratch/../run/docker.sock": false, "unix @abstract": false, "unix 127.0.0.1:1": false, "tcp /scratch/socket": false,
	} {
		network, rest := address, ""
		for i := range address {
			if address[i] == ' ' {
				network, rest = address[:i], address[i+1:]
				break
			}
		}
		if err := (Rules{Scratch: "/scratch"}).checkDial(network, rest, own); (err == nil) != ok || err != nil && !errors.Is(err, ErrNotAllowed) {
			t.Errorf("%s: %v", address, err)
		}
	}
	r := &reaching{fake: &fake{files: map[string]string{}}}
	w := guard(t, r.fake, Rules{})
	if _, err := w.Dial(t.Context(), "tcp", "127.0.0.1:1"); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a machine that does not dial: %v", err)
	}
	w.Whole = r
	for _, commands := range []bool{false, true} {
		w.rules.Commands = commands
		for _, address := range []string{"127.0.0.1:1", "192.0.2.1:1"} {
			if _, err := w.Dial(t.Context(), "tcp", address); err == nil {
				t.Error("it is connected")
			}
		}
	}
	if len(r.to) != 3 {
		t.Errorf("it was sent to %q: want one place, and with leave for commands two", r.to)
	}
}
