package responder

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

// Latencies measured by a client over TCP match the queue's for the same arrivals, so the
// responder is an exact reference for clients.
func TestClientsSeeTheQueue(t *testing.T) {
	most := 10 * time.Millisecond // because other tests run in parallel
	if loadtest.Whole() {
		most = time.Millisecond
	}
	loadtest.CalmWithin(t, 2*time.Minute, func() error {
		least, half := beyondTheQueue(t)
		if least < 0 || half > most {
			return fmt.Errorf("answers come between %s and, for half of them, %s after the queue lets them go", least, half)
		}
		return nil
	})
}

// beyondTheQueue is the minimum and median delay of responses after their departure from the
// queue.
func beyondTheQueue(t *testing.T) (least, half time.Duration) {
	const rate = 600.0
	n := 500
	if !loadtest.Whole() {
		n = 200
	}
	responder, err := Kind().New(parameter.Settings{"law": "exponential", "service": "1ms"})
	if err != nil {
		t.Fatal(err)
	}
	const seed = 11
	i, err := responder.Start(t.Context(), service.Env{Machine: here(t), Dir: t.TempDir() + "/instance", Seed: seed, Log: t.Logf})
	if err != nil {
		t.Fatal(err)
	}
	defer i.Stop(context.Background())
	e, err := i.Endpoint("redis")
	if err != nil {
		t.Fatal(err)
	}
	conn, from := dial(t, e.Address)
	p := pacing(t)
	random := rand.New(rand.NewPCG(1, 2))
	sent, took := make([]time.Duration, n), make([]time.Duration, n)
	failed := make(chan error, 1)
	go func() {
		for i := range n {
			// One connection preserves the order, as the queue of one server does.
			if _, err := from.ReadString('\n'); err != nil {
				failed <- err
				return
			}
			took[i] = p.now()
		}
		failed <- nil
	}()
	due := p.now()
	for i := range n {
		due += time.Duration(random.ExpFloat64() / rate * float64(time.Second))
		if err := p.wait(t.Context(), due); err != nil {
			t.Fatal(err)
		}
		sent[i] = p.now()
		if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	s := Settings{Law: "exponential", Service: parameter.Duration(time.Millisecond), Servers: 1}
	q := newQueue(s, seed)
	excess := make([]time.Duration, n)
	for i := range n {
		excess[i] = took[i] - q.departure(sent[i])
	}
	slices.Sort(excess)
	t.Logf("beyond the queue: least %s, p50 %s, p90 %s, p99 %s", excess[0], excess[n/2], excess[n*9/10], excess[n*99/100])
	return excess[0], excess[n/2]
}
