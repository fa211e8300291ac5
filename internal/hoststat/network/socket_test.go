package network

import (
	"math"
	"net"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
)

// kernel answers with prepared messages.
type kernel map[uint32][]byte

func (k kernel) Dump(_, protocol int, request []byte, use func(kind uint16, body []byte)) error {
	if protocol != inetDiag || request[4] != tcpRequest {
		return nil
	}
	_, err := messages(k[uint32(request[header+statesAt])|uint32(request[header+statesAt+1])<<8], use)
	return err
}

// The kernel's counts of real connections arrive in the flow of the program that has them.
func TestFlowsOfThisProcess(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	port := l.Addr().(*net.TCPAddr).Port
	client, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	waiting, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	table := newTable(func(uint32) (int, string) { return os.Getpid(), "test" })
	k := Local()
	if _, err := table.Read(k, 0, nil); err != nil {
		t.Fatal(err)
	}
	const size = 100_000
	if _, err := client.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	table.due = 0
	r, err := table.Read(k, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := slices.IndexFunc(r.Flows, func(f Flow) bool { return f.Port == 0 && f.Peer == l.Addr().String() })
	in := slices.IndexFunc(r.Flows, func(f Flow) bool { return f.Port == port })
	if out < 0 || in < 0 {
		t.Fatalf("flows %+v", r.Flows)
	}
	if f := r.Flows[out]; f.SentBytes < size || f.Segments < 1 || f.Time < 1 || f.Connections != 2 || f.SendBuffer == 0 {
		t.Errorf("client's flow %+v", f)
	}
	if f := r.Flows[in]; f.ReceivedBytes < size || f.Unread() == 0 || f.Peer != "127.0.0.1" || f.Program != "test" {
		t.Errorf("server's flow %+v", f)
	}
	at := slices.IndexFunc(r.Listeners, func(l Listener) bool { return l.Port == port })
	if at < 0 {
		t.Fatalf("listening sockets %+v", r.Listeners)
	}
	if l := r.Listeners[at]; l.Queue != 1 || l.Waiting != 1 || l.Full != 0 || l.Backlog < 1 || l.Connections != 2 {
		t.Errorf("listening socket %+v", l)
	}
}

// Sockets of a container are read in its network namespace, and this program stays in its own.
func TestOtherNamespaces(t *testing.T) {
	child := exec.Command("sleep", "60")
	child.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := child.Start(); err != nil {
		t.Skipf("no network namespace can be made here: %v", err)
	}
	defer child.Wait()         //nolint:errcheck // it is killed
	defer child.Process.Kill() //nolint:errcheck // it has not ended
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	l6, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer l6.Close()
	before, err := os.Readlink("/proc/self/ns/net")
	if err != nil {
		t.Fatal(err)
	}
	k := Local()
	for space, want := range map[int]bool{0: true, child.Process.Pid: false} {
		for _, l := range []net.Listener{l, l6} {
			seen := false
			err := k.Dump(space, inetDiag, request(1<<listening, false), func(_ uint16, body []byte) {
				c, ok := parseConnection(body)
				seen = seen || ok && c.local.String() == l.Addr().String()
			})
			if err != nil || seen != want {
				t.Errorf("namespace of %d: this program's socket %s seen: %v, %v", space, l.Addr(), seen, err)
			}
		}
	}
	if after, err := os.Readlink("/proc/self/ns/net"); err != nil || after != before {
		t.Errorf("moved from %s to %s, %v", before, after, err)
	}
}

func TestQueuesOfThisHost(t *testing.T) {
	if _, err := queues(Local()); err != nil {
		t.Error(err)
	}
}

// A dump that ends in the middle is an error, one of a namespace that is gone is left out.
func TestBrokenAnswers(t *testing.T) {
	if done, err := messages([]byte{200, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, func(uint16, []byte) {}); !done || err == nil {
		t.Errorf("a truncated message: %v, %v", done, err)
	}
	refused := []byte{20, 0, 0, 0, syscall.NLMSG_ERROR, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff}
	if _, err := messages(refused, func(uint16, []byte) {}); err != syscall.EPERM {
		t.Errorf("a refusal: %v", err)
	}
	none := func(uint32) (int, string) { return 0, "" }
	if _, err := newTable(none).Read(kernel{1 << listening: refused}, 0, nil); err == nil {
		t.Error("a refused dump is no error")
	}
	if _, err := open(1<<30, inetDiag); err == nil {
		t.Error("no error for a process that does not exist")
	}
}

// Connections are read as often as their cost allows, and less often in a long recording.
func TestGap(t *testing.T) {
	for _, c := range []struct{ cost, since, want float64 }{
		{0, 0, 0}, {.002, 0, 1.6}, {.002, 10, 1.6}, {.002, 40, 4}, {.005, 40, 4}, {.006, 40, 4.8}, {0, 200, longestGap}, {1, 0, longestGap},
	} {
		if got := gap(c.cost, c.since); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%g s of CPU time, %g s after the first reading: %g s, want %g", c.cost, c.since, got, c.want)
		}
	}
}

// A table counts the time since its first reading, whenever that was.
func TestConnectionsAreReadLessOften(t *testing.T) {
	table := newTable(func(uint32) (int, string) { return 0, "" })
	for _, at := range []float64{1000, 1080} {
		if _, err := table.Read(kernel{}, at, nil); err != nil {
			t.Fatal(err)
		}
		if want := at + (at-1000)*gapShare; table.due < want {
			t.Errorf("read at %g s, the next reading is due at %g s, want %g at least", at, table.due, want)
		}
		if table.due > at+longestGap {
			t.Errorf("read at %g s, the next reading is due at %g s", at, table.due)
		}
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(make([]byte, 100))
	f.Add(dumpRequest(tcpRequest, make([]byte, diagHeader+240)))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = messages(b, func(_ uint16, body []byte) {
			if c, ok := parseConnection(body); ok && len(body) < diagHeader {
				t.Errorf("%d bytes are a connection: %+v", len(body), c)
			}
			if len(body) >= 20 {
				if q, _ := parseQueue(body); q.Drops < 0 {
					t.Error(q)
				}
			}
		})
		table := newTable(func(uint32) (int, string) { return 0, "" })
		for at := range 3 {
			r, err := table.Read(kernel{1 << listening: b, 1<<established | 1<<closeWait: b}, float64(at), nil)
			if err != nil {
				continue
			}
			for _, flow := range r.Flows {
				for _, c := range flow.Counters() {
					if *c < 0 {
						t.Errorf("flow %+v", flow)
					}
				}
			}
		}
	})
}

// BenchmarkConnections tells the cost of a reading per connection of this host.
func BenchmarkConnections(b *testing.B) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	const pairs = 2000
	for range pairs {
		client, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		defer client.Close()
		server, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		defer server.Close()
	}
	table, k := newTable(func(uint32) (int, string) { return 1, "test" }), Local()
	at := 0.
	for b.Loop() {
		at++
		table.due = 0
		if _, err := table.Read(k, at, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/(2*pairs), "us/connection")
}
