package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plimsoll/internal/platform"
)

// echo is a machine whose commands are functions.
type echo struct {
	run     func(ctx context.Context, c platform.Command) (platform.Result, error)
	mu      sync.Mutex
	files   map[string][]byte
	confine platform.Confinement
}

func (e *echo) Name() string { return "echo" }

func (e *echo) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if e.run != nil {
		return e.run(ctx, c)
	}
	var r platform.Result
	if c.Stdin == nil {
		return r, nil
	}
	_, err := io.Copy(struct{ io.Writer }{c.Stdout}, struct{ io.Reader }{c.Stdin})
	return r, err
}

func (e *echo) ReadFile(_ context.Context, name string) ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if data, ok := e.files[name]; ok {
		return data, nil
	}
	return nil, fmt.Errorf("file %s: %w", name, fs.ErrNotExist)
}

func (e *echo) WriteFile(_ context.Context, name string, data []byte) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.files == nil {
		e.files = map[string][]byte{}
	}
	e.files[name] = bytes.Clone(data)
	return nil
}

func (e *echo) Confinement() platform.Confinement { e.mu.Lock(); defer e.mu.Unlock(); return e.confine }

func (e *echo) Confine(_ context.Context, c platform.Confinement) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.confine = c
	return nil
}

func (e *echo) Confinable(_ context.Context, c platform.Confinement) error {
	if c.Quota != "" {
		return fmt.Errorf("quota: %w", errors.ErrUnsupported)
	}
	return nil
}

// pair is a served machine and its lab.
type pair struct {
	m      *Machine
	raw    net.Conn // the lab's end
	served chan error
}

func connected(t *testing.T, s Server, c Client) pair {
	t.Helper()
	near, there := net.Pipe()
	p := pair{raw: near, served: make(chan error, 1)}
	go func() { p.served <- s.Serve(context.Background(), there) }()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var err error
	if p.m, err = c.Connect(ctx, near); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.m.Close() })
	return p
}

// end waits for the far side's end.
func (p pair) end(t *testing.T) error {
	t.Helper()
	select {
	case err := <-p.served:
		return err
	case <-time.After(20 * time.Second):
		t.Fatal("the far side goes on")
		return nil
	}
}

// slowly reads in pieces of random size.
type slowly struct {
	r   io.Reader
	rnd *rand.Rand
}

func (s slowly) Read(p []byte) (int, error) {
	return s.r.Read(p[:1+s.rnd.IntN(min(len(p), 7000))])
}

// Property: calls at once get each their own bytes, all of them, in order.
func TestInterleavedCallsDoNotMix(t *testing.T) {
	e := &echo{}
	p := connected(t, Server{Machine: e}, Client{})
	var all sync.WaitGroup
	for n := range 24 {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(7, uint64(n)))
			for round := range 4 {
				want := bytes.Repeat([]byte(fmt.Sprintf("call %d round %d;", n, round)), rnd.IntN(60000))
				if n%4 == 3 {
					name := fmt.Sprint("/f", n, round)
					err := p.m.WriteFile(t.Context(), name, want)
					got, err2 := p.m.ReadFile(t.Context(), name)
					if err != nil || err2 != nil || !bytes.Equal(got, want) {
						t.Errorf("file %d: %d bytes in, %d out, %v, %v", n, len(want), len(got), err, err2)
					}
					continue
				}
				r, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"cat"}, Stdin: slowly{bytes.NewReader(want), rnd}})
				if err != nil || !bytes.Equal(r.Stdout, want) {
					t.Errorf("call %d: %d bytes in, %d out, %v", n, len(want), len(r.Stdout), err)
				}
			}
		})
	}
	all.Wait()
}

// stuck is a writer that takes nothing until it may.
type stuck struct {
	may  chan struct{}
	took int
}

func (s *stuck) Write(p []byte) (int, error) { <-s.may; s.took += len(p); return len(p), nil }

