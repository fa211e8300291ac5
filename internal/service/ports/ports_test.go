package ports

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

func TestRangesOfPorts(t *testing.T) {
	for text, want := range map[string][2]int{
		"32768\t60999\n": {lowest, 32767}, "1024 40000": {40001, highest}, "10000 65535": {lowest, highest}, "": {lowest, highest},
		"a b": {lowest, highest}, "5000 6000": {lowest, highest}, "70000 80000": {lowest, highest},
	} {
		if low, high := portRange(text); low != want[0] || high != want[1] {
			t.Errorf("%q: from %d to %d, want %v", text, low, high, want)
		}
	}
}

// table is a machine whose kernel lists the ports in use.
type table struct {
	platform.Machine
	files map[string]string
	err   error
}

func (m table) ReadFile(_ context.Context, name string) ([]byte, error) {
	if text, ok := m.files[name]; ok {
		return []byte(text), m.err
	}
	return nil, fs.ErrNotExist
}

// Ports are chosen by the list of the machine itself.
func TestPortsThatAreTakenThere(t *testing.T) {
	t.Parallel()
	head := "  sl  local_address rem_address   st tx_queue\n"
	var listening strings.Builder
	listening.WriteString(head)
	for p := lowest; p <= 32767; p++ {
		if p%100 != 0 {
			fmt.Fprintf(&listening, "   0: 0100007F:%04X 00000000:0000 0A 0\n", p)
		}
	}
	m := table{files: map[string]string{"/proc/net/tcp": head, "/proc/net/tcp6": listening.String(), "/proc/sys/net/ipv4/ip_local_port_range": "32768\t60999\n"}}
	found := 0
	for range 20 { // one of a hundred ports is free, so a search may fail
		ports, err := Free(t.Context(), m, 1)
		if err == nil && ports[0]%100 != 0 {
			t.Fatalf("port %d is taken", ports[0])
		}
		if err == nil {
			found++
		}
	}
	if found == 0 {
		t.Error("no search finds a free port")
	}
	if ports, err := Free(t.Context(), table{}, 3); err != nil || len(ports) != 3 {
		t.Errorf("where the kernel does not tell: %v, %v", ports, err)
	}
	m.err = errors.New("the line is cut")
	if _, err := Free(t.Context(), m, 1); !errors.Is(err, m.err) {
		t.Errorf("got %v", err)
	}
}
