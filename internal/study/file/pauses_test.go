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
		{alone + "workload: storage\nfactors: {host.standby: [none, fast]}\n", true},
		{alone + "workload: storage\nfactors: {host.standby: [none]}\n", false},
		{alone + "workload: storage\nmachines: 2\nfactors: {host.standby: [none, fast]}\n", true},
		{alone + groups + "factors: {host.standby: [none, fast]}\n", true},
		{alone + groups + "factors: {'host.standby:client': [none, fast]}\n", true},
		{alone + groups + "factors: {'host.standby:server': [none, fast]}\n", false},
	} {
		_, err := Parse("s.yaml", []byte(c.study), testCatalog(), nil)
		if got := err != nil && strings.Contains(err.Error(), "the clock of a machine stops"); got != c.refused {
			t.Errorf("%s\ngives %v", c.study, err)
		}
	}
}