// One call whose output nobody takes neither fills the memory nor holds up others.
func TestAChattyCommandWaits(t *testing.T) {
	var sent atomic.Int64
	const all = 64 << 20
	e := &echo{run: func(_ context.Context, c platform.Command) (platform.Result, error) {
		piece := make([]byte, 64<<10)
		for sent.Load() < all && c.Argv[0] == "chatty" {
			n, err := c.Stdout.Write(piece)
			sent.Add(int64(n))
			if err != nil {
				return platform.Result{}, err
			}
		}
		return platform.Result{Exit: 5}, nil
	}}
	p := connected(t, Server{Machine: e}, Client{})
	w := &stuck{may: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		_, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"chatty"}, Stdout: w})
		ended <- err
	}()
	for range 200 {
		if r, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"quick"}}); err != nil || r.Exit != 5 {
			t.Fatalf("another call: %+v, %v", r, err)
		}
		runtime.Gosched()
	}
	if n := sent.Load(); n > 2*window {
		t.Errorf("%d bytes were sent that nobody took; the window is %d", n, window)
	}
	close(w.may)
	if err := <-ended; err != nil || w.took != all {
		t.Errorf("took %d of %d bytes, %v", w.took, all, err)
	}
}

// A source that never ends is read no faster than the command reads it.
func TestStdinWaits(t *testing.T) {
	var read atomic.Int64
	release := make(chan struct{})
	e := &echo{run: func(context.Context, platform.Command) (platform.Result, error) {
		<-release
		return platform.Result{Exit: 3}, nil
	}}
	p := connected(t, Server{Machine: e}, Client{})
	source := readerFunc(func(b []byte) (int, error) {
		if read.Add(int64(len(b))) > window {
			select {
			case <-release:
			default:
				close(release)
			}
		}
		return len(b), nil
	})
	r, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"x"}, Stdin: source})
	if err != nil || r.Exit != 3 || read.Load() > 2*window {
		t.Errorf("%+v, %v, read %d bytes of a source, the window is %d", r, err, read.Load(), window)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestFilesAndAbilities(t *testing.T) {
	e := &echo{}
	p := connected(t, Server{Machine: e, Version: "v2"}, Client{Version: "v1"})
	if p.m.Name() != "echo" || p.m.Version() != "v2" {
		t.Errorf("name %q, version %q", p.m.Name(), p.m.Version())
	}
	if _, err := p.m.ReadFile(t.Context(), "/absent"); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "/absent") {
		t.Errorf("an absent file: %v", err)
	}
	if _, err := p.m.Self(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("an ability that is not there: %v", err)
	}
	if err := p.m.Confinable(t.Context(), platform.Confinement{Quota: "1"}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("confinable: %v", err)
	}
	want := platform.Confinement{Affinity: "0"}
	if err := p.m.Confine(t.Context(), want); err != nil || p.m.Confinement() != want || e.Confinement() != want {
		t.Errorf("confine: %v, here %+v, there %+v", err, p.m.Confinement(), e.Confinement())
	}
	if err := p.m.Close(); err != nil {
		t.Fatal(err)
	}
	if err := p.end(t); !errors.Is(err, io.EOF) {
		t.Errorf("the far side ended with %v", err)
	}
	if e.Confinement() != (platform.Confinement{}) {
		t.Error("the workers stayed confined")
	}
	if _, err := p.m.ReadFile(t.Context(), "/x"); !errors.Is(err, errClosed) {
		t.Errorf("a call after the end: %v", err)
	}
}

func TestTheEndOfTheConnectionEndsCommands(t *testing.T) {
	started := make(chan struct{})
	var killed, restored atomic.Bool
	e := &echo{run: func(ctx context.Context, _ platform.Command) (platform.Result, error) {
		close(started)
		<-ctx.Done()
		killed.Store(true)
		return platform.Result{}, ctx.Err()
	}}
	p := connected(t, Server{Machine: e, Restore: func(context.Context) error {
		restored.Store(killed.Load())
		return errors.New("restored")
	}}, Client{})
	ended := make(chan error, 1)
	go func() {
		_, err := p.m.Run(context.Background(), platform.Command{Argv: []string{"x"}})
		ended <- err
	}()
	<-started
	_ = p.raw.Close()
	if err := p.end(t); err == nil || !strings.Contains(err.Error(), "restored") || !restored.Load() {
		t.Errorf("the far side ended with %v; restored after the kill: %v", err, restored.Load())
	}
	if err := <-ended; err == nil {
		t.Error("a call without an answer is no error")
	}
	if p.m.Err() == nil {
		t.Error("the machine does not say why it is gone")
	}
}

