package vcenter

import (
	"context"
	"strings"
	"testing"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// carrier is a machine with a program of plimsoll.
type carrier struct {
	platform.Machine
	program string
}

func (c carrier) Name() string                         { return "far" }
func (c carrier) Self(context.Context) (string, error) { return c.program, nil }

// The simulator is part of plimsoll, and not of the agent.
func TestCheckRefusesTheAgent(t *testing.T) {
	t.Parallel()
	for program, refused := range map[string]bool{"/usr/bin/plimsoll": false, "/init": true, "/var/tmp/plimsoll-agent-1a2b": true} {
		_, err := (&vcenter{}).Check(t.Context(), service.Env{Machine: carrier{program: program}})
		if got := err != nil && strings.Contains(err.Error(), "machine far has plimsoll-agent"); got != refused {
			t.Errorf("%s: %v", program, err)
		}
	}
}
