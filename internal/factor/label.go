package factor

import (
	"context"
	"sync"
)

// Label is a no-op whose levels name identical arms, for A/A studies.
func Label() Factor {
	var mu sync.Mutex
	last := ""
	return Factor{
		Name:    "label",
		Doc:     "no-op: its levels name identical arms",
		Example: []string{"A", "A again"},
		Get: func(context.Context, Env) (string, error) {
			mu.Lock()
			defer mu.Unlock()
			return last, nil
		},
		Set: func(_ context.Context, _ Env, level string) error {
			mu.Lock()
			defer mu.Unlock()
			last = level
			return nil
		},
	}
}
