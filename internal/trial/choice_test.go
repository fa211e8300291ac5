package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
	"plimsoll/internal/trial/restore"
)

// pool is a platform of several machines, of which one is the first.
type pool struct {
	all   map[string]*node
	first string
}

func (p *pool) Machine() platform.Machine { return p.all[p.first] }
func (p *pool) Close() error              { return nil }

func (p *pool) Choose(_ context.Context, name string) error {
	if p.all[name] == nil {
		return fmt.Errorf("there is no machine %s", name)
	}
	p.first = name
	return nil
}

// What a run changed is put back on its machine, also where the platform has another one first by now, whose settings happen to be the same.
func TestTheMachineOfTheRunIsPutBack(t *testing.T) {
	r := newRig(t)
	b := r.bench(t, exampleStudy(), 2)
	other := &node{&machine{root: filepath.Join(r.root, "other")}, "b"}
	p := &pool{map[string]*node{"a": {r.machine, "a"}, "b": other}, "a"}
	b.Platform = p
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	b.step = func(name string) {
		if name == "before write trial" {
			cancel()
			runtime.Goexit() // the power is gone
		}
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = b.Run(ctx)
	}()
	<-gone
	if err := os.CopyFS(other.root, os.DirFS(r.machine.root)); err != nil {
		t.Fatal(err)
	}
	changed := r.present(t)
	open := func(first string) func(context.Context, study.Use, uint64) (platform.Platform, error) {
		return func(context.Context, study.Use, uint64) (platform.Platform, error) {
			p.first = first
			return p, nil
		}
	}
	of := r.restoration(b.Catalog)
	delete(p.all, "a")
	of.Open = open("b")
	if _, err := restore.Restore(t.Context(), of); err == nil || !strings.Contains(err.Error(), "there is no machine a") {
		t.Errorf("without the machine: %v", err)
	}
	p.all["a"] = &node{r.machine, "a"}
	if _, err := restore.Restore(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	r.atFormer(t)
	r.machine = other.machine
	if now := r.present(t); now["host.one"] != changed["host.one"] || now["mine"] != changed["mine"] {
		t.Errorf("the other machine is at %v, and was at %v", now, changed)
	}
	p.first = "b"
	if err := restore.Choose(t.Context(), p, r.dir()); err != nil || p.first != "a" {
		t.Errorf("the run goes on on machine %s, %v", p.first, err)
	}
}

// brief is a machine that dies.
type brief struct {
	*machine
	dead atomic.Bool
}

var errDead = errors.New("the machine is gone")

func (m *brief) Machine() platform.Machine { return m }

func (m *brief) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if m.dead.Load() {
		return platform.Result{}, errDead
	}
	return m.machine.Run(ctx, c)
}

func (m *brief) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if m.dead.Load() {
		return nil, errDead
	}
	return m.machine.ReadFile(ctx, name)
}

// A machine that ends with the platform leaves nothing to put back when it dies first. Any other does.
func TestAMachineThatDies(t *testing.T) {
	for _, fleeting := range []bool{true, false} {
		r := newRig(t)
		b := r.bench(t, exampleStudy(), 2)
		m := &brief{machine: r.machine}
		b.Platform = m
		b.Catalog.Platforms = []platform.Kind{{Name: "fake", Fleeting: func(parameter.Settings) bool { return fleeting }}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		b.step = func(name string) {
			if name == "before write trial" {
				m.dead.Store(true)
				cancel()
			}
		}
		err := b.Run(ctx)
		left, listed := r.unfinished()
		if listed != nil {
			t.Fatal(listed)
		}
		if said := err != nil && strings.Contains(err.Error(), "to try again: plimsoll restore"); said == fleeting || (len(left) == 0) != fleeting {
			t.Errorf("fleeting %v: left %v, %v", fleeting, left, err)
		}
	}
}
