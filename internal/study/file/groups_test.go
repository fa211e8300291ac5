package file

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

const neighbours = `study: neighbours
question: How much does a neighbour cost?
platform: sim
groups:
  quiet: {machines: 2, workload: {storage: {depth: 1}}}
  noisy: {workload: {storage: {engine: libaio, depth: 32}}}
factors:
  noisy.storage.depth: [32, 64]
  quiet.storage.threads: [1, 2]
  machines:noisy: [1, 4]
headline: [iops, noisy.iops, fairness]
`

func TestGroups(t *testing.T) {
	s, err := Parse("n.yaml", []byte(neighbours), testCatalog(), []string{"noisy.storage.block=8KiB", "groups.quiet.machines=3", "storage.block=16KiB"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Workload.Kind != "storage" || s.Workload.Settings["block"] != "16KiB" {
		t.Errorf("the workload of the study is %v", s.Workload)
	}
	levels := map[string]string{"noisy.storage.depth": "64", "storage.threads": "2", "machines:noisy": "4"}
	crew := s.ArmGroups(levels)
	if n := []int{crew[0].Machines, crew[1].Machines}; !slices.Equal(n, []int{3, 4}) || !crew[0].Subject || crew[1].Subject {
		t.Errorf("the crew is %+v", crew)
	}
	if got := crew[1].Workload.Settings; got["depth"] != "64" || got["block"] != "8KiB" {
		t.Errorf("the neighbour drives %v", got)
	}
	if got := s.Settings(levels); got["threads"] != "2" || got["depth"] != "1" {
		t.Errorf("the subject drives %v", got)
	}
	if most := s.Most(); most[0].Machines != 3 || most[1].Machines != 4 {
		t.Errorf("the largest crew is %+v", most)
	}
	if s.Groups[1].Workload.Settings["depth"] != "32" || s.Groups[1].Machines != 1 {
		t.Errorf("an arm changed the study: %+v", s.Groups[1])
	}
}

func TestMachines(t *testing.T) {
	text := strings.Replace(neighbours[:strings.Index(neighbours, "groups:")], "platform: sim", "platform: sim\nworkload: storage\nfactors: {machines: [1, 2, 8]}", 1)
	s, err := Parse("n.yaml", []byte(text), testCatalog(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if crew := s.ArmGroups(map[string]string{"machines": "8"}); len(crew) != 1 || crew[0].Machines != 8 || !crew[0].Subject {
		t.Errorf("the crew is %+v", crew)
	}
	if !s.Factors[0].Restart {
		t.Error("another number of machines makes no whole plots")
	}
}

func TestGroupsRefuse(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"question:", "workload: storage\nquestion:", "workload cannot be set beside groups"},
		{"question:", "machines: 2\nquestion:", "machines and groups are mutually exclusive"},
		{"machines: 2,", "machines: none,", `"none" is not a number of machines`},
		{"machines: 2,", "machines: 0,", `"0" is not a number of machines`},
		{"machines: 2,", "machins: 2,", `did you mean "machines"?`},
		{"machines:noisy: [1, 4]", "machines:nosy: [1, 4]", `did you mean "noisy"?`},
		{"machines:noisy: [1, 4]", "machines:noisy: [1, many]", `"many" is not a number of machines`},
		{"noisy.storage.depth: [32, 64]", "noisy.storage.dept: [32, 64]", `did you mean "storage.depth"?`},
		{"  noisy:", "  storage:", `invalid name "storage"`},
		{"depth: 32", "depth: 16", "in the groups: keep one of them"},
		{"noisy.iops", "nosy.iops", `did you mean "noisy.iops"?`},
		{"workload: {storage: {depth: 1}}", "machines: 1", "duplicate key"},
	} {
		if !strings.Contains(neighbours, c.from) {
			t.Fatalf("%q is not in the study", c.from)
		}
		_, err := Parse("n.yaml", []byte(strings.Replace(neighbours, c.from, c.to, 1)), testCatalog(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q in place of %q: %v, want %q", c.to, c.from, err, c.want)
		}
	}
}

// Groups with the workload of the subject have metrics of all of them together.
func TestCombinedMetrics(t *testing.T) {
	headline := "headline: [iops, noisy.iops, fairness]"
	for text, want := range map[string]string{
		strings.Replace(neighbours, headline, "headline: [all.iops, all.read.p99]", 1): "",
		strings.Replace(neighbours, "  noisy:", "  all:", 1):                           `invalid name "all"`,
		strings.Replace(strings.Replace(neighbours, "  noisy.storage.depth: [32, 64]\n", "", 1), "{storage: {engine: libaio, depth: 32}}}\n", "{null: {}}}\n", 1) + "goal: {most: all.iops}\n": "the workload does not measure",
	} {
		text = strings.Replace(text, headline, "headline: [iops]", 1)
		_, err := Parse("n.yaml", []byte(text), testCatalog(), nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// A service that the platform runs on its host stands beside groups, under any workload without a service of its own.
func TestHostedServices(t *testing.T) {
	c := testCatalog()
	c.Platforms = append(c.Platforms, platform.Kind{Name: "farm", Defaults: struct{}{}, Hosts: "redis"})
	grouped := strings.Replace(neighbours, "platform: sim", "platform: farm\nservice: redis", 1)
	for text, want := range map[string]string{
		grouped: "",
		"study: a\nquestion: b?\nplatform: farm\nservice: redis\nworkload: storage\n":                                   "",
		"study: a\nquestion: b?\nplatform: local\nservice: redis\nworkload: storage\n":                                  "the workload storage uses no service",
		"study: a\nquestion: b?\nplatform: farm\nservice: redis\nworkload: web\n":                                       "the workload web needs a service (nginx, apache), and a study has one: redis holds the disks of the machines",
		strings.Replace(grouped, "noisy: {", "noisy: {service: redis, ", 1):                                             "a study has one service, and it is given already",
		strings.Replace(strings.Replace(grouped, "\nservice: redis", "", 1), "noisy: {", "noisy: {service: redis, ", 1): "platform farm runs redis on its host, not on a machine of a group: move it beside groups",
	} {
		s, err := Parse("n.yaml", []byte(text), c, nil)
		if want == "" && (err != nil || !s.Hosted) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q, of\n%s", err, want, text)
		}
	}
}
