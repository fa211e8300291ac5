package file

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/service"
)

// elasticStudy has a group whose servers come and go.
const elasticStudy = `study: elastic
question: How many?
platform: local
groups:
  portal: {workload: {web: {connections: 4}}, service: fleet, limits: {p95: 20ms}, elastic: {servers: [1, 2, 1], every: 2s}}
  other: {workload: {web: {connections: 2}}, service: {nginx: {}}, limits: {p90: 1s}}
load: {growth: {unit: tile, within: groups, to: 8}}
measure: {window: 6s}
headline: [tiles]
`

type fleetSettings struct {
	service.Placement
}

func TestElastic(t *testing.T) {
	c := testCatalog()
	c.Services = append(c.Services, service.Define(service.Kind{Name: "fleet", Doc: "Several.", Speaks: []string{"http"}}, fleetSettings{service.Alone()},
		func(fleetSettings) (service.Service, error) { return service.Private{Shares: true}, nil }))
	s, err := Parse("e.yaml", []byte(elasticStudy), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Groups[0]
	if g.Elastic == nil || !slices.Equal(g.Elastic.Servers, []int{1, 2, 1}) || g.Elastic.Every != 2*time.Second || g.Elastic.Cycle() != 6*time.Second || g.Elastic.At(4) != 2 {
		t.Errorf("the schedule is %+v", g.Elastic)
	}
	if g.Service.Settings["instances"] != "2" || g.Service.Settings["network"] != "shared" {
		t.Errorf("the service is %+v", g.Service)
	}
	if got := g.Elastic.String(); got != "1, 2, 1 servers in turn, each for 2s" {
		t.Errorf("it reads %q", got)
	}
	for _, bad := range []struct{ from, to, want string }{
		{"every: 2s", "every: 3s", "a window of 6s does not hold all numbers of servers, which take 9s"},
		{"every: 2s", "every: 0s", "is not a time above 0"},
		{"every: 2s", "every: soon", "is not a time above 0"},
		{"every: 2s", "each: 2s", `unknown key "each"`},
		{"servers: [1, 2, 1]", "servers: [1, 1]", "requires two different numbers"},
		{"servers: [1, 2, 1]", "servers: [0, 1]", `"0" is not a number of servers from 1 to 64`},
		{"servers: [1, 2, 1]", "servers: [1, many]", `"many" is not a number of servers`},
		{"servers: [1, 2, 1], ", "", "requires servers and every"},
		{"service: fleet", "service: nginx", "the service nginx has one server only"},
		{"service: fleet", "service: {fleet: {instances: 3}}", "sets instances of the service itself"},
		{"{web: {connections: 4}}, service: fleet, limits: {p95: 20ms}", "storage, reference: 3/s", "the group has no service"},
	} {
		if !strings.Contains(elasticStudy, bad.from) {
			t.Fatalf("no %q in the study", bad.from)
		}
		_, err := Parse("e.yaml", []byte(strings.Replace(elasticStudy, bad.from, bad.to, 1)), c, nil)
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: got %v, want %q", bad.to, err, bad.want)
		}
	}
}
