package hub_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
)

// echo serves a stream by sending back what it reads.
func echo(_ context.Context, s *fabric.Stream) {
	_, _ = io.Copy(s, s)
	_ = s.CloseWrite()
}

// hurried is a clock that runs many times as fast as others.
type hurried struct{ start time.Time }

const haste = 20

func (h hurried) Now() time.Time                         { return h.start.Add(haste * time.Since(h.start)) }
func (h hurried) After(d time.Duration) <-chan time.Time { return time.After(d / haste) }

// The lab crashes and restarts: the agent restores its changes, joins again long before its
// lease would have ended, and serves streams.
func TestTheLabDiesAndComesBack(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.lease = time.Hour
	r.start()
	w := r.join(key, func(o *fabric.AgentOptions) { o.Serve, o.Clock = echo, hurried{time.Now()} })
	r.await(1)
	await(t, w.joined, "the welcome")
	r.hub.Close() // at once, so that neither side can close the session
	_ = r.lab.Close()
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	await(t, w.lost, "putting back")
	s, err := r.lab.Dial(r.await(1)[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Write([]byte("again")); err != nil {
		t.Fatal(err)
	}
	_ = s.CloseWrite()
	if back, err := io.ReadAll(s); err != nil || string(back) != "again" {
		t.Errorf("%q came back, %v", back, err)
	}
}

// The NATS server restarts within the lease: the session continues, and a stream loses
// nothing.
func TestTheServerRestartsWithinTheLease(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.lease, r.clock = time.Hour, hurried{time.Now()} // what was lost is sent again soon
	r.startHub()
	p := newProxy(t, r.hub.Addr().String())
	r.startLab(fabric.Endpoint{URL: r.hub.URL()})
	t.Cleanup(func() { r.stop() })
	w := r.join(key, func(o *fabric.AgentOptions) {
		o.Endpoint.URL, o.Clock = p.url(), r.clock
		o.Serve = echo
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

// A network partition longer than the lease ends it on both sides, the agent's first, and
// resets its streams. Afterwards the agent joins again.
func TestANetworkThatIsCutEndsTheLease(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.lease, r.clock = haste*900*time.Millisecond, hurried{time.Now()}
	r.start()
	p := newProxy(t, r.hub.Addr().String())
	ended := make(chan error, 1)
	w := r.join(key, func(o *fabric.AgentOptions) {
		o.Endpoint.URL, o.Clock = p.url(), r.clock
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

// The lab measures the clock offsets of agents.
func TestClocksAreCompared(t *testing.T) {
	t.Parallel()
	off := []time.Duration{0, 5 * time.Second, -5 * time.Second}
	keys := []*fabric.Key{newKey(t), newKey(t), newKey(t)}
	r := newRig(t, keys...).start()
	of := map[string]time.Duration{}
	for i, by := range off {
		of[keys[i].Public()] = -by
		r.join(keys[i], func(o *fabric.AgentOptions) { o.Clock = skewed{fabric.SystemClock(), by} })
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		all := r.lab.Members()
		known := 0
		for _, m := range all {
			if m.Measured && m.Error < 50*time.Millisecond {
				known++
				if (m.Offset - of[m.ID]).Abs() > m.Error {
					t.Fatalf("the lab takes an offset of %v for %v with an error of at most %v", of[m.ID], m.Offset, m.Error)
				}
			}
		}
		if known == len(off) {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("of %+v only %d clocks are known", all, known)
		}
	}
}

// jumping is a clock that is set once.
type jumping struct {
	fabric.Clock
	by *atomic.Int64
}

func (j jumping) Now() time.Time { return j.Clock.Now().Add(time.Duration(j.by.Load())) }

// A clock step during a lease ends the lease: the agent restores its settings, and joins
// again. Monotonic clocks are not stepped when the time of day is set.
func TestAClockThatJumpsEndsTheLease(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]time.Duration{"forwards": time.Hour, "backwards": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			key := newKey(t)
			r := newRig(t, key).start()
			clock := jumping{fabric.SystemClock(), new(atomic.Int64)}
			w := r.join(key, func(o *fabric.AgentOptions) { o.Clock = clock })
			before := r.await(1)[0]
			clock.by.Store(int64(by))
			await(t, w.lost, "the end of the lease")
			for deadline := time.Now().Add(patience); ; <-time.After(20 * time.Millisecond) {
				if m := r.await(1)[0]; m.Joined.After(before.Joined) && m.Measured && (m.Offset+by).Abs() < time.Second {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("it has not joined again: %+v", m)
				}
			}
		})
	}
}

// An agent's key gives no access to the subjects of other agents.
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
