package hub_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
)

func await[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s: nothing came", what)
		panic("unreachable")
	}
}

func TestAnAgentJoinsAndLeaves(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	w := r.join(key, func(o *fabric.AgentOptions) {
		o.Name, o.Labels = "one", map[string]string{"role": "client"}
		o.Lab = r.key.Public()
	})
	m := r.await(1)[0]
	if m.ID != key.Public() || m.Name != "one" || m.Labels["role"] != "client" || m.Facts.Cores < 1 || m.Facts.OS == "" {
		t.Errorf("the lab knows the agent as %+v", m)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := r.lab.Await(ctx, map[string]string{"role": "client"}, 1); err != nil {
		t.Error(err)
	}
	gone, why := r.lab.Gone(m.ID)
	w.stop()
	await(t, gone, "the agent leaving")
	if err := why(); err == nil {
		t.Error("no reason why the agent is gone")
	}
	await(t, w.lost, "putting back")
	if err := <-w.ended; err != nil {
		t.Errorf("an agent that was stopped ends with %v", err)
	}
	if _, err := r.lab.Dial(m.ID); err == nil {
		t.Error("an agent that left can be dialled")
	}
}

func TestAStrangerIsRefused(t *testing.T) {
	t.Parallel()
	known, stranger := newKey(t), newKey(t)
	r := newRig(t, known).start()
	w := r.join(stranger, nil)
	if err := await(t, w.ended, "the refusal"); !errors.Is(err, fabric.ErrRefused) {
		t.Errorf("the stranger's agent ended with %v", err)
	}
	if m := r.lab.Members(); len(m) != 0 {
		t.Errorf("the stranger joined: %+v", m)
	}
	r.join(known, nil)
	if m := r.await(1)[0]; m.ID != known.Public() {
		t.Errorf("%s joined, which the lab does not know", m.ID)
	}
}

func TestAnotherLabIsRefused(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	logged := make(chan struct{}, 64)
	r.join(key, func(o *fabric.AgentOptions) {
		o.Lab = newKey(t).Public()
		o.Log = func(string, ...any) {
			select {
			case logged <- struct{}{}:
			default:
			}
		}
	})
	await(t, logged, "the refusal")
	if m := r.lab.Members(); len(m) != 0 {
		t.Errorf("the agent joined a lab that it was not told: %+v", m)
	}
}

func TestBeyondLoopbackTheAuthorityIsPinned(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key)
	r.listen = "0.0.0.0:0"
	r.start()
	if _, err := fabric.NewAgent(fabric.AgentOptions{Endpoint: fabric.Endpoint{URL: "nats://192.0.2.1:4222", Key: key}}); err == nil {
		t.Error("an agent goes beyond loopback without a fingerprint")
	}
	refused := make(chan struct{}, 64)
	r.join(key, func(o *fabric.AgentOptions) {
		o.Endpoint.CA = "sha256:" + string(bytes.Repeat([]byte("0"), 64))
		o.Endpoint.Log = func(string, ...any) {
			select {
			case refused <- struct{}{}:
			default:
			}
		}
	})
	await(t, refused, "the refusal of another authority")
	if len(r.lab.Members()) != 0 {
		t.Error("an agent joined by another authority than the pinned one")
	}
	r.join(key, nil)
	r.await(1)
	again := r.hub.Fingerprint()
	r.stop()
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	if r.hub.Fingerprint() != again {
		t.Error("the authority did not survive a restart of the lab")
	}
}

func TestStreamsEcho(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	r := newRig(t, key).start()
	r.join(key, func(o *fabric.AgentOptions) {
		o.Serve = echo
	})
	id := r.await(1)[0].ID
	data := make([]byte, 3<<20+17)
	rng := rand.NewChaCha8([32]byte{1})
	_, _ = rng.Read(data)
	s, err := r.lab.Dial(id)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_, _ = s.Write(data)
		_ = s.CloseWrite()
	}()
	back, err := io.ReadAll(s)
	if err != nil || !bytes.Equal(back, data) {
		t.Errorf("%d of %d bytes came back, %v", len(back), len(data), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
