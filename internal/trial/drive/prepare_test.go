package drive

import (
	"context"
	"errors"
	"net"
	"testing"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/trial/machines"
	"plimsoll/internal/workload"
)

type dialer struct {
	platform.Machine
	local bool
}

var errDialled = errors.New("dialled from the machine")

func (d dialer) Local() bool { return d.local }

func (dialer) Dial(context.Context, string, string) (net.Conn, error) { return nil, errDialled }

// Only a load whose clients plimsoll-agent lacks is made here for another machine, and only the services of the study are reached
// from there.
func TestConnectionsBeginOnTheMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ lab, local, private, want bool }{
		"another machine":       {lab: true, private: true, want: true},
		"this host":             {lab: true, local: true, private: true},
		"a load of the agent":   {private: true},
		"a service of a user's": {lab: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &machines.Member{At: machines.Workspace{Machine: dialer{local: c.local}}, Kind: workload.Kind{Name: "driven", Own: true, Lab: c.lab}}
			d := &Driver{Target: func(string) (load.Endpoint, error) { return load.Endpoint{Private: c.private}, nil }}
			e, err := d.EnvOf(m).Target("vsphere")
			if err != nil || (e.Dial != nil) != c.want {
				t.Fatalf("an endpoint dialled by the machine: %v, %v; want %v", e.Dial != nil, err, c.want)
			}
			if c.want {
				if _, err := e.Dial(t.Context(), "tcp", "192.0.2.1:443"); !errors.Is(err, errDialled) {
					t.Error(err)
				}
			}
		})
	}
}

func TestAServiceIsReachedThroughItsMachine(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of   platform.Machine
		at   load.Endpoint
		want bool
	}{
		"another machine": {dialer{}, load.Endpoint{Private: true}, true}, "this host": {dialer{local: true}, load.Endpoint{Private: true}, false},
		"a service of a user": {dialer{}, load.Endpoint{}, false}, "no machine": {nil, load.Endpoint{Private: true}, false},
	} {
		if e := Through(c.of, c.at); (e.Dial != nil) != c.want {
			t.Errorf("%s: dialled by it %t, want %t", name, e.Dial != nil, c.want)
		}
	}
}
