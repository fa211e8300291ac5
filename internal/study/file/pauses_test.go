package file

import (
	"strings"
	"testing"
)

// No load may run on a machine that a level pauses, because its clock stops then.
func TestPausesRefuseLoads(t *testing.T) {
	t.Parallel()
	const alone, groups = "study: s\nquestion: q?\nplatform: sim\n", "groups:\n  client: {workload: storage}\n  server: {service: apache}\n"
	for _, c := range []struct {
		study   string
		refused bool
	}{
		{alone + "workload: storage\nfactors: {sim.standby: [none, fast]}\n", true},
		{alone + "workload: storage\nfactors: {sim.standby: [none]}\n", false},
		{alone + "workload: storage\nmachines: 2\nfactors: {sim.standby: [none, fast]}\n", true},
		{alone + groups + "factors: {sim.standby: [none, fast]}\n", true},
		{alone + groups + "factors: {'sim.standby:client': [none, fast]}\n", true},
		{alone + groups + "factors: {'sim.standby:server': [none, fast]}\n", false},
		{"study: s\nquestion: q?\nplatform: {sim: {standby: fast}}\nworkload: storage\n", true},
		{"study: s\nquestion: q?\nplatform: {sim: {standby: none}}\nworkload: storage\n", false},
		{"study: s\nquestion: q?\nplatform: {sim: {standby: fast}}\n" + groups, true},
		{"study: s\nquestion: q?\nplatform: {sim: {standby: fast}}\ngroups:\n  client: {workload: storage, settings: {standby: none}}\n  server: {service: apache}\n", false},
		{alone + "groups:\n  client: {workload: storage, settings: {standby: fast}}\n  server: {service: apache}\n", true},
		{alone + "groups:\n  client: {workload: storage}\n  server: {service: apache, settings: {standby: fast}}\n", false},
	} {
		_, err := Parse("s.yaml", []byte(c.study), testCatalog(), nil)
		if got := err != nil && strings.Contains(err.Error(), "the clock of a machine stops"); got != c.refused {
			t.Errorf("%s\ngives %v", c.study, err)
		}
	}
}
