package file

import (
	"strings"
	"testing"
)

// Machines of such a load would remove each other's VMs.
func TestALoadOfTheLabIsOfOneMachine(t *testing.T) {
	t.Parallel()
	const head, server = "study: s\nquestion: q?\nplatform: sim\n", "  server: {service: apache}\n"
	for _, c := range []struct {
		study   string
		refused bool
	}{
		{head + "workload: storage\n", false},
		{head + "workload: storage\nmachines: 2\n", true},
		{head + "workload: 'null'\nmachines: 2\n", false},
		{head + "groups:\n  client: {workload: storage}\n" + server, false},
		{head + "groups:\n  client: {workload: storage, machines: 2}\n" + server, true},
		{head + "groups:\n  client: {workload: 'null', machines: 2}\n" + server, false},
		{head + "groups:\n  client: {workload: 'null', subject: true}\n  other: {workload: storage, machines: 3}\n" + server, true},
		{head + "groups:\n  client: {workload: storage}\n" + server + "factors: {'machines:client': [1, 2]}\n", true},
	} {
		catalog := testCatalog()
		catalog.Workload("storage").Lab = true
		_, err := Parse("s.yaml", []byte(c.study), catalog, nil)
		if got := err != nil && strings.Contains(err.Error(), "workload storage runs on one machine"); got != c.refused {
			t.Errorf("%s\ngives %v", c.study, err)
		}
	}
}
