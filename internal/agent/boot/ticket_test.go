package boot

import (
	"context"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent/optical"
	"plimsoll/internal/agent/tether"
)

func TestTheTicketIsFound(t *testing.T) {
	l, err := tether.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	want, err := l.Admit("web-1")
	if err != nil {
		t.Fatal(err)
	}
	want.Lab = "127.0.0.1:1"
	text, err := want.Format()
	if err != nil {
		t.Fatal(err)
	}
	cd, err := optical.Image(tether.File, text)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := findTicket(ctx, dir+"/sr*"); err == nil || !strings.Contains(err.Error(), "no CD drive") {
		t.Error(err)
	}
	for name, content := range map[string][]byte{"sr0": []byte("empty"), "sr1": cd} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := findTicket(t.Context(), dir+"/sr*"); err != nil || got.Name != "web-1" || string(got.Key) != string(want.Key) {
		t.Errorf("%v, %v", got.Name, err)
	}
}

// offer is an answer of a DHCP server, as RFC 2131 has it.
func offer(id [4]byte) []byte {
	m := dhcpMessage(id, net.HardwareAddr{1, 2, 3, 4, 5, 6}, dhcpOffer, lease{})[:dhcpLength]
	m[0] = 2
	copy(m[16:], []byte{192, 0, 2, 7})
	return append(m, optionType, 1, dhcpOffer, 0, optionMask, 4, 255, 255, 240, 0, optionRouter, 8, 192, 0, 2, 1, 192, 0, 2, 2,
		optionServer, 4, 192, 0, 2, 3, optionTime, 4, 0, 0, 14, 16, optionEnd)
}

func TestDHCP(t *testing.T) {
	id := [4]byte{9, 8, 7, 6}
	kind, l, err := readDHCP(offer(id), id[:])
	want := lease{netip.MustParsePrefix("192.0.2.7/20"), netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.3"), time.Hour}
	if err != nil || kind != dhcpOffer || l != want {
		t.Errorf("%d, %+v, %v", kind, l, err)
	}
	if _, _, err := readDHCP(offer(id), []byte{1, 2, 3, 4}); err == nil {
		t.Error("the answer to another is taken")
	}
	request := dhcpMessage(id, net.HardwareAddr{1, 2, 3, 4, 5, 6}, dhcpRequest, l)
	if len(request) < 300 || !strings.Contains(string(request), "\x32\x04\xc0\x00\x02\x07\x36\x04\xc0\x00\x02\x03\xff") {
		t.Errorf("%x", request)
	}
}

func FuzzReadDHCP(f *testing.F) {
	id := [4]byte{9, 8, 7, 6}
	f.Add(offer(id))
	f.Add(offer(id)[:dhcpLength+3])
	f.Fuzz(func(t *testing.T, m []byte) {
		if kind, l, err := readDHCP(m, id[:]); err == nil && kind == dhcpAck && (!l.prefix.IsValid() || l.prefix.Addr().IsUnspecified()) {
			t.Errorf("%x gives %+v", m, l)
		}
	})
}
