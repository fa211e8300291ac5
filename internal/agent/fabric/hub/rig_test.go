package hub_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent/fabric"
	"plimsoll/internal/agent/fabric/hub"
)

// patience elapses only if a test fails.
const patience = 30 * time.Second

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil { // they wait more than they work
		panic(err)
	}
	os.Exit(m.Run())
}

func newKey(t testing.TB) *fabric.Key {
	t.Helper()
	k, err := fabric.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// rig is a lab with its hub, which can restart at the same address with the same folder.
type rig struct {
	t      testing.TB
	key    *fabric.Key
	agents []string
	folder string
	listen string
	lease  time.Duration
	clock  fabric.Clock

	hub *hub.Hub
	lab *fabric.Lab
}

func newRig(t testing.TB, agents ...*fabric.Key) *rig {
	t.Helper()
	r := &rig{t: t, key: newKey(t), folder: t.TempDir(), listen: "127.0.0.1:0", lease: 3 * time.Second}
	for _, a := range agents {
		r.agents = append(r.agents, a.Public())
	}
	return r
}

func (r *rig) startHub() {
	r.t.Helper()
	h, err := hub.Start(hub.Options{Listen: r.listen, Folder: r.folder, Lab: r.key.Public(), Agents: r.agents})
	if err != nil {
		r.t.Fatal(err)
	}
	r.hub, r.listen = h, h.Addr().String()
}

func (r *rig) startLab(e fabric.Endpoint) {
	r.t.Helper()
	var err error
	e.Key = r.key
	r.lab, err = fabric.OpenLab(fabric.LabOptions{
		Endpoint: e, Agents: r.agents, Lease: r.lease, Clock: r.clock, Log: r.t.Logf,
	})
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) start() *rig {
	r.t.Helper()
	r.startHub()
	r.startLab(fabric.Endpoint{InProcess: r.hub})
	r.t.Cleanup(r.stop)
	return r
}

func (r *rig) stop() {
	if err := r.lab.Close(); err != nil {
		r.t.Errorf("close the lab: %v", err)
	}
	r.hub.Close()
}

// worker is an agent under test.
type worker struct {
	*fabric.Agent
	key    *fabric.Key
	joined chan string // what it says when the lab has let it in
	lost   chan error
	ended  chan error
	stop   context.CancelFunc
}

func (r *rig) join(key *fabric.Key, change func(*fabric.AgentOptions)) *worker {
	r.t.Helper()
	w := &worker{key: key, joined: make(chan string, 16), lost: make(chan error, 16), ended: make(chan error, 1)}
	o := fabric.AgentOptions{
		Endpoint: fabric.Endpoint{URL: "nats://" + r.listen, Key: key, CA: r.hub.Fingerprint()},
		Name:     "agent", Facts: fabric.Observe("test"),
		Lost: func(cause error) { w.lost <- cause },
		Log: func(format string, args ...any) {
			r.t.Logf(format, args...)
			if strings.HasPrefix(format, "joined") {
				w.joined <- fmt.Sprintf(format, args...)
			}
		},
	}
	if change != nil {
		change(&o)
	}
	a, err := fabric.NewAgent(o)
	if err != nil {
		r.t.Fatal(err)
	}
	w.Agent = a
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { w.ended <- a.Run(ctx); close(done) }()
	w.stop = func() { cancel(); <-done }
	r.t.Cleanup(w.stop)
	return w
}

func (r *rig) await(n int) []fabric.Member {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := r.lab.Await(ctx, nil, n)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}
