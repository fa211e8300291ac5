package file

import (
	"slices"
	"strings"
	"testing"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

const tileStudy = `study: tile
question: How many?
platform: local
groups:
  site: {workload: {web: {connections: 4}}, limits: {p95: 20ms}, reference: 43/s}
  other: {workload: {web: {connections: 2}}, service: {apache: {}}, limits: {p90: 1s, errors: 0/s}}
  disk: {workload: {storage: {depth: 1}}, reference: 100/s}
load: {growth: {unit: tile, within: groups, to: 8}}
headline: [tiles, score.applications]
`

func TestTile(t *testing.T) {
	s, err := Parse("t.yaml", []byte(tileStudy), testCatalog(), []string{"groups.site.reference=40/s", "load.growth.from=2"})
	if err != nil {
		t.Fatal(err)
	}
	if !s.Tiled() || s.Service != nil || s.Workload.Kind != "web" || s.Tiles() != 2 || s.MostTiles() != 8 {
		t.Errorf("tiled %v, service %v, workload %s, %d to %d tiles", s.Tiled(), s.Service, s.Workload.Kind, s.Tiles(), s.MostTiles())
	}
	site, other, disk := s.Groups[0], s.Groups[1], s.Groups[2]
	if site.Service == nil || site.Service.Kind != "nginx" || other.Service == nil || other.Service.Kind != "apache" || disk.Service != nil {
		t.Errorf("services: %v, %v, %v", site.Service, other.Service, disk.Service)
	}
	if site.Reference != 40 || disk.Reference != 100 || len(site.Limits) != 1 || *site.Limits[0].Max != .02 || len(other.Limits) != 2 {
		t.Errorf("references %g and %g, limits %v and %v", site.Reference, disk.Reference, site.Limits, other.Limits)
	}
	alone := s.Alone(disk)
	if alone.Workload.Kind != "storage" || alone.Service != nil || alone.Groups != nil || s.Alone(site).Service.Kind != "nginx" {
		t.Errorf("alone: %+v", alone)
	}
	for _, g := range s.Most() {
		if g.Machines != 8 {
			t.Errorf("group %s has at most %d machines", g.Name, g.Machines)
		}
	}
	if sought, ok := s.Load.Sought(); !ok || sought.Name != "tiles" {
		t.Errorf("it looks for %v", sought)
	}
}

// A number of tiles without a search has the metrics of every group, with its name.
func TestTilesAtOnce(t *testing.T) {
	text := strings.Replace(tileStudy, "load: {growth: {unit: tile, within: groups, to: 8}}", "tiles: 3", 1)
	s, err := Parse("t.yaml", []byte(text), testCatalog(), []string{"headline=[score.applications, site.p95, disk.iops, tiles, kept]"})
	if err != nil {
		t.Fatal(err)
	}
	if s.Tiles() != 3 || s.MostTiles() != 3 || s.Groups[2].Machines != 3 {
		t.Errorf("%d tiles", s.Tiles())
	}
	names := namesOf(s.Results(testCatalog()), func(m measure.Metric) string { return m.Name })
	for _, want := range []string{"site.requests", "other.p99", "disk.write.iops", "fairness", "worst"} {
		if !slices.Contains(names, want) {
			t.Errorf("no metric %s in %v", want, names)
		}
	}
	if slices.Contains(names, "requests") {
		t.Error("the first group has metrics without its name")
	}
}

func TestTileRefuses(t *testing.T) {
	for _, c := range []struct{ from, to, want string }{
		{"reference: 43/s", "reference: 0/s", "groups.site.reference: must be above 0"},
		{"reference: 43/s", "reference: many", "reference"},
		{"limits: {p95: 20ms}", "limits: {p42: 20ms}", "does not measure"},
		{"limits: {p95: 20ms}", "machines: 2, limits: {p95: 20ms}", "groups.site.machines: a tile has one machine of each group"},
		{"platform: local", "platform: local\nservice: nginx", "each group of a tile has its own"},
		{"service: {apache: {}}", "service: {redis: {}}", "supports no protocol of the workload web; these do: nginx, apache"},
		{"service: {apache: {}}", "service: {apach: {}}", `did you mean "apache"?`},
		{"{workload: {storage: {depth: 1}}, reference: 100/s}", "{workload: storage}", "groups.disk: a group of a tile has limits, a reference or both"},
		{"{workload: {storage: {depth: 1}}, reference: 100/s}", "{reference: 100/s}", "each group of a tile has a workload"},
		{"within: groups", "within: sites", "write within: groups"},
		{"unit: tile", "unit: tiles", `did you mean "tile"?`},
		{"unit: tile", "unit: server", `unknown unit "server"; known: tile`},
		{"to: 8", "to: 1", "requires to greater than from"},
		{"to: 8", "to: none", `"none" is not a number of tiles`},
		{"headline: [tiles, score.applications]", "headline: [site.p95]", "does not measure"},
	} {
		if !strings.Contains(tileStudy, c.from) {
			t.Fatalf("no %q in the study", c.from)
		}
		_, err := Parse("t.yaml", []byte(strings.Replace(tileStudy, c.from, c.to, 1)), testCatalog(), nil)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.to, err, c.want)
		}
	}
	without := strings.NewReplacer("limits: {p95: 20ms}, ", "", ", limits: {p90: 1s, errors: 0/s}", ", reference: 1/s").Replace(tileStudy)
	if _, err := Parse("t.yaml", []byte(without), testCatalog(), nil); err == nil || !strings.Contains(err.Error(), "without end") {
		t.Errorf("no limits: %v", err)
	}
	servers := `study: s
question: q?
platform: local
workload: web
service: nginx
load: {growth: {unit: tile, within: groups, to: 8}}
`
	if _, err := Parse("s.yaml", []byte(servers), testCatalog(), nil); err == nil || !strings.Contains(err.Error(), "it requires groups with limits or a reference") {
		t.Errorf("no groups: %v", err)
	}
}

// Settings of the load and of the service of a group are canonical, as elsewhere.
func TestSettingsOfTiles(t *testing.T) {
	s, err := Parse("t.yaml", []byte(strings.Replace(tileStudy, "workload: {web: {connections: 4}}", "workload: {web: {connections: 4}}, service: {nginx: {workers: 2}}", 1)), testCatalog(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Groups[0].Service.Settings; len(got) != 1 || got["workers"] != "2" {
		t.Errorf("got %v", parameter.Settings(got))
	}
	_, err = Parse("t.yaml", []byte(strings.Replace(tileStudy, "workload: {web: {connections: 4}}", "workload: {web: {connections: 4}}, service: {nginx: {workers: 9}}", 1)), testCatalog(), nil)
	if err == nil || !strings.Contains(err.Error(), "9 workers have nothing to do with 4 pages") {
		t.Errorf("impossible settings: %v", err)
	}
}
