package router

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestMain is a router if it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == Command {
		if err := Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// realOptions are two namespaces on different sites and clients on the first, with names and addresses that no other process has.
func realOptions(t *testing.T) Options {
	t.Helper()
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to make network namespaces")
	}
	if os.Getuid() != 0 {
		t.Skip("run as root to make network namespaces")
	}
	dir := t.TempDir()
	base := netip.AddrFrom4([4]byte{198, 19, byte(os.Getpid() >> 8), byte(os.Getpid() &^ 3)})
	o := Options{Socket: filepath.Join(dir, "socket"), Bits: 30, Ports: []Port{
		{Name: "a", Address: base.Next(), Device: "tun0", Site: 1, Namespace: filepath.Join(dir, "a")},
		{Name: "b", Address: base.Next().Next(), Device: "tun0", Site: 2, Namespace: filepath.Join(dir, "b")},
		{Name: "clients", Address: base, Device: fmt.Sprint("plrt", os.Getpid()), Site: 1},
	}}
	return o
}

func running(t *testing.T, o Options) *router {
	t.Helper()
	r, err := start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func asked(t *testing.T, o Options, q Request) (State, error) {
	t.Helper()
	conn, err := net.Dial("unix", o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return Ask(conn, q)
}

// within runs f in the namespace of a port.
func within(p Port, f func() error) error {
	return apart(func() error {
		if p.Namespace != "" {
			space, err := unix.Open(p.Namespace, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(space)
			if err := unix.Setns(space, unix.CLONE_NEWNET); err != nil {
				return err
			}
		}
		return f()
	})
}

// listening is a listener at a port.
func listening(t *testing.T, at Port) (l net.Listener) {
	t.Helper()
	if err := within(at, func() (err error) {
		l, err = net.Listen("tcp4", net.JoinHostPort(at.Address.String(), "0"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// connected is a TCP connection from one port to another.
func connected(t *testing.T, from, to Port) (near, far net.Conn) {
	t.Helper()
	l := listening(t, to)
	if err := within(from, func() (err error) {
		near, err = net.DialTimeout("tcp4", l.Addr().String(), 10*time.Second)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close(); far.Close() })
	return near, far
}

// Round trips take twice the latency and little more, and a change has effect at once.
func TestRealLatency(t *testing.T) {
	const (
		ms       = time.Millisecond
		sluggish = 5 * ms // on a busy machine; see the bench of the router
	)
	o := realOptions(t)
	running(t, o)
	for _, set := range []Settings{{}, {Latency: 5 * ms}, {SiteLatency: 20 * ms}, {Latency: 1 * ms, SiteLatency: 2 * ms}} {
		for ends, want := range map[[2]string]time.Duration{{"a", "b"}: 2 * (set.Latency + set.SiteLatency), {"b", "clients"}: 2 * set.SiteLatency, {"clients", "a"}: 0} {
			shortest := time.Hour
			for n := 0; n < 30 && shortest > want+sluggish; n++ {
				s, err := asked(t, o, Request{Set: &set, Pings: [][2]string{ends}})
				if err != nil {
					t.Fatal(err)
				}
				if s.Settings != set {
					t.Errorf("settings are %+v, want %+v", s.Settings, set)
				}
				shortest = min(shortest, s.Pings[0])
			}
			if shortest < want || shortest > want+sluggish {
				t.Errorf("%+v: a round trip between %v takes %v, want %v", set, ends, shortest, want)
			}
			t.Logf("%+v: %v: %v more than %v", set, ends, shortest-want, want)
		}
	}
	if _, err := asked(t, o, Request{Set: &Settings{Rate: -1}}); err == nil || !strings.Contains(err.Error(), "a rate of -1") {
		t.Errorf("wrong rate: %v", err)
	}
	if _, err := asked(t, o, Request{Pings: [][2]string{{"a", "nowhere"}}}); err == nil || err.Error() != "measure the round trip between a and nowhere: no such ports" {
		t.Errorf("wrong port: %v", err)
	}
}

// passed sends bytes through a connection, compares them, and returns their rate.
func passed(t *testing.T, near, far net.Conn, size int) float64 {
	t.Helper()
	data := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(data)
	sum := sha256.New()
	began := time.Now()
	go func() {
		for left := size; left > 0; left -= len(data) {
			if _, err := near.Write(data); err != nil {
				t.Error(err)
				return
			}
		}
	}()
	if _, err := io.CopyN(sum, far, int64(size)); err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	want := sha256.New()
	for left := size; left > 0; left -= len(data) {
		want.Write(data)
	}
	if !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Fatal("other bytes arrive than were sent")
	}
	return float64(size) / took.Seconds()
}

// Namespaces have the settings that the router wants of them, whatever those of the host are.
func TestRealSettingsOfNamespaces(t *testing.T) {
	o := realOptions(t)
	running(t, o)
	if err := within(o.Ports[0], func() error {
		for name, want := range sysctls {
			got, err := os.ReadFile("/proc/sys/net/ipv4/" + name)
			if err != nil || strings.TrimSpace(string(got)) != want {
				t.Errorf("%s is %q, %v", name, got, err)
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// A stream arrives as it was sent, with a latency, without one, and at the rate of its link, which each direction has for itself.
func TestRealStreams(t *testing.T) {
	const rate = 20 << 20
	o := realOptions(t)
	running(t, o)
	near, far := connected(t, o.Ports[0], o.Ports[1])
	t.Logf("%.0f MB/s without a limit", passed(t, near, far, 64<<20)/1e6)
	for _, set := range []Settings{{Latency: 2 * time.Millisecond}, {Rate: rate, Latency: time.Millisecond}} {
		if _, err := asked(t, o, Request{Set: &set}); err != nil {
			t.Fatal(err)
		}
		got := passed(t, near, far, 16<<20)
		t.Logf("%+v: %.1f MB/s", set, got/1e6)
		if set.Rate > 0 && got > 1.05*rate { // with the bytes of headers and the first packet
			t.Errorf("%.3g bytes/s pass a link of %d", got, rate)
		}
	}
	back, front := connected(t, o.Ports[1], o.Ports[0])
	done := make(chan float64)
	go func() { done <- passed(t, back, front, 16<<20) }()
	forth := passed(t, near, far, 16<<20)
	if other := <-done; forth < rate/2 || other < rate/2 { // acknowledgements take a little
		t.Logf("%.3g and %.3g bytes/s in both directions at once: a busy machine", forth, other)
	}
	s, err := asked(t, o, Request{})
	if err != nil || s.Counters.Bytes < 128<<20 || s.Counters.Full > 0 || s.Counters.Refused > 0 {
		t.Errorf("%+v, %v", s.Counters, err)
	}
}

// What arrives faster than a link sends is dropped once the queue is full, and counted; the sender sends it again.
func TestRealDrops(t *testing.T) {
	o := realOptions(t)
	o.Settings.Rate = 1 << 20
	running(t, o)
	var flood net.Conn
	if err := within(o.Ports[0], func() (err error) {
		flood, err = net.Dial("udp4", net.JoinHostPort(o.Ports[1].Address.String(), "9"))
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer flood.Close()
	datagram := make([]byte, 60_000)
	for range 2 * queueLimit / len(datagram) {
		_, _ = flood.Write(datagram) // refused now and then, by ICMP
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(10 * time.Second); ; <-tick.C {
		s, err := asked(t, o, Request{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Counters.Full > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("nothing was dropped: %+v", s.Counters)
		}
	}
}

// started is a router in a process of its own.
func started(t *testing.T, o Options) (c *exec.Cmd, complaint string) {
	t.Helper()
	order, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	c = exec.Command(os.Args[0], Command)
	c.Stdin = bytes.NewReader(order)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	killed := c.Process.Kill
	t.Cleanup(func() { _ = killed() })
	line, _ := bufio.NewReader(out).ReadString('\n')
	if line != Command+" listens\n" {
		_ = c.Wait()
		return nil, complaints.String()
	}
	return c, ""
}

// Nothing is left of a router that is killed in the middle of a connection, whose sender is killed too: not even the namespace, which connections with data
// to send keep.
func TestRealKilled(t *testing.T) {
	o := realOptions(t)
	o.Settings.Latency = 10 * time.Millisecond
	c, complaint := started(t, o)
	if c == nil {
		t.Fatal(complaint)
	}
	witness := fmt.Sprint("plwt", os.Getpid()) // goes with the namespace
	if out, err := exec.Command("nsenter", "--net="+o.Ports[0].Namespace, "ip", "link", "add", "eth0", "type", "veth", "peer", "name", witness, "netns", fmt.Sprint(os.Getpid())).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l := listening(t, o.Ports[1])
	host, port, _ := net.SplitHostPort(l.Addr().String())
	sender := exec.Command("nsenter", "--net="+o.Ports[0].Namespace, "bash", "-c", "exec cat /dev/zero >/dev/tcp/"+host+"/"+port)
	if err := sender.Start(); err != nil {
		t.Fatal(err)
	}
	if conn, err := l.Accept(); err != nil {
		t.Fatal(err)
	} else if _, err := io.CopyN(io.Discard, conn, 10<<20); err != nil { // and no more, so that it cannot send all it has
		t.Fatal(err)
	}
	_, second := started(t, o)
	if !strings.Contains(second, "open port clients: create device "+o.Ports[2].Device+": device or resource busy") || strings.Count(second, "\n") != 1 {
		t.Errorf("a second router says %q", second)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	_ = sender.Process.Kill()
	_ = sender.Wait()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); ; <-tick.C {
		all, err := net.Interfaces()
		if err != nil {
			t.Fatal(err)
		}
		left := ""
		for _, i := range all {
			if i.Name == witness || i.Name == o.Ports[2].Device {
				left += " " + i.Name
			}
		}
		if left == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("left:%s", left)
		}
	}
}
