package cqliot

import (
	"net"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/cql/cqltest"
	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/wire"
)

// greeted is a dialogue whose session serves.
func greeted(t *testing.T, settings parameter.Settings) *talk {
	t.Helper()
	s := &cqltest.Server{Tokens: "0"}
	address, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	d := dealing(t, settings, ring{nodes: []string{"0"}})
	c := &trialRun{iot: d.iot, nodes: []cql.Target{{Target: wire.Target{Network: "tcp", Address: address}}}, readings: d.readings, dispenser: d.dispenser, chart: d.chart}
	job := c.job(load.Stage{Length: time.Second, Interval: time.Second})
	k := job.Dialogue(0).(*talk)
	b, _ := k.Request(nil, 0)
	for in := make([]byte, 0, 1<<16); !k.session.Serving(); b = k.Next(nil) {
		if _, err := conn.Write(b); err != nil {
			t.Fatal(err)
		}
		n, err := conn.Read(in[len(in):cap(in)])
		if err != nil {
			t.Fatal(err)
		}
		in = in[:len(in)+n]
		_, used, err := k.Answer(in)
		if err != nil {
			t.Fatal(err)
		}
		in = in[:copy(in, in[used:])]
	}
	return k
}

// An operation costs no allocation, and what no server may say ends the connection.
func TestTalk(t *testing.T) {
	k := greeted(t, parameter.Settings{"protocol": "4", "rampup": "100", "in_flight": "4"})
	void := []byte("\x84\x00\x00\x01\x08\x00\x00\x00\x04\x00\x00\x00\x01")
	rows := []byte("\x84\x00\x00\x01\x08\x00\x00\x00\x10\x00\x00\x00\x02\x00\x00\x00\x04\x00\x00\x00\x06\x00\x00\x00\x00")
	buffer := make([]byte, 0, 4096)
	allocations := testing.AllocsPerRun(2000, func() {
		_, class := k.Request(buffer, 1)
		answer := void
		if class == 0 {
			answer = rows
		}
		a, used, err := k.Answer(answer)
		if err != nil || used != len(answer) || a.Slot != 1 || a.Failed {
			t.Fatalf("%+v, %d used, %v", a, used, err)
		}
	})
	if allocations > 0 {
		t.Errorf("an operation allocates %g times", allocations)
	}
	if k.tally.reads < 100 || k.tally.found != 0 || k.tally.deepest == 0 {
		t.Errorf("the tally is %+v", *k.tally)
	}
	a, _, err := k.Answer([]byte("\x84\x00\x00\x01\x00\x00\x00\x00\x0a\x00\x00\x10\x01\x00\x04busy"))
	if err != nil || !a.Failed || a.Last || k.tally.faults.first != "busy (overloaded)" {
		t.Errorf("an error gives %+v, %v, %q", a, err, k.tally.faults.first)
	}
	a, _, err = k.Answer([]byte("\x84\x00\x00\x02\x00\x00\x00\x00\x1d\x00\x00\x10\x01\x00\x17Server is shutting down"))
	if err != nil || !a.Failed || !a.Last {
		t.Errorf("a server that is about to go gives %+v, %v", a, err)
	}
	for _, wrong := range []string{"HTTP/1.1 400", "\x84\x00\x00\x77\x08\x00\x00\x00\x04\x00\x00\x00\x01", "\x84\x00\x00\x01\x02\x00\x00\x00\x00"} {
		if _, _, err := k.Answer([]byte(wrong)); err == nil {
			t.Errorf("%q passes", wrong)
		}
	}
	if cql.Is(err, cql.Overloaded) {
		t.Error("an operation that failed ends the connection")
	}
}
