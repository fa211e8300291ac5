package hub_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"plimsoll/internal/agent/fabric"
)

// broker is a third-party NATS server that grants each key all permissions.
func broker(t testing.TB, keys ...*fabric.Key) (url string) {
	t.Helper()
	o := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true}
	for _, k := range keys {
		o.Nkeys = append(o.Nkeys, &server.NkeyUser{Nkey: k.Public()})
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(patience) {
		t.Fatal("the broker does not start")
	}
	return "nats://" + s.Addr().String()
}

// account is a connection to a broker with a key's rights.
func account(t testing.TB, url string, key *fabric.Key) *nats.Conn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := key.Write(file); err != nil {
		t.Fatal(err)
	}
	option, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		t.Fatal(err)
	}
	c, err := nats.Connect(url, option)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// carry forwards messages between subjects of two connections, modified by change.
func carry(t testing.TB, from *nats.Conn, subject string, to *nats.Conn, as string, change func([]byte) [][]byte) {
	t.Helper()
	_, err := from.Subscribe(subject, func(m *nats.Msg) {
		for _, data := range change(m.Data) {
			_ = to.Publish(as, data)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := from.Flush(); err != nil {
		t.Fatal(err)
	}
}

func same(data []byte) [][]byte { return [][]byte{data} }

// outside is a lab with a third-party broker and short retransmission timeouts.
func outside(t testing.TB, url string, key *fabric.Key, agents ...*fabric.Key) *fabric.Lab {
	t.Helper()
	var allowed []string
	for _, a := range agents {
		allowed = append(allowed, a.Public())
	}
	l, err := fabric.OpenLab(fabric.LabOptions{
		Endpoint: fabric.Endpoint{URL: url, Key: key}, Lease: time.Hour, Log: t.Logf,
		Agents: allowed, Clock: hurried{time.Now()},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// An attacker with the broker's account and another key cannot join as an agent.
func TestAnAgentWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	labKey, agent, mallory := newKey(t), newKey(t), newKey(t)
	url, own := broker(t, labKey, agent, mallory), broker(t, mallory)
	logged := make(chan string, 256)
	l := outside(t, url, labKey, agent)
	near, far := account(t, url, mallory), account(t, own, mallory)
	carry(t, far, fabric.UpSubject(mallory.Public()), near, fabric.UpSubject(agent.Public()), same)
	carry(t, near, fabric.DownSubject(agent.Public()), far, fabric.DownSubject(mallory.Public()), same)
	impostor := begin(t, fabric.AgentOptions{Endpoint: fabric.Endpoint{URL: own, Key: mallory}, Lab: labKey.Public(), Name: "mallory", Log: tell(logged)})
	said := await(t, logged, "the end of the false agent's session")
	if m := l.Members(); len(m) != 0 {
		t.Errorf("the false agent joined: %+v; it says %s", m, said)
	}
	impostor()
	begin(t, fabric.AgentOptions{Endpoint: fabric.Endpoint{URL: url, Key: agent}, Lab: labKey.Public(), Name: "true"})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if m, err := l.Await(ctx, nil, 1); err != nil || m[0].Name != "true" {
		t.Errorf("the true agent: %+v, %v", m, err)
	}
}

// tell hands what is logged to a channel as far as it has room.
func tell(to chan string) func(string, ...any) {
	return func(format string, args ...any) {
		select {
		case to <- format:
		default:
		}
	}
}

// begin runs an agent until the test ends or the result is called.
func begin(t testing.TB, o fabric.AgentOptions) (stop func()) {
	t.Helper()
	if o.Log == nil {
		o.Log = t.Logf
	}
	a, err := fabric.NewAgent(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = a.Run(ctx) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// An attacker with the broker's account cannot impersonate the lab to an agent that has the
// lab's key.
func TestAFalseLabIsRefused(t *testing.T) {
	t.Parallel()
	labKey, agent, mallory := newKey(t), newKey(t), newKey(t)
	url := broker(t, labKey, agent, mallory)
	impostor := outside(t, url, mallory, agent)
	logged := make(chan string, 256)
	begin(t, fabric.AgentOptions{
		Endpoint: fabric.Endpoint{URL: url, Key: agent}, Lab: labKey.Public(), Log: tell(logged),
		Serve: func(context.Context, *fabric.Stream) { t.Error("the agent serves a false lab") },
	})
	await(t, logged, "the end of a session with a false lab")
	if m := impostor.Members(); len(m) != 0 {
		t.Errorf("an agent joined a false lab: %+v", m)
	}
}

// tapped is a lab and an agent with a broker each, and a man in the middle who modifies
// messages.
type tapped struct {
	lab    *fabric.Lab
	agent  string
	seen   func() [][]byte // all that passed, both ways
	replay func()
}

func tap(t testing.TB, serve func(context.Context, *fabric.Stream), lost func(error), change func() func([]byte) [][]byte) tapped {
	t.Helper()
	labKey, agent, mallory := newKey(t), newKey(t), newKey(t)
	near, far := broker(t, labKey, mallory), broker(t, agent, mallory)
	a, b := account(t, near, mallory), account(t, far, mallory)
	up, down := fabric.UpSubject(agent.Public()), fabric.DownSubject(agent.Public())
	var mu sync.Mutex
	var ups, downs [][]byte
	record := func(all *[][]byte) func([]byte) [][]byte {
		change := change() // of one direction
		return func(data []byte) [][]byte {
			mu.Lock()
			*all = append(*all, bytes.Clone(data))
			mu.Unlock()
			return change(data)
		}
	}
	carry(t, b, up, a, up, record(&ups))
	carry(t, a, down, b, down, record(&downs))
	l := outside(t, near, labKey, agent)
	begin(t, fabric.AgentOptions{Endpoint: fabric.Endpoint{URL: far, Key: agent}, Lab: labKey.Public(), Serve: serve, Lost: lost, Clock: hurried{time.Now()}})
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := l.Await(ctx, nil, 1); err != nil {
		t.Fatal(err)
	}
	return tapped{
		lab: l, agent: agent.Public(),
		seen: func() [][]byte { mu.Lock(); defer mu.Unlock(); return append(append([][]byte{}, ups...), downs...) },
		replay: func() {
			mu.Lock()
			u, d := ups, downs
			mu.Unlock()
			for _, data := range u {
				_ = a.Publish(up, data)
			}
			for _, data := range d {
				_ = b.Publish(down, data)
			}
			if err := a.Flush(); err != nil {
				t.Error(err)
			}
			if err := b.Flush(); err != nil {
				t.Error(err)
			}
		},
	}
}

// ask writes to a new stream and reads the whole response.
func (p tapped) ask(t testing.TB, data []byte) ([]byte, error) {
	t.Helper()
	s, err := p.lab.Dial(p.agent)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = s.Write(data)
		_ = s.CloseWrite()
	}()
	return io.ReadAll(s)
}

// Replayed messages have no effect, and are unreadable.
func TestWhatIsReplayedIsRefused(t *testing.T) {
	t.Parallel()
	served := make(chan string, 16)
	lost := make(chan error, 16)
	p := tap(t, func(_ context.Context, s *fabric.Stream) {
		text, err := io.ReadAll(s)
		if err != nil {
			return
		}
		served <- string(text)
		_, _ = s.Write([]byte("done"))
	}, func(err error) { lost <- err }, func() func([]byte) [][]byte { return same })
	secret := []byte("put the setting that nobody may read")
	if back, err := p.ask(t, secret); err != nil || string(back) != "done" {
		t.Fatalf("%q came back, %v", back, err)
	}
	await(t, served, "the order")
	for _, data := range p.seen() {
		if bytes.Contains(data, secret) || bytes.Contains(data, []byte("join")) {
			t.Errorf("the broker can read %q", data)
		}
	}
	for range 3 {
		p.replay()
	}
	if back, err := p.ask(t, []byte("another")); err != nil || string(back) != "done" {
		t.Errorf("after the replay %q came back, %v", back, err)
	}
	if got := await(t, served, "the order after the replay"); got != "another" {
		t.Errorf("%q was done again", got)
	}
	if m := p.lab.Members(); len(m) != 1 {
		t.Errorf("members after the replay: %+v", m)
	}
	select {
	case err := <-lost:
		t.Errorf("the replay ended the session: %v", err)
	default:
	}
}

// Duplicate, late, reordered and lost messages only cost time.
func TestWhatIsReorderedArrives(t *testing.T) {
	t.Parallel()
	p := tap(t, echo, nil, func() func([]byte) [][]byte {
		rng := rand.New(rand.NewPCG(1, 2))
		var held []byte
		return func(data []byte) [][]byte {
			switch p := rng.Float64(); {
			case p < .05: // lost
				return nil
			case p < .10:
				return [][]byte{data, data}
			case p < .15 && held == nil:
				held = bytes.Clone(data) // sent later
				return nil
			}
			out := [][]byte{data}
			if held != nil {
				out, held = append(out, held), nil
			}
			return out
		}
	})
	data := make([]byte, 64<<10)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(data)
	if back, err := p.ask(t, data); err != nil || !bytes.Equal(back, data) {
		t.Errorf("%d of %d bytes came back, %v", len(back), len(data), err)
	}
}

// No byte of a modified message is accepted: the stream fails instead.
func TestWhatIsChangedIsRefused(t *testing.T) {
	t.Parallel()
	var on atomic.Bool
	p := tap(t, echo, nil, func() func([]byte) [][]byte {
		rng := rand.New(rand.NewPCG(5, 6))
		return func(data []byte) [][]byte {
			if on.Load() && len(data) > 1000 {
				data = bytes.Clone(data)
				data[21+rng.IntN(len(data)-21)] ^= 1 << rng.IntN(8) // after the head of the frame
			}
			return [][]byte{data}
		}
	})
	on.Store(true)
	data := bytes.Repeat([]byte("0123456789abcdef"), 4<<10)
	back, err := p.ask(t, data)
	if err == nil {
		t.Errorf("a changed stream ended well with %d of %d bytes", len(back), len(data))
	}
	if !bytes.HasPrefix(data, back) {
		t.Error("bytes came back that were never sent")
	}
}
