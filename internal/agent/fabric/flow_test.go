package fabric

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"
)

// line carries frames between two sides in order, and loses some.
type line struct {
	mu      sync.Mutex
	waiting [2][][]byte
	wake    chan struct{}
	rng     *rand.Rand
	loss    float64
	sides   [2]*flows
}

func newLine(seed uint64, loss float64, accept func(*flow)) *line {
	l := &line{wake: make(chan struct{}, 1), rng: rand.New(rand.NewPCG(seed, 1)), loss: loss}
	l.sides[0], _ = newFlows(func(f frame) { l.put(1, f) }, false)
	l.sides[1], _ = newFlows(func(f frame) { l.put(0, f) }, false)
	l.sides[1].serve(accept)
	return l
}

func (l *line) put(to int, f frame) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.rng.Float64() >= l.loss {
		l.waiting[to] = append(l.waiting[to], f.encode())
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// carry delivers until done is closed. Time passes when nothing is in flight.
func (l *line) carry(done <-chan struct{}) {
	for {
		moved := false
		for to := range 2 {
			l.mu.Lock()
			all := l.waiting[to]
			l.waiting[to] = nil
			l.mu.Unlock()
			for _, f := range all {
				if d, err := decodeFrame(f); err == nil {
					l.sides[to].take(d)
				}
				moved = true
			}
		}
		select {
		case <-done:
			return
		default:
		}
		if !moved {
			l.sides[0].nudge()
			l.sides[1].nudge()
		}
	}
}

// Both sides send at the same time over a line that loses 20 % of the frames, to readers of
// odd sizes: all data arrives once and in order, and at the end neither side has state of the
// stream.
func TestStreamsSurviveLoss(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 7))
		data := [2][]byte{make([]byte, rng.IntN(3*Window)), make([]byte, rng.IntN(3*Window))}
		fill := rand.NewChaCha8([32]byte{byte(seed)})
		_, _ = fill.Read(data[0])
		_, _ = fill.Read(data[1])
		got := [2][]byte{}
		var work sync.WaitGroup
		serve := func(i int, s *flow) {
			work.Go(func() {
				if _, err := s.Write(data[i]); err != nil {
					t.Errorf("seed %d: write: %v", seed, err)
				}
				s.mu.Lock()
				_ = s.closeWrite()
				s.mu.Unlock()
			})
			work.Go(func() {
				var err error
				if got[i], err = io.ReadAll(&oddReader{s, 1 + i*8191}); err != nil {
					t.Errorf("seed %d: read: %v", seed, err)
				}
			})
		}
		accepted := make(chan struct{})
		l := newLine(seed, .2, func(s *flow) { serve(1, s); close(accepted) })
		s, err := l.sides[0].begin()
		if err != nil {
			t.Fatal(err)
		}
		serve(0, s)
		done := make(chan struct{})
		go func() { <-accepted; work.Wait(); close(done) }()
		l.carry(done)
		_ = s.Close()
		if !bytes.Equal(got[0], data[1]) || !bytes.Equal(got[1], data[0]) {
			t.Errorf("seed %d: %d of %d and %d of %d bytes arrived", seed, len(got[0]), len(data[1]), len(got[1]), len(data[0]))
		}
	}
}

// oddReader reads at least least bytes at a time, where it can.
type oddReader struct {
	io.Reader
	least int
}

func (r *oddReader) Read(p []byte) (int, error) { return r.Reader.Read(p[:min(len(p), r.least+511)]) }

func TestAStreamThatIsOverIsForgotten(t *testing.T) {
	var far *flow
	l := newLine(1, 0, func(s *flow) { far = s })
	near, err := l.sides[0].begin()
	if err != nil {
		t.Fatal(err)
	}
	step := func() { done := make(chan struct{}); close(done); l.carry(done); l.carry(done); l.carry(done) }
	step()
	_ = near.Close()
	_ = far.Close()
	step()
	l.sides[0].nudge()
	l.sides[1].nudge()
	if len(l.sides[0].open)+len(l.sides[1].open) != 2 {
		t.Errorf("%d and %d streams are remembered", len(l.sides[0].open), len(l.sides[1].open))
	}
}

