package network

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// listenAt is a Unix socket that listens with a backlog and accepts nothing.
func listenAt(t *testing.T, path string, backlog int) {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Listen(fd, backlog); err != nil {
		t.Fatal(err)
	}
}

// fill connects to a socket until it refuses, and tells how many connections it took.
func fill(t *testing.T, path string) (taken float64) {
	t.Helper()
	for taken < 100 {
		fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = syscall.Close(fd) })
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		if errors.Is(err, syscall.EAGAIN) {
			return taken
		}
		if err != nil {
			t.Fatal(err)
		}
		taken++
	}
	t.Fatal("the queue is never full")
	return 0
}

// Unix sockets of this host are read with their queues: a full one, one in use, and one with an
// abstract name.
func TestUnixSocketsOfThisHost(t *testing.T) {
	folder := t.TempDir()
	full, usual, abstract := filepath.Join(folder, "full.sock"), filepath.Join(folder, "usual.sock"), "@plimsoll-"+filepath.Base(folder)
	listenAt(t, full, 2)
	listenAt(t, usual, 5)
	listenAt(t, abstract, 3)
	taken := fill(t, full)
	client, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(client)
	if err := syscall.Connect(client, &syscall.SockaddrUnix{Name: usual}); err != nil {
		t.Fatal(err)
	}
	table := newTable(func(uint32) (int, string) { return os.Getpid(), "test" })
	k := Local()
	var r *Reading
	for at := range 2 {
		if r, err = table.Read(k, float64(at), nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []Listener{
		{Address: full, Backlog: 2, Queue: taken, Waiting: 1, Full: 1},
		{Address: usual, Backlog: 5, Queue: 1, Waiting: 1},
		{Address: abstract, Backlog: 3},
	} {
		want.PID, want.Program = os.Getpid(), "test"
		at := slices.IndexFunc(r.Listeners, func(l Listener) bool { return l.Address == want.Address })
		if at < 0 {
			t.Fatalf("no listening socket %s among %+v", want.Address, r.Listeners)
		}
		if r.Listeners[at] != want || !r.Listeners[at].Unix() {
			t.Errorf("listening socket %+v, not %+v", r.Listeners[at], want)
		}
	}
}

func FuzzUnix(f *testing.F) {
	f.Add(requestUnix(1<<listening, showName)[header:])
	f.Add(append(append(make([]byte, unixHeader), 8, 0, unixName, 0, '/', 'a', 0, 0), 12, 0, unixQueue, 0, 1, 0, 0, 0, 2, 0, 0, 0))
	f.Fuzz(func(t *testing.T, body []byte) {
		if s, ok := parseUnix(body); ok && (len(body) < unixHeader || len(s.name) > len(body)) {
			t.Errorf("%d bytes are a socket: %+v", len(body), s)
		}
	})
}
