package outpost_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/pages"
)

const memory = 64 * pages.Size

// TestMain is also the keeper, and the QEMU that it keeps.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == outpost.Command:
		if err := outpost.Serve(nil, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case len(os.Args) == 3 && os.Args[1] == "qemu":
		if err := beQEMU(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(3)
		}
	default:
		os.Exit(m.Run())
	}
}

// beQEMU listens for the channel, connects to relay net, and obeys its monitor.
func beQEMU(dir string) error {
	l, err := net.Listen("unix", filepath.Join(dir, "channel.sock"))
	if err != nil {
		return err
	}
	card, err := net.Dial("unix", outpost.Socket(dir, "net"))
	if err != nil {
		return err
	}
	fmt.Println("it boots")
	channel := make(chan net.Conn, 1)
	go func() {
		if conn, err := l.Accept(); err == nil {
			channel <- conn
		}
	}()
	monitor, ram, devices := os.NewFile(3, "monitor"), os.NewFile(4, "memory"), os.NewFile(5, "devices")
	for lines := bufio.NewScanner(monitor); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "write":
			var page int
			var value byte
			fmt.Sscan(rest, &page, &value)
			_, err = ram.WriteAt(bytes.Repeat([]byte{value}, pages.Size), int64(page)*pages.Size)
		case "devices":
			_, err = devices.WriteAt([]byte(rest), 0)
		case "card":
			_, err = fmt.Fprintln(card, rest)
		case "say":
			conn := <-channel
			channel <- conn
			_, err = fmt.Fprintln(conn, rest)
		case "quit":
			return errors.New("it was told to")
		}
		if err != nil {
			return err
		}
		fmt.Fprintln(monitor, "done")
	}
	return nil
}

// kept is a QEMU on another host.
type kept struct {
	*outpost.QEMU
	t       *testing.T
	split   *guesttest.Split
	dir     string
	console *said
	card    chan string // lines of its network card
	answers *bufio.Reader
}

type said struct {
	mu   sync.Mutex
	text []byte
}

func (s *said) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func keep(t *testing.T, lease time.Duration) *kept {
	t.Helper()
	host, split := guesttest.OtherHost(t, os.Args[0])
	folder, err := host.Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k := &kept{t: t, split: split, dir: filepath.Join(folder, "guest"), console: &said{}, card: make(chan string, 16)}
	socket := filepath.Join(filepath.Dir(folder), "switch.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		if conn, err := l.Accept(); err == nil {
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				k.card <- lines.Text()
			}
		}
		close(k.card)
	}()
	order := outpost.Order{Binary: os.Args[0], Args: []string{"qemu", k.dir}, Dir: k.dir, Memory: memory, Lease: lease}
	if k.QEMU, err = host.Start(t.Context(), order, map[string]outpost.Dial{"net": func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}, outpost.Output{Console: k.console, Complaints: k.console}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Kill)
	k.answers = bufio.NewReader(k.Monitor())
	k.order("answer") // it listens then
	return k
}

// order has the QEMU do something.
func (k *kept) order(format string, args ...any) {
	k.t.Helper()
	if _, err := fmt.Fprintf(k.Monitor(), format+"\n", args...); err != nil {
		k.t.Fatal(err)
	}
	if line, err := k.answers.ReadString('\n'); line != "done\n" || err != nil {
		k.t.Fatalf("it answers %q, %v", line, err)
	}
}

// over waits until it has ended, and its process and its folder are gone.
func (k *kept) over() {
	k.t.Helper()
	select {
	case <-k.Ended():
	case <-time.After(20 * time.Second):
		k.t.Fatal("it has not ended")
	}
	if err := syscall.Kill(k.PID(), 0); !errors.Is(err, syscall.ESRCH) {
		k.t.Errorf("process %d is there, %v", k.PID(), err)
	}
}

// What QEMU says to its network, its console and its channel arrives here.
func TestWaysOfAGuest(t *testing.T) {
	t.Parallel()
	k := keep(t, 5*time.Second)
	k.order("card a frame")
	if line := <-k.card; line != "a frame" {
		t.Errorf("the card sent %q", line)
	}
	channel, err := k.Channel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	k.order("say hello")
	if err := k.Drain(t.Context()); err != nil {
		t.Error(err)
	}
	here := make([]byte, 64) // it came before the answer to Drain
	if n, err := syscallRead(channel, here); string(here[:max(0, n)]) != "hello\n" || err != nil {
		t.Errorf("the channel has %q, %v", here[:max(0, n)], err)
	}
	k.order("devices their state")
	if state, err := k.Devices(t.Context()); string(state) != "their state" || err != nil {
		t.Errorf("the devices are in state %q, %v", state, err)
	}
	k.Kill()
	k.over()
	k.console.mu.Lock()
	defer k.console.mu.Unlock()
	if string(k.console.text) != "it boots\n" {
		t.Errorf("its console said %q", k.console.text)
	}
	if _, err := k.Devices(t.Context()); err == nil {
		t.Error("a dead QEMU has devices")
	}
}

// syscallRead reads what is there, without waiting.
func syscallRead(conn net.Conn, p []byte) (n int, err error) {
	raw, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { n, failed = syscall.Read(int(fd), p) })
	return n, errors.Join(err, failed)
}

