package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/effort"
	"plimsoll/internal/load"
	"plimsoll/internal/load/loadtest"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/service"
	"plimsoll/internal/service/responder"
	"plimsoll/internal/service/servicetest"
)

// faultVariable names the fault to inject into a process of this test.
const faultVariable = "PLIMSOLL_TEST_FAULT"

// faults are the faults of services, each with the part of the suite that detects it and its
// message.
var faults = map[string]struct{ part, says string }{
	"lax":           {"kind", "an unknown setting gives <nil>"},
	"wordless":      {"kind", "lacks a name, a doc or a protocol"},
	"double":        {"kind", "is listed twice"},
	"meddling":      {"defaults", "the check made the folder"},
	"deaf":          {"defaults", "redis: it does not speak today"},
	"babbling":      {"defaults", "an endpoint for a protocol that nobody speaks"},
	"wrong door":    {"defaults", "memcached at "},
	"silent":        {"defaults", "the server does not tell threads"},
	"lying":         {"defaults", `threads is "77", but "1" was asked`},
	"strange":       {"defaults", "mood is no setting"},
	"undeclared":    {"defaults", "responder.joy is not declared"},
	"absent":        {"defaults", "responder.cpu is declared and absent"},
	"frozen":        {"defaults", "none of map"},
	"undead":        {"defaults", "after it was stopped, something listens"},
	"untidy":        {"defaults", "is left"},
	"once":          {"defaults", "stop: it is stopped already"},
	"shared":        {"two", "both listen at"},
	"optimistic":    {"death", "a daemon that died counts as started"},
	"vague":         {"death", "a daemon that died gives it broke"},
	"unconcerned":   {"cancel", "cancelled before: it broke"},
	"sluggish":      {"force", "stop without time"},
	"uninformed":    {"gone", "counters of a daemon that died"},
	"inconsiderate": {"leftover", "somebody else made"},
}

// served are the services with a process of their own, by command.
var served = map[string]func(context.Context, io.Reader, io.Writer) error{responder.Command: responder.Serve}

// TestMain runs a service if this process was started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && served[os.Args[1]] != nil {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := served[os.Args[1]](ctx, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	loadtest.Parallel(6)
	effort.CollectSeldom()
	os.Exit(m.Run())
}

func thisMachine(t *testing.T) platform.Machine {
	t.Helper()
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p.Machine()
}

// The suite accepts a correct service.
func TestSound(t *testing.T) {
	t.Parallel()
	servicetest.Run(t, faultyKind(""), servicetest.Options{Machine: thisMachine(t)})
}

// TestFaulty runs the suite on a service with the injected fault, and fails.
func TestFaulty(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("run by TestEachFaultIsFound, for each fault")
	}
	servicetest.Run(t, faultyKind(fault), servicetest.Options{Machine: thisMachine(t), Promptly: time.Second})
}

func TestEachFaultIsFound(t *testing.T) {
	t.Parallel()
	var wait sync.WaitGroup
	defer wait.Wait()
	turns := make(chan struct{}, 4)
	for fault, want := range faults {
		wait.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFaulty$/^"+want.part+"$")
			c.Env = append(os.Environ(), faultVariable+"="+fault)
			out, err := c.CombinedOutput()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || !strings.Contains(string(out), want.says) {
				t.Errorf("%s: the suite ends with %v and says\n%swant %q", fault, err, out, want.says)
			}
		})
	}
}

func faultyKind(fault string) service.Kind {
	kind := responder.Kind()
	build := kind.New
	kind.New = func(settings parameter.Settings) (service.Service, error) {
		s, err := build(settings)
		if fault == "lax" {
			err = nil
		}
		return &faulty{s, fault}, err
	}
	switch fault {
	case "wordless":
		kind.Doc = ""
	case "double":
		kind.Metrics = append(kind.Metrics, measure.Metric{Name: "responder.cpu", Unit: "1", Doc: "again"})
	}
	return kind
}

// faulty is the responder, with one fault.
type faulty struct {
	service.Service
	fault string
}

func (f *faulty) Check(ctx context.Context, env service.Env) (service.Needs, error) {
	if f.fault == "meddling" {
		if err := os.Mkdir(env.Dir, 0o755); err != nil {
			return service.Needs{}, err
		}
		defer func() { _ = context.AfterFunc(ctx, func() { os.RemoveAll(env.Dir) }) }()
	}
	return f.Service.Check(ctx, env)
}

func (f *faulty) Start(ctx context.Context, env service.Env) (service.Instance, error) {
	if f.fault == "inconsiderate" || f.fault == "meddling" {
		if err := os.RemoveAll(env.Dir); err != nil {
			return nil, err
		}
	}
	i, err := f.Service.Start(ctx, env)
	switch {
	case err == nil:
		return &faultyInstance{Instance: i, fault: f.fault, dir: env.Dir}, nil
	case f.fault == "optimistic":
		return service.Use(service.Live{}), nil
	case f.fault == "vague" || f.fault == "unconcerned":
		return nil, errors.New("it broke")
	}
	return nil, err
}

type faultyInstance struct {
	service.Instance
	fault, dir string
	stopped    int
}

func (f *faultyInstance) Endpoint(protocol string) (load.Endpoint, error) {
	e, err := f.Instance.Endpoint(protocol)
	switch {
	case f.fault == "deaf" && protocol == "redis":
		return e, errors.New("it does not speak today")
	case f.fault == "babbling":
		return e, nil
	case f.fault == "wrong door" && protocol == "memcached":
		return f.Instance.Endpoint("redis")
	case f.fault == "shared":
		e.Address = "127.0.0.1:9"
	}
	return e, err
}

func (f *faultyInstance) Observed(ctx context.Context) (map[string]string, error) {
	o, err := f.Instance.Observed(ctx)
	switch f.fault {
	case "silent":
		delete(o, "threads")
	case "lying":
		o["threads"] = "77"
	case "strange":
		o["mood"] = "good"
	}
	return o, err
}

func (f *faultyInstance) Counters(ctx context.Context) (map[string]float64, error) {
	c, err := f.Instance.Counters(ctx)
	switch f.fault {
	case "undeclared":
		c["responder.joy"] = 1
	case "absent":
		delete(c, "responder.cpu")
	case "frozen":
		c = maps.Clone(c)
		for name := range c {
			c[name] = 1
		}
	case "uninformed":
		return nil, errors.New("no answer")
	}
	return c, err
}

func (f *faultyInstance) Stop(ctx context.Context) error {
	f.stopped++
	switch {
	case f.fault == "undead" && f.stopped == 1, f.fault == "sluggish" && ctx.Err() != nil:
		return ctx.Err()
	case f.fault == "once" && f.stopped > 1:
		return errors.New("it is stopped already")
	}
	err := f.Instance.Stop(ctx)
	if f.fault == "untidy" && f.stopped == 1 {
		err = errors.Join(err, os.Mkdir(f.dir, 0o755))
	}
	return err
}
