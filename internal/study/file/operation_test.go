package file

import (
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/study"
)

const operationsStudy = `study: operations
question: How many?
platform: farm
groups:
  site: {workload: {web: {connections: 4}}, service: nginx, limits: {p95: 20ms}, reference: 43/s}
  disk: {workload: {storage: {depth: 1}}, reference: 100/s}
operations:
  restart: {group: site, every: 3s, reference: 1200}
  migrate: {group: disk}
  deploy: {group: site, every: 30s}
load: {growth: {unit: tile, within: groups, to: 8}}
headline: [tiles, score, operations.deploy]
`

func TestOperations(t *testing.T) {
	c := testCatalog()
	c.Platforms = append(c.Platforms, platform.Kind{Name: "farm", Defaults: struct{}{}, Operations: []string{platform.Migrate, platform.Deploy}})
	s, err := Parse("o.yaml", []byte(operationsStudy), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Operations) != 3 || s.Operations[0] != (study.Operation{Kind: "restart", Group: "site", Every: 3 * time.Second, Reference: 1200}) {
		t.Errorf("operations %+v", s.Operations)
	}
	for i, want := range []string{"restart of a twin of group site, every 3s", "migrate of a twin of group disk, every 10s", "deploy of a machine like those of group site, every 30s"} {
		if got := s.Operations[i].String(); got != want {
			t.Errorf("it reads %q", got)
		}
	}
	var twins []string
	for _, g := range s.Groups {
		if g.Twin {
			twins = append(twins, g.Name)
		}
	}
	if strings.Join(twins, " ") != "twin twin-migrate" || s.Group("twin").Service.Kind != "nginx" || s.Group("twin-migrate").Service != nil {
		t.Errorf("twins %v in %+v", twins, s.Groups)
	}
	for _, bad := range []struct{ from, to, want string }{
		{"  deploy:", "  snapshot:", "operations.snapshot: platform farm has none; it has restart, migrate, deploy"},
		{"platform: farm", "platform: local", "operations.migrate: platform local has none; it has restart"},
		{"  deploy:", "  reboot:", "unknown operation"},
		{"{group: disk}", "{every: 3s}", "name the group whose machine has a twin for it"},
		{"{group: disk}", "{group: dusk}", `did you mean "disk"?`},
		{"restart: {group: site,", "restart: {group: disk,", `"disk" has no service to restart; these have one: site`},
		{"  disk:", "  twin-disk:", "groups.twin-disk: such names are those of machines for operations"},
		{"every: 30s", "every: 0s", "is not a time above 0"},
		{"reference: 1200", "reference: 0", "must be above 0"},
	} {
		if !strings.Contains(operationsStudy, bad.from) {
			t.Fatalf("no %q in the study", bad.from)
		}
		_, err := Parse("o.yaml", []byte(strings.Replace(operationsStudy, bad.from, bad.to, 1)), c, nil)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: got %v, want %q", bad.to, err, bad.want)
		}
	}
}
