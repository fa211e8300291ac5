package ceph

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// Every placement group has half of its copies on each site, the first of them on the site of the clients.
func TestCRUSHMap(t *testing.T) {
	if _, err := exec.LookPath("crushtool"); err != nil {
		t.Skip("crushtool is not installed")
	}
	for _, osds := range []int{2, 4, 10} {
		s := Settings{OSDs: osds, Sites: 2}
		text, binary := filepath.Join(t.TempDir(), "crush.txt"), filepath.Join(t.TempDir(), "crush.map")
		if err := os.WriteFile(text, s.crushText(), 0o600); err != nil {
			t.Fatal(err)
		}
		run := func(argv ...string) []byte {
			t.Helper()
			out, err := exec.Command("crushtool", argv...).CombinedOutput()
			if err != nil {
				t.Fatalf("crushtool %q: %v: %s", argv, err, out)
			}
			return out
		}
		if said := run("-c", text, "-o", binary); len(said) > 0 {
			t.Errorf("%s", said)
		}
		for each := 1; each <= osds/2; each++ {
			mapped := regexp.MustCompile(`x \d+ \[([\d,]+)\]`).FindAllSubmatch(run("-i", binary, "--test", "--show-mappings", "--rule", strconv.Itoa(each), "--num-rep", strconv.Itoa(2*each), "--min-x", "0", "--max-x", "99"), -1)
			if len(mapped) != 100 {
				t.Fatalf("%d OSDs: %d of 100 groups are mapped", osds, len(mapped))
			}
			for _, m := range mapped {
				seen := map[string]bool{}
				all := strings.Split(string(m[1]), ",")
				for i, name := range all {
					n, _ := strconv.Atoi(name)
					if want := 1 + i/each; s.siteOf(n) != want || seen[name] {
						t.Fatalf("%d OSDs: %s: copy %d is on %s of site %d", osds, m[1], i, osd(n), s.siteOf(n))
					}
					seen[name] = true
				}
				if len(all) != 2*each {
					t.Fatalf("%d OSDs: %s: not %d copies", osds, m[1], 2*each)
				}
			}
		}
		var dump crushMap
		decoded := run("-i", binary, "--dump")
		if err := json.Unmarshal(decoded, &dump); err != nil {
			t.Fatal(err)
		}
		for rule, want := range map[string]int{ruleFor(2, 2): 2, defaultRule: 1, "another": 0} {
			if got := dump.sites(rule); got != want {
				t.Errorf("%d OSDs: rule %s places on %d sites, want %d", osds, rule, got, want)
			}
		}
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