func TestOver(t *testing.T) {
	p := connected(t, Server{Machine: &echo{}}, Client{})
	if err := p.m.End(t.Context()); err != nil {
		t.Error(err)
	}
	if err := p.end(t); err != nil {
		t.Errorf("after the end the far side says %v", err)
	}
}

// deaf is a connection that loses everything once it is told to.
type deaf struct {
	net.Conn
	lost atomic.Bool
}

func (d *deaf) Write(p []byte) (int, error) {
	if d.lost.Load() {
		return len(p), nil
	}
	return d.Conn.Write(p)
}

func TestSilence(t *testing.T) {
	t.Parallel()
	near, there := net.Pipe()
	served := make(chan error, 1)
	quiet := &deaf{Conn: there}
	go func() {
		served <- Server{Machine: &echo{}, Beat: 10 * time.Millisecond, Silence: time.Minute}.Serve(context.Background(), quiet)
	}()
	m, err := Client{Beat: 10 * time.Millisecond, Silence: 300 * time.Millisecond}.Connect(t.Context(), near)
	if err != nil {
		t.Fatal(err)
	}
	<-time.After(600 * time.Millisecond)
	if err := m.Err(); err != nil {
		t.Fatalf("beats did not keep the connection: %v", err)
	}
	quiet.lost.Store(true)
	select {
	case <-m.Done():
	case <-time.After(20 * time.Second):
		t.Fatal("a silent peer was not noticed")
	}
	if !errors.Is(m.Err(), errSilent) {
		t.Errorf("got %v", m.Err())
	}
	<-served
}

// What an earlier connection left in the port, and a login message, are skipped.
func TestGreetingAfterRubbish(t *testing.T) {
	near, there := net.Pipe()
	served := make(chan error, 1)
	go func() {
		_, _ = there.Write([]byte("Welcome to PLimsoll\x00\n"))
		old, _ := jsonHello(hello{Protocol: Protocol, Session: "of another lab"})
		_, _ = there.Write(old)
		served <- Server{Machine: &echo{}}.Serve(context.Background(), there)
	}()
	go func() { _, _ = near.Write(appendFrame(nil, frame{kindData, 9, []byte("rest of an earlier lab")})[5:]) }()
	m, err := Connect(t.Context(), near)
	if err != nil || m.Name() != "echo" {
		t.Fatal(err)
	}
	_ = m.Close()
	<-served
}

func TestProtocolsMustAgree(t *testing.T) {
	near, there := net.Pipe()
	go func() { _ = Server{Machine: &echo{}}.Serve(context.Background(), there) }()
	text, _ := jsonHello(hello{Protocol: 99, Version: "v9", Session: "s"})
	go func() { _, _ = near.Write(text) }()
	answer := make([]byte, 300)
	if _, err := near.Read(answer); err != nil {
		t.Fatalf("no answer: %v", err)
	}
	err := hello{Protocol: 99}.check("v1", "v9")
	if err == nil || !strings.Contains(err.Error(), "v9") || !strings.Contains(err.Error(), "99") {
		t.Errorf("got %v", err)
	}
	_ = near.Close()
}

func TestConnectWaitsNoLongerThanItsContext(t *testing.T) {
	near, there := net.Pipe()
	go func() { _, _ = io.Copy(io.Discard, there) }()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, near); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestTooManyCalls(t *testing.T) {
	release := make(chan struct{})
	var started sync.WaitGroup
	started.Add(mostCalls)
	e := &echo{run: func(context.Context, platform.Command) (platform.Result, error) {
		started.Done()
		<-release
		return platform.Result{}, nil
	}}
	p := connected(t, Server{Machine: e}, Client{})
	var all sync.WaitGroup
	for range mostCalls {
		all.Go(func() {
			if _, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"x"}}); err != nil {
				t.Error(err)
			}
		})
	}
	started.Wait()
	if _, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"x"}}); err == nil || !strings.Contains(err.Error(), "calls at once") {
		t.Errorf("one call more gives %v", err)
	}
	close(release)
	all.Wait()
}

func TestLongArgumentsAreRefused(t *testing.T) {
	p := connected(t, Server{Machine: &echo{}}, Client{})
	_, err := p.m.Run(t.Context(), platform.Command{Argv: []string{strings.Repeat("x", mostPayload)}})
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
	if _, err := p.m.Run(t.Context(), platform.Command{Argv: []string{"x"}}); err != nil {
		t.Errorf("the next call: %v", err)
	}
}
