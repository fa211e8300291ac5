package service

import (
	"context"
	"errors"
	"strings"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
)

// severed is a machine whose daemons are lost with its connection.
type severed struct {
	platform.Machine
	cut chan struct{}
}

func (m severed) Run(ctx context.Context, c platform.Command) (platform.Result, error) {
	if c.Stop == nil {
		return m.Machine.Run(ctx, c)
	}
	select {
	case <-m.cut:
	case <-ctx.Done():
	}
	return platform.Result{}, errors.New("the line is cut")
}

// A daemon lost with its machine is detected and stopped without an error, and another one
// takes its place in the same folder.
func TestADaemonThatIsLostWithItsMachine(t *testing.T) {
	env := place(t)
	cut := make(chan struct{})
	env.Machine = severed{env.Machine, cut}
	recipe := Recipe{Name: "it", Daemon: func(Location) (Daemon, error) {
		return Daemon{Argv: []string{"it"}, Ready: func(context.Context) (Live, error) {
			return Live{Endpoints: map[string]load.Endpoint{"morse": {}}}, nil
		}}, nil
	}}
	r, err := launched(t.Context(), env, recipe)
	if err != nil {
		t.Fatal(err)
	}
	all := &servers{env: env, running: []Instance{Use(Live{}), r}}
	if err := errors.Join(r.Died(), all.Died()); err != nil {
		t.Errorf("while it runs: %v", err)
	}
	close(cut)
	<-r.process.ended
	for _, m := range []FailureReporter{r, all} {
		if err := m.Died(); err == nil || !strings.Contains(err.Error(), "the line is cut") {
			t.Errorf("%T died of %v", m, err)
		}
	}
	if err := r.Stop(t.Context()); err != nil {
		t.Errorf("stop: %v", err)
	}
	gone(t, env.Dir)
	if err := Use(Live{}).Died(); err != nil {
		t.Errorf("one that was only used: %v", err)
	}
}

// launched is launch for instances of type Running.
func launched(ctx context.Context, env Env, r Recipe) (*Running, error) {
	i, err := launch(ctx, env, r)
	one, _ := i.(*Running)
	return one, err
}