// A writer waits for its reader, and neither side buffers more than a window.
func TestAWriterWaitsForItsReader(t *testing.T) {
	sent := uint64(0)
	s := newFlow(1, func(f frame) {
		if f.op == opData {
			sent = max(sent, f.offset+uint64(len(f.data)))
		}
	}, false)
	done := make(chan error, 1)
	go func() { _, err := s.Write(make([]byte, 3*Window)); done <- err }()
	s.mu.Lock()
	for len(s.out) < Window {
		s.mu.Unlock()
		s.mu.Lock()
	}
	s.mu.Unlock()
	s.take(ackOf(1, Window, 0)) // received and not yet read
	s.mu.Lock()
	for len(s.out) < Window {
		s.mu.Unlock()
		s.mu.Lock()
	}
	if sent != Window {
		t.Errorf("%d bytes were sent ahead of a reader that hangs", sent)
	}
	s.mu.Unlock()
	s.broken(errors.New("enough"))
	if err := <-done; !errors.Is(err, ErrReset) {
		t.Errorf("a broken stream lets its writer go with %v", err)
	}
}

// A flow unknown to the other side is reset, and so are all when the session ends.
func TestFlowsEnd(t *testing.T) {
	l := newLine(1, 0, func(s *flow) {})
	s, err := l.sides[0].begin()
	if err != nil {
		t.Fatal(err)
	}
	s.take(frame{op: opReset, stream: 1})
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, ErrReset) {
		t.Errorf("got %v", err)
	}
	if _, err := s.Write([]byte("x")); !errors.Is(err, ErrReset) {
		t.Errorf("got %v", err)
	}
	l.sides[0].shut(errors.New("over"))
	if _, err := l.sides[0].begin(); err == nil {
		t.Error("a session that is over opens a stream")
	}
}

// A call does not wait beyond its deadline, and a removed deadline has no effect.
func TestDeadlines(t *testing.T) {
	s := newFlow(1, func(frame) {}, false)
	_ = s.SetDeadline(time.Now().Add(time.Millisecond))
	if _, err := s.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("read: %v", err)
	}
	if n, err := s.Write(make([]byte, 2*Window)); n != Window && n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write of %d bytes: %v", n, err)
	}
	_ = s.SetDeadline(time.Time{})
	s.take(frame{op: opData, stream: 1, data: []byte("x")})
	if n, err := s.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("after the deadline was lifted: %d bytes, %v", n, err)
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(frame{op: opData, stream: 1, offset: 5, data: []byte("x")}.encode())
	f.Add(ackOf(1, 9, 3).encode())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, err := decodeFrame(data); err == nil && !bytes.Equal(got.encode(), data) {
			t.Errorf("%x is read as %+v", data, got)
		}
	})
}

// For any frames of a member, a reader gets only bytes sent at their offset, and no side
// buffers more than a window.
func FuzzStreamFrames(f *testing.F) {
	f.Add([]byte{1, 0, 0, 2, 3, 0, 3, 5, 9, 4, 3, 0, 5, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		s := newFlow(1, func(frame) {}, false)
		for i := 0; i+2 < len(script); i += 3 {
			fr := frame{op: operation(script[i] % 6), stream: 1, offset: uint64(script[i+1])}
			switch fr.op {
			case opData:
				for n := range int(script[i+2]) {
					fr.data = append(fr.data, byte(fr.offset)+byte(n))
				}
			case opAck:
				fr = ackOf(1, fr.offset, min(fr.offset, uint64(script[i+2])))
			}
			if d, err := decodeFrame(fr.encode()); err == nil {
				s.take(d)
			}
		}
		for i, b := range s.in {
			if b != byte(i) {
				t.Fatalf("byte %d is %d", i, b)
			}
		}
		if len(s.in) > Window || s.acked != 0 {
			t.Errorf("%d bytes are held, %d acknowledged of none", len(s.in), s.acked)
		}
	})
}
