package vcenter

import (
	"context"
	"io/fs"
	"os"
	"strings"
	"testing"

	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// carrier is a machine with a program of plimsoll.
type carrier struct {
	platform.Machine
	program, architecture string
}

func (c carrier) Name() string                         { return "far" }
func (c carrier) Self(context.Context) (string, error) { return c.program, nil }

func (c carrier) ReadFile(context.Context, string) ([]byte, error) {
	if c.architecture == "" {
		return nil, fs.ErrNotExist
	}
	return []byte(c.architecture), nil
}

// The simulator is part of plimsoll, and not of the agent: a machine with the agent gets a copy, if it can run that.
func TestCheckRefusesAnotherArchitecture(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("/proc/sys/kernel/arch")
	if err != nil {
		t.Skip("this kernel does not tell its architecture")
	}
	const agent = "/var/tmp/plimsoll-agent-1a2b"
	for _, c := range []struct {
		program, architecture string
		refused               bool
	}{
		{"/usr/bin/plimsoll", "vax\n", false}, {"/init", string(own), false}, {"/init", "vax\n", true}, {agent, "vax\n", true}, {agent, string(own), false}, {agent, "", false},
	} {
		_, err := (&vcenter{}).Check(t.Context(), service.Env{Machine: carrier{program: c.program, architecture: c.architecture}})
		if got := err != nil && strings.Contains(err.Error(), "of another architecture"); got != c.refused || !got && err != nil {
			t.Errorf("%s on %q: %v", c.program, c.architecture, err)
		}
	}
}
