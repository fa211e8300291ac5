package ceph

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/parameter"
	"plimsoll/internal/service"
)

func TestOSDsOfMachines(t *testing.T) {
	for _, c := range []struct {
		osds int
		want [][]int
	}{
		{3, [][]int{{0}, {1}, {2}}},
		{4, [][]int{{0, 1}, {2}, {3}}},
		{8, [][]int{{0, 1, 2}, {3, 4, 5}, {6, 7}}},
	} {
		d := daemons{make([]place, 3), c.osds}
		for machine, want := range c.want {
			if got := d.on(machine); !slices.Equal(got, want) {
				t.Errorf("%d OSDs: machine %d has %v, want %v", c.osds, machine, got, want)
			}
		}
	}
}

// Parts of an object are on machines of their own where there are enough.
func TestFailureDomainOfPools(t *testing.T) {
	for _, c := range []struct {
		redundancy string
		machines   int
		want       bool
	}{
		{"replica:2", 1, false}, {"replica:2", 2, true}, {"replica:3", 2, false}, {"ec:2+1", 3, true}, {"ec:2+1", 2, false},
	} {
		s := defaults()
		s.Redundancy = c.redundancy
		p, err := s.policy(c.machines)
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Join(p.commands(), "\n")
		if got := strings.Contains(text, "replicated machines"); got != c.want || strings.HasPrefix(c.redundancy, "ec") && strings.Contains(text, "failure-domain=host") != c.want {
			t.Errorf("%s on %d machines:\n%s", c.redundancy, c.machines, text)
		}
	}
}

func TestRefusedMachines(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"osds": "2"}, "osds is 2, and the group of the service has 3 machines: each has at least one OSD"},
		{parameter.Settings{"network": "namespaces"}, "network namespaces is that of one machine, and the group of the service has 3: set network: host"},
		{parameter.Settings{"sites": "2"}, "sites: 2 are on one machine, and the group of the service has 3: set sites: 1"},
	} {
		s, err := Kind().New(c.settings)
		if err != nil {
			t.Fatal(err)
		}
		env := service.Env{Peers: make([]service.Peer, 2)}
		if _, err := s.Check(t.Context(), env); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.settings, err, c.want)
		}
	}
}
