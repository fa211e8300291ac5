package memcached

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/servicetest"
)

func here(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

func TestRealContract(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real memcached")
	}
	servicetest.Run(t, Kind(), servicetest.Options{
		Machine:    here(t),
		Unobserved: []string{"address"},
		Settings: []parameter.Settings{
			nil,
			{"threads": "2", "memory": "128MiB", "connections": "200", "max_item": "2MiB"},
			{"max_item": "64KiB"},
		},
	})
}

func TestSizesThatHaveNoRoom(t *testing.T) {
	for _, size := range []string{"1500B", "3KiB", "384KiB", "600KiB", "1025KiB"} {
		if _, err := Kind().New(parameter.Settings{"max_item": size}); err == nil || !strings.Contains(err.Error(), "max_item: memcached does not support") {
			t.Errorf("%s: %v", size, err)
		}
	}
	for _, size := range []string{"1KiB", "256KiB", "512KiB", "1536KiB"} {
		if _, err := Kind().New(parameter.Settings{"max_item": size}); err != nil {
			t.Errorf("%s: %v", size, err)
		}
	}
}

// With a small largest item, the server stores a value that fits and refuses a larger one.
func TestRealLargestItem(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start the real memcached")
	}
	m := here(t)
	for _, size := range []int{1 << 10, 64 << 10, 256 << 10, 512 << 10, 1536 << 10} {
		s, err := Kind().New(parameter.Settings{"max_item": parameter.Bytes(size).String()})
		if err != nil {
			t.Fatal(err)
		}
		instance, err := s.Start(t.Context(), service.Env{Machine: m, Dir: filepath.Join(t.TempDir(), "memcached"), Log: t.Logf})
		if err != nil {
			t.Errorf("%d: %v", size, err)
			continue
		}
		at, err := instance.Endpoint("memcached")
		if err != nil {
			t.Fatal(err)
		}
		if answer := set(t, at.Address, size-200); answer != "STORED\r\n" {
			t.Errorf("%d: a value that fits: %q", size, answer)
		}
		if answer := set(t, at.Address, size+1); !strings.HasPrefix(answer, "SERVER_ERROR object too large") {
			t.Errorf("%d: a value that does not fit: %q", size, answer)
		}
		seen, err := instance.Observed(t.Context())
		if err != nil || seen["max_item"] != parameter.Bytes(size).String() {
			t.Errorf("%d: the server says %v, %v", size, seen, err)
		}
		if err := instance.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// set stores a value and returns the response.
func set(t *testing.T, address string, size int) string {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	if _, err := fmt.Fprintf(conn, "set k 0 0 %d\r\n%s\r\n", size, strings.Repeat("x", size)); err != nil {
		t.Fatal(err)
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return answer
}
