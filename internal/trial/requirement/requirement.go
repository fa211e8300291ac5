// Package requirement knows what the loads and services of a study require of its machines.
package requirement

import (
	"context"
	"strings"
	"sync"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/journal"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

// Known is what loads and services require, by what was asked. A study that is checked several times by one process
// asks its machines once. The zero value knows nothing, and nil keeps nothing.
type Known struct {
	loads    answers[workload.Needs]
	services answers[service.Needs]
}

// Loads asks the load of each machine for its needs, all at once. At names the service, where that of another arm is elsewhere.
func (k *Known) Loads(ctx context.Context, driving machines.Set, at string, env func(*machines.Member) workload.Env) (map[*machines.Member]workload.Needs, error) {
	var mu sync.Mutex
	all := map[*machines.Member]workload.Needs{}
	err := driving.Each(ctx, func(ctx context.Context, m *machines.Member) error {
		needs, err := k.load(question(m.Name, m.At.Dir, m.Kind.Name, journal.LoadKey(m.Settings), at), func() (workload.Needs, error) { return m.Load.Check(ctx, env(m)) })
		mu.Lock()
		defer mu.Unlock()
		all[m] = needs
		return err
	})
	return all, err
}

func (k *Known) load(question string, ask func() (workload.Needs, error)) (workload.Needs, error) {
	if k == nil {
		return ask()
	}
	return k.loads.of(question, ask)
}

// Service asks a service with such settings on machines for its needs.
func (k *Known) Service(ctx context.Context, of service.Service, env service.Env, on machines.Set, settings parameter.Settings) (service.Needs, error) {
	ask := func() (service.Needs, error) { return of.Check(ctx, env) }
	if k == nil {
		return ask()
	}
	names := []string{env.Dir, journal.LoadKey(settings)}
	for _, m := range on {
		names = append(names, m.Name)
	}
	return k.services.of(question(names...), ask)
}

func question(parts ...string) string { return strings.Join(parts, "\n") }

// answers are the answers to questions; errors are not kept.
type answers[T any] struct {
	mu    sync.Mutex
	known map[string]T
}

// of returns the answer to a question, which is asked unless it is known.
func (a *answers[T]) of(question string, ask func() (T, error)) (T, error) {
	a.mu.Lock()
	answer, known := a.known[question]
	a.mu.Unlock()
	if known {
		return answer, nil
	}
	answer, err := ask()
	if err != nil {
		return answer, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = map[string]T{}
	}
	a.known[question] = answer
	return answer, nil
}
