package cqliot

import (
	"crypto/tls"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/effort"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

func TestMain(m *testing.M) {
	loadtest.Parallel(8)
	effort.CollectSeldom()
	os.Exit(m.Run())
}

// three are servers that share a ring.
func three() []*cqltest.Server {
	return []*cqltest.Server{{Tokens: "-6000000000000000000,9"}, {Tokens: "0"}, {Tokens: "6000000000000000000"}}
}

func certified(t *testing.T, out *measure.Recorder, name string) measure.Check {
	t.Helper()
	for _, c := range out.Checks() {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("there is no check %s", name)
	return measure.Check{}
}

// A node that leaves in good order costs no operation: the load hears of it, others get
// what it held, and no client connects to it again. The certificate tells.
func TestRingThatChanges(t *testing.T) {
	certificate, err := service.NewCertificate()
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(certificate.Cert, certificate.Key)
	if err != nil {
		t.Fatal(err)
	}
	for name, settings := range map[string]parameter.Settings{"closed": {"think": "10ms"}, "open": {"rate": "500/s", "tick": "1ms"}, "TLS": {"think": "10ms"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			servers, joins := three(), &cqltest.Server{Tokens: "77"}
			ring := cqltest.NewRing(servers...)
			if name == "TLS" {
				for _, s := range append(servers, joins) {
					s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
				}
			}
			fake(t, joins)
			at, _ := fake(t, servers...).Target(protocol)
			if name == "TLS" {
				at.CA = certificate.CA
			}
			settings["rampup"], settings["mode"], settings["read_ratio"] = "0", "faithful", "0"
			o := through(t, at, settings, 20, func() {
				ring.Leave(servers[1])
				ring.Join(joins)
				emptied(t, servers[1])
				servers[1].Close()
			}, 1)
			if o.err != nil || total(o.done) < 200 || total(o.failed) > 0 || o.shares[1] > 0 || o.shares[0] == 0 || o.shares[2] == 0 {
				t.Errorf("in the end the servers did %v: %v: %+v", o.shares, o.err, o)
			}
			if ring := o.check["ring"]; ring.State != measure.Fail || strings.Count(ring.Detail, at.More[0]+" left it") != 1 || strings.Count(ring.Detail, "joined it") != 1 || strings.Count(ring.Detail, ";") != 1 {
				t.Errorf("%+v", ring)
			}
			o = during(t, at, settings, 1, func() {})
			if !oneLine(o.err, at.More[0]+" has left the ring (3 still in it)") {
				t.Errorf("a load on the ring that it has left: %v", o.err)
			}
		})
	}
}

// emptied waits until a server has no connection any more.
func emptied(t *testing.T, s *cqltest.Server) {
	t.Helper()
	for over := time.Now().Add(8 * time.Second); s.Clients() > 0; <-time.After(5 * time.Millisecond) {
		if time.Now().After(over) {
			t.Errorf("it still has %d connections", s.Clients())
			return
		}
	}
}

// The node that is asked for the ring may be the one that leaves it, and silently.
func TestWatcherGoesOn(t *testing.T) {
	t.Parallel()
	servers := three()
	ring := cqltest.NewRing(servers...)
	at, _ := fake(t, servers...).Target(protocol)
	settings := parameter.Settings{"rampup": "0", "mode": "faithful", "rate": "300/s", "tick": "1ms", "read_ratio": "0"}
	o := through(t, at, settings, 20, func() {
		servers[0].Close()
		ring.Leave(servers[0])
	}, 3)
	last := len(o.done) - 1
	if o.err != nil || o.check["ring"].State != measure.Fail || !strings.Contains(o.check["ring"].Detail, at.Address+" left it") || o.shares[0] > 0 || o.failed[last] > 0 || o.done[last] == 0 {
		t.Errorf("in the end the servers did %v: %v: %+v", o.shares, o.err, o)
	}
}

// What waits for a node that leaves is done by the others, each cycle once.
func TestTurn(t *testing.T) {
	r, err := newRing([]string{"-6000000000000000000", "0", "6000000000000000000"})
	if err != nil {
		t.Fatal(err)
	}
	d := dealing(t, parameter.Settings{"mode": "faithful", "read_ratio": "0"}, r)
	seen := map[int64]int{}
	for range 50 {
		o, _ := d.deal(2)
		seen[o.cycle]++
	}
	if r, err = newRing([]string{"-6000000000000000000", "", "6000000000000000000"}); err != nil {
		t.Fatal(err)
	}
	d.chart.ring.Store(&r)
	for n := range 2000 {
		o, here := d.deal(n % 2 * 2)
		if seen[o.cycle]++; here && r.owner(o.key.token(nil)) != n%2*2 {
			t.Fatalf("cycle %d goes to node %d, and belongs to %d", o.cycle, n%2*2, r.owner(o.key.token(nil)))
		}
	}
	for n, q := range d.queues {
		for _, o := range q[d.firsts[n]:] {
			seen[o.cycle]++
		}
	}
	for cycle := range int64(len(seen)) {
		if seen[cycle] != 1 {
			t.Fatalf("cycle %d of %d is dealt %d times", cycle, len(seen), seen[cycle])
		}
	}
	if r.owner(-1) != 2 || !r.left(1) || r.left(0) {
		t.Errorf("the ring is %+v", r)
	}
	moved := []int{d.chart.instead(1), d.chart.instead(1), d.chart.instead(0), d.chart.instead(2)}
	if slices.Sort(moved[:2]); !slices.Equal(moved, []int{0, 2, 0, 2}) {
		t.Errorf("connections go to %v", moved)
	}
}

// A ring that does not tell of its changes is measured all the same, and the certificate
// says so.
func TestRingThatTellsNothing(t *testing.T) {
	t.Parallel()
	a, b := &cqltest.Server{Keep: true, Tokens: "-1"}, &cqltest.Server{Keep: true, Tokens: "1"}
	out := trial(t, fake(t, a, b), parameter.Settings{"mode": "faithful", "rampup": "0"}, 200*time.Millisecond)
	if check := certified(t, out, "ring"); check.State != measure.Unknown {
		t.Errorf("%+v", check)
	}
	if cql.Left([]cql.Member{{Address: "10.0.0.1:9042"}}, "name:9042") || !cql.Left([]cql.Member{{Address: "10.0.0.1:9042"}}, "10.0.0.2:9042") {
		t.Error("who has left is not known")
	}
}

// Operations that failed are told by kind, in one line.
func TestFaults(t *testing.T) {
	var all, one faults
	if got := all.explain(0, 0); got != "" {
		t.Errorf("none that failed are %q", got)
	}
	for range 3 {
		one.note("overloaded", "busy\n(overloaded)")
	}
	one.note("write timed out at the server", "late")
	all.add(one)
	all.add(faults{})
	all.add(one)
	want := "15 operations failed: 6 overloaded, 2 write timed out at the server, 4 not answered within the timeout, 3 without a connection, or on one that ended; the first with: busy (overloaded)"
	if got := all.explain(15, 4); got != want {
		t.Errorf("got %q", got)
	}
	for n := range 3 * mostKinds {
		all.note(strings.Repeat("x", n), "")
	}
	if len(all.kinds) > mostKinds+1 || all.kinds["other"] == 0 {
		t.Errorf("the kinds are %v", all.kinds)
	}
}