// Memory of a standby there is that of the guest here, and the other way round.
func TestMemoryOfAnotherHost(t *testing.T) {
	t.Parallel()
	k := keep(t, 5*time.Second)
	k.order("write 9 1") // by the standby itself
	here := file(t)
	write := func(page int, value byte) {
		if _, err := here.WriteAt(bytes.Repeat([]byte{value}, pages.Size), int64(page)*pages.Size); err != nil {
			t.Fatal(err)
		}
	}
	write(3, 7)
	c, err := pages.New(here, k.Memory(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := c.Take(); n != 1 || err != nil {
		t.Errorf("%d pages changed, %v", n, err)
	}
	if n, err := c.Commit(); n != 2 || err != nil { // with the one of the standby
		t.Errorf("%d pages were written, %v", n, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	back := file(t)
	if _, err := back.WriteAt([]byte("of a standby"), 20*pages.Size); err != nil {
		t.Fatal(err)
	}
	to, err := pages.OpenFile(back)
	if err != nil {
		t.Fatal(err)
	}
	s, err := k.Copy(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	same := func() {
		t.Helper()
		if _, err := s.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(all(t, here), all(t, back)) {
			t.Error("the memory is another")
		}
	}
	same()
	k.order("write 63 2")
	write(63, 2)
	same()
	k.order("write 0 4")
	write(0, 4)
	late, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(late); !errors.Is(err, context.Canceled) {
		t.Errorf("a commit without time: %v", err)
	}
	k.order("write 1 5")
	write(1, 5)
	same() // with what the commit before did not wait for
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func file(t *testing.T) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "test")
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(memory); err != nil {
		t.Fatal(err)
	}
	return f
}

func all(t *testing.T, f *os.File) []byte {
	t.Helper()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, memory))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// A guest that does not read its channel keeps an answer for longer than a lease, and lives on.
func TestLongAnswer(t *testing.T) {
	t.Parallel()
	k := keep(t, 800*time.Millisecond)
	channel, err := k.Channel(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := channel.Write([]byte("who reads this?")); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	for err == nil { // the bytes may not be there yet
		err = k.Quiet(t.Context())
	}
	if took := time.Since(begun); took < 1600*time.Millisecond || !strings.Contains(err.Error(), "has not read its channel") {
		t.Errorf("after %s: %v", took, err)
	}
	k.order("devices alive")
}

// Without an answer for a lease the keeper kills QEMU, and not before. It is believed to run until then.
func TestSplit(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	k := keep(t, lease)
	k.order("devices alive")
	k.split.Begin()
	begun := time.Now()
	k.over()
	if took := time.Since(begun); took < lease/2 || took > 5*lease {
		t.Errorf("it was killed after %s with a lease of %s", took, lease)
	}
	if how := k.How(); !strings.Contains(how, "has not been heard for 1s") {
		t.Errorf("it ended because of %q", how)
	}
	for limit := time.Now().Add(10 * time.Second); ; {
		if _, err := os.Stat(k.dir); errors.Is(err, fs.ErrNotExist) {
			break
		}
		if time.Now().After(limit) {
			t.Fatal("its folder is left")
		}
	}
}

// A keeper that is stopped does not kill its QEMU, but its host does when the lease is over.
func TestStoppedKeeper(t *testing.T) {
	t.Parallel()
	k := keep(t, time.Second)
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.PID()))
	if err != nil {
		t.Fatal(err)
	}
	var keeper int
	if _, err := fmt.Sscanf(string(text[bytes.LastIndexByte(text, ')')+1:]), " %s %d", new(string), &keeper); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(keeper, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	<-k.Ended()
	for limit := time.Now().Add(10 * time.Second); syscall.Kill(k.PID(), 0) == nil; {
		if time.Now().After(limit) {
			t.Fatalf("process %d is there", k.PID())
		}
	}
}

func TestEndsOfAGuest(t *testing.T) {
	t.Parallel()
	k := keep(t, 5*time.Second)
	if _, err := fmt.Fprintln(k.Monitor(), "quit"); err != nil {
		t.Fatal(err)
	}
	k.over()
	if how := k.How(); how != "exit status 3" {
		t.Errorf("it ended with %q", how)
	}
	host, _ := guesttest.OtherHost(t, os.Args[0])
	folder, err := host.Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for want, o := range map[string]outpost.Order{
		"no such file":     {Binary: "/nonexistent/qemu", Dir: filepath.Join(folder, "a"), Memory: memory, Lease: time.Second},
		"make a folder":    {Binary: os.Args[0], Dir: "/nonexistent/folder", Memory: memory, Lease: time.Second},
		"exit status 3":    {Binary: os.Args[0], Args: []string{"qemu", "/nonexistent"}, Dir: filepath.Join(folder, "b"), Memory: memory, Lease: time.Second},
		"invalid argument": {Binary: os.Args[0], Dir: filepath.Join(folder, "c"), Memory: -1, Lease: time.Second},
	} {
		q, err := host.Start(t.Context(), o, nil, outpost.Output{Console: io.Discard, Complaints: io.Discard})
		if err == nil { // it had started, and ends
			<-q.Ended()
			err = q.Err()
		}
		if !strings.Contains(err.Error(), want) {
			t.Errorf("want %q, got %v", want, err)
		}
	}
}

// A file is copied once.
func TestBring(t *testing.T) {
	t.Parallel()
	host, _ := guesttest.OtherHost(t, os.Args[0])
	name := filepath.Join(t.TempDir(), "kernel")
	want := bytes.Repeat([]byte("kernel"), 1<<20)
	if err := os.WriteFile(name, want, 0o600); err != nil {
		t.Fatal(err)
	}
	there, err := host.Bring(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(there); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came, %v", len(got), err)
	}
	if again, err := host.Bring(t.Context(), name); again != there || err != nil {
		t.Errorf("again it is %s, %v", again, err)
	}
	if _, err := host.Bring(t.Context(), "/nonexistent"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if err := host.Has(t.Context(), "/nonexistent"); err == nil {
		t.Error("it has what is not there")
	}
}
