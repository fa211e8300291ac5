package ceph

import (
	"slices"
	"testing"

	"plimsoll/internal/parameter"
)

func TestSitesOfOSDs(t *testing.T) {
	s := Settings{OSDs: 6, Sites: 2}
	for n, want := range []int{1, 1, 1, 2, 2, 2} {
		if got := s.siteOf(n); got != want {
			t.Errorf("%s is on site %d", osd(n), got)
		}
	}
	if s.Sites = 1; s.siteOf(5) != 1 {
		t.Error("one site has two")
	}
}

func TestRefusedSites(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     string
	}{
		{parameter.Settings{"sites": "3"}, `sites: "3" is not at most 2`},
		{parameter.Settings{"sites": "2", "osds": "5"}, "sites: 2 requires an even number of OSDs, and osds is 5"},
		{parameter.Settings{"sites": "2", "redundancy": "ec:2+1"}, "redundancy ec:2+1 on two sites: no site could read without chunks of the other: take replica:2 or replica:4"},
		{parameter.Settings{"sites": "2", "redundancy": "replica:3"}, "redundancy replica:3 on two sites: each holds as many copies as the other: take replica:2 or replica:4"},
		{parameter.Settings{"site_latency": "5ms", "network": "namespaces"}, "site_latency is that between two sites: set sites: 2"},
		{parameter.Settings{"site_latency": "5ms", "sites": "2"}, "site_latency is that of a network between namespaces: set network: namespaces"},
		{parameter.Settings{"network_latency": "5ms"}, "network_latency is that of a network between namespaces: set network: namespaces"},
		{parameter.Settings{"network_rate": "1MiB"}, "network_rate is that of a network between namespaces: set network: namespaces"},
		{parameter.Settings{"network_latency": "2s", "network": "namespaces"}, `network_latency: "2s" is not at most 1s`},
		{parameter.Settings{"network": "namespace"}, `network: "namespace" is not one of host, namespaces`},
	} {
		if _, err := Kind().New(c.settings); err == nil || err.Error() != c.want {
			t.Errorf("%v: got %v, want %s", c.settings, err, c.want)
		}
	}
	for _, good := range []parameter.Settings{{"sites": "2"}, {"sites": "2", "redundancy": "replica:4"}, {"sites": "2", "osds": "2", "network": "namespaces", "site_latency": "1ms"}} {
		if _, err := Kind().New(good); err != nil {
			t.Errorf("%v: %v", good, err)
		}
	}
}

// The pools of a cluster on two sites place their copies by a rule for these.
func TestPoolsOfSites(t *testing.T) {
	for _, c := range []struct {
		settings parameter.Settings
		want     []string
	}{
		{nil, []string{"osd pool create plimsoll-r2 32 32 replicated replicated_rule", "osd pool set plimsoll-r2 min_size 1"}},
		{parameter.Settings{"sites": "2"}, []string{"osd pool create plimsoll-r2 32 32 replicated sites-2", "osd pool set plimsoll-r2 min_size 1"}},
		{parameter.Settings{"sites": "2", "redundancy": "replica:4"}, []string{"osd pool create plimsoll-r4 32 32 replicated sites-4", "osd pool set plimsoll-r4 min_size 2"}},
		{parameter.Settings{"redundancy": "ec:2+1"}, []string{"osd pool create plimsoll-ec2-1 8 8 replicated replicated_rule"}},
	} {
		got := policyOf(t, c.settings).commands()
		for _, command := range c.want {
			if !slices.Contains(got, command) {
				t.Errorf("%v: no command %q in %q", c.settings, command, got)
			}
		}
	}
}
