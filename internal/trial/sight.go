package trial

import (
	"context"
	"encoding/json"
	"fmt"

	"plimsoll/internal/collect"
	"plimsoll/internal/platform"
)

// SightFile holds how the machine saw itself in a trial, where factors may change that:
// one object of texts, in the order of lscpu.
const SightFile = "machine.json"

// see keeps how the machine that is measured sees itself.
func (a *attempt) see(ctx context.Context) error {
	if a.sim != nil || len(a.crew) == 0 {
		return nil
	}
	m, ok := a.crew.lead().machine.(platform.Sighted)
	if !ok {
		return nil
	}
	facts, err := m.Sees(ctx)
	if err != nil {
		return void("ask the machine how it sees itself: %w", err)
	}
	var rows collect.TestbedRecord
	for _, f := range facts {
		rows = append(rows, collect.Fact{Name: f.Name, Value: f.Value})
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("keep how the machine sees itself: %w", err)
	}
	a.files[SightFile] = append(text, '\n')
	return nil
}
