package hub_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
)

// have waits until the ledger holds n records of an agent and checks that each is
// there once, in order.
func (r *rig) have(n int, agent string) {
	r.t.Helper()
	deadline := time.After(patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		var got []string
		err := r.ledger.Read(func(rec fabric.Record) error {
			if rec.Agent == agent {
				got = append(got, string(rec.Data))
			}
			return nil
		})
		if err != nil {
			r.t.Fatal(err)
		}
		for i, data := range got {
			if data != fmt.Sprint(i) {
				r.t.Fatalf("record %d holds %s", i, data)
			}
		}
		if len(got) >= n {
			if len(got) > n {
				r.t.Fatalf("%d records of %d", len(got), n)
			}
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			r.t.Fatalf("only %d records of %d arrived", len(got), n)
		}
	}
}

func (r *rig) spool(folder string) *fabric.Spool {
	r.t.Helper()
	s, err := fabric.OpenSpool(folder, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = s.Close() })
	return s
}

func record(t testing.TB, a *worker, from, to int) {
	t.Helper()
	for i := from; i < to; i++ {
		if err := a.Record(number(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// The lab dies and comes back: what was recorded before, in between and after is in its
// ledger once and in order, and the agent has put back what it changed.
func TestTheLabDiesAndComesBack(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	folder := t.TempDir()
	w := r.join(key, func(o *fabric.AgentOptions) { o.Spool = r.spool(folder) })
	r.await(1)
	record(t, w, 0, 50)
	r.hub.Close() // at once, so that nobody can say good-bye
	_ = r.lab.Close()
	_ = r.ledger.Close()
	record(t, w, 50, 80)
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	await(t, w.lost, "putting back")
	r.await(1)
	record(t, w, 80, 100)
	r.have(100, key.Public())
}

// The agent dies while the lab is away: another process takes its spool over.
func TestTheAgentDiesWithASpool(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	folder := t.TempDir()
	w := r.join(key, func(o *fabric.AgentOptions) { o.Spool = r.spool(folder) })
	r.await(1)
	record(t, w, 0, 20)
	r.hub.Close()
	record(t, w, 20, 60)
	w.stop()
	_ = r.lab.Close()
	_ = r.ledger.Close()
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	again := r.join(key, func(o *fabric.AgentOptions) { o.Spool = r.spool(folder) })
	record(t, again, 60, 70)
	r.have(70, key.Public())
}

// The NATS server restarts within the lease: the session goes on, and a stream loses
// nothing.
func TestTheServerRestartsWithinTheLease(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.lease = time.Minute
	r.startHub()
	p := newProxy(t, r.hub.Addr().String())
	r.startLab(fabric.Endpoint{URL: r.hub.URL()})
	t.Cleanup(func() { r.stop() })
	w := r.join(key, func(o *fabric.AgentOptions) {
		o.Endpoint.URL = p.url()
		o.Serve = func(_ context.Context, s *fabric.Stream) {
			_, _ = io.Copy(s, s)
			_ = s.CloseWrite()
		}
	})
	id := r.await(1)[0].ID
	s, err := r.lab.Dial(id)
	if err != nil {
		t.Fatal(err)
	}
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<15)
	back := make([]byte, len(data))
	half := len(data) / 2
	var writing sync.WaitGroup
	writing.Go(func() {
		_, _ = s.Write(data)
		_ = s.CloseWrite()
	})
	if _, err := io.ReadFull(s, back[:half]); err != nil {
		t.Fatal(err)
	}
	p.swallow() // the network goes first, then the server
	r.hub.Close()
	r.startHub()
	p.mend()
	if _, err := io.ReadFull(s, back[half:]); err != nil || !bytes.Equal(back, data) {
		t.Errorf("the stream did not survive: %v", err)
	}
	writing.Wait()
	select {
	case cause := <-w.lost:
		t.Errorf("the session was lost: %v", cause)
	default:
	}
}

// A network that is cut for longer than the lease ends it on both sides, the
// agent's first, and a stream over it breaks. Afterwards the agent joins anew.
func TestANetworkThatIsCutEndsTheLease(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.lease = 900 * time.Millisecond
	r.start()
	p := newProxy(t, r.hub.Addr().String())
	ended := make(chan error, 1)
	w := r.join(key, func(o *fabric.AgentOptions) {
		o.Endpoint.URL = p.url()
		o.Serve = func(_ context.Context, s *fabric.Stream) {
			_, err := io.Copy(s, s)
			ended <- err
		}
	})
	id := r.await(1)[0].ID
	s, err := r.lab.Dial(id)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(s, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	gone, _ := r.lab.Gone(id)
	p.swallow()
	await(t, w.lost, "the end of the agent's lease")
	select {
	case <-gone:
		t.Error("the lab gave the lease up before the agent did")
	default:
	}
	if err := await(t, ended, "the end of the agent's stream"); !errors.Is(err, fabric.ErrReset) {
		t.Errorf("the agent's stream ended with %v", err)
	}
	await(t, gone, "the end of the lease at the lab")
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, fabric.ErrReset) {
		t.Errorf("the lab's stream ended with %v", err)
	}
	p.mend()
	r.await(1)
}

// skewed is a clock that is off.
type skewed struct {
	fabric.Clock
	by time.Duration
}

func (s skewed) Now() time.Time { return s.Clock.Now().Add(s.by) }

// Agents whose clocks are wrong by seconds start together with those that are right.
func TestSkewedClocksStartTogether(t *testing.T) {
	t.Parallel()
	keys := []*fabric.Key{newKey(t), newKey(t), newKey(t)}
	r := newRig(t, keys...).start()
	system := fabric.SystemClock()
	var mu sync.Mutex
	var at []time.Time
	for i, by := range []time.Duration{0, 5 * time.Second, -5 * time.Second} {
		r.join(keys[i], func(o *fabric.AgentOptions) {
			o.Clock = skewed{system, by}
			o.Start = func(context.Context, json.RawMessage) error {
				mu.Lock()
				defer mu.Unlock()
				at = append(at, system.Now())
				return nil
			}
		})
	}
	r.await(3)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	begun, err := r.lab.Start(ctx, fabric.Start{Agents: r.agents, At: r.lab.Now().Add(300 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range begun {
		if b.Err != nil || b.Error > 50*time.Millisecond || b.Skew > 100*time.Millisecond {
			t.Errorf("%+v", b)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	first, last := at[0], at[0]
	for _, a := range at {
		if a.Before(first) {
			first = a
		}
		if a.After(last) {
			last = a
		}
	}
	if len(at) != 3 || last.Sub(first) > 100*time.Millisecond {
		t.Errorf("%d agents started within %v", len(at), last.Sub(first))
	}
	for _, m := range r.lab.Members() {
		if i := indexOf(r.agents, m.ID); i == 1 && (m.Offset+5*time.Second).Abs() > 50*time.Millisecond {
			t.Errorf("the lab takes the offset of a clock that is 5 s ahead for %v", m.Offset)
		}
	}
}

func indexOf(all []string, one string) int {
	for i, s := range all {
		if s == one {
			return i
		}
	}
	return -1
}

// An order that an agent cannot carry out is told as such: too late, no clock, a
// failure of what is started, an agent that is gone.
func TestOrdersThatFailAreTold(t *testing.T) {
	t.Parallel()
	good, bad := newKey(t), newKey(t)
	r := newRig(t, good, bad).start()
	r.join(good, func(o *fabric.AgentOptions) { o.Start = func(context.Context, json.RawMessage) error { return nil } })
	r.join(bad, func(o *fabric.AgentOptions) {
		o.Start = func(context.Context, json.RawMessage) error { return errors.New("no fio") }
	})
	r.await(2)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	nobody := newKey(t).Public()
	begun, err := r.lab.Start(ctx, fabric.Start{Agents: []string{good.Public(), bad.Public(), nobody}, At: r.lab.Now().Add(200 * time.Millisecond)})
	if err != nil || begun[0].Err != nil || begun[1].Err == nil || begun[2].Err == nil {
		t.Errorf("%+v, %v", begun, err)
	}
	begun, err = r.lab.Start(ctx, fabric.Start{Agents: []string{good.Public()}, At: r.lab.Now().Add(-time.Minute)})
	if err != nil || begun[0].Err == nil {
		t.Errorf("an order for a minute ago: %+v, %v", begun, err)
	}
}

// The agent's disk is full: its owner and the lab are told, nothing that was taken
// is lost, and it goes on when there is room.
func TestTheAgentsDiskIsFull(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	spool, err := fabric.OpenSpool(t.TempDir(), 400)
	if err != nil {
		t.Fatal(err)
	}
	r.hub.Close()
	w := r.join(key, func(o *fabric.AgentOptions) { o.Spool = spool })
	n := 0
	for ; err == nil && n < 100; n++ {
		err = w.Record(number(n))
	}
	n-- // the last was refused
	if !errors.Is(err, fabric.ErrSpoolFull) {
		t.Fatalf("a full spool: %v", err)
	}
	_ = r.lab.Close()
	_ = r.ledger.Close()
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	r.have(n, key.Public())
	deadline := time.After(patience)
	for spool.Waiting() > 0 {
		select {
		case <-deadline:
			t.Fatal("the lab's acknowledgement never came")
		case <-time.After(time.Millisecond):
		}
	}
	record(t, w, n, n+3)
	r.have(n+3, key.Public())
}

func TestSamplesArrive(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	got := make(chan string, 1)
	r.sample = func(agent string, data []byte) {
		select {
		case got <- agent + string(data):
		default:
		}
	}
	r.start()
	w := r.join(key, nil)
	r.await(1)
	w.Sample([]byte(" 42"))
	if s := await(t, got, "the sample"); s != key.Public()+" 42" {
		t.Errorf("got %q", s)
	}
	w.Sample(make([]byte, fabric.MaxPayload)) // too large: nothing is sent, nothing breaks
	w.Sample([]byte(" 43"))
	await(t, got, "the sample after one that is too large")
}

// An agent's own key opens no other agent's subjects.
func TestAnAgentHasOnlyItsOwnSubjects(t *testing.T) {
	t.Parallel()
	one, two := newKey(t), newKey(t)
	r := newRig(t, one, two).start()
	r.join(one, nil)
	r.await(1)
	refused := eavesdrop(t, r.hub.URL(), two, one.Public())
	for _, what := range []string{"publish", "subscribe"} {
		if err := await(t, refused, what); err == nil {
			t.Errorf("an agent may %s to another's subjects", what)
		}
	}
}
