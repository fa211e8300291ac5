package trial

import (
	"context"
	"encoding/json"
	"fmt"

	"plimsoll/internal/collect"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/fault"
)

// SightFile holds how the machine saw itself in a trial, where factors may change that:
// one object of texts, in the order of lscpu.
const SightFile = "machine.json"

// see keeps how the machines see themselves: the first of each group, since the others are
// like it.
func (a *attempt) see(ctx context.Context) error {
	var rows collect.TestbedRecord
	for _, m := range a.crew {
		sighted, ok := m.At.Machine.(platform.FactSource)
		if !ok || m.Index > 0 || a.session.sim != nil {
			continue
		}
		facts, err := sighted.Sees(ctx)
		if err != nil {
			return fault.Void("read the hardware that the machine sees: %w", err)
		}
		for _, f := range facts {
			name := f.Name
			if len(a.study.Groups) > 1 {
				name = m.Group.Name + ": " + name
			}
			rows = append(rows, collect.Fact{Name: name, Value: f.Value})
		}
	}
	if rows == nil {
		return nil
	}
	text, err := json.Marshal(rows)
	if err != nil {
		return fmt.Errorf("save the hardware of the machine: %w", err)
	}
	a.files[SightFile] = append(text, '\n')
	return nil
}
