package serve

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"plimsoll/internal/events"
)

// board is a dashboard for Grafana, as far as these tests look at it.
type board struct {
	UID           string
	SchemaVersion int
	ID            any
	Panels        []panel
	Templating    struct{ List []variable }
}

type panel struct {
	ID         int
	Title      string
	Datasource source
	GridPos    struct{ X, Y, W, H int }
	Targets    []struct {
		RefID      string
		Datasource source
		Expr       string
	}
}

type source struct{ Type, UID string }

type variable struct {
	Type, Name, Definition string
	Multi                  bool
	Datasource             source
	Query                  any
}

// dashboards reads the dashboards that we ship, as text.
func dashboards(t *testing.T) map[string][]byte {
	t.Helper()
	names, err := filepath.Glob("../../packaging/grafana/*.json")
	if err != nil || len(names) != 2 {
		t.Fatalf("dashboards %q, %v", names, err)
	}
	all := map[string][]byte{}
	for _, name := range names {
		if all[filepath.Base(name)], err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func (b *board) read(t *testing.T, text []byte) {
	t.Helper()
	if err := json.Unmarshal(text, b); err != nil {
		t.Fatal(err)
	}
}

// conforms reports what Grafana's schema of dashboards, panels and queries says against a dashboard: unknown and missing fields, and wrong values.
func conforms(text []byte) error {
	cog.NewRuntime().RegisterDataqueryVariant(prometheus.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(timeseries.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(table.VariantConfig())
	cog.NewRuntime().RegisterPanelcfgVariant(stat.VariantConfig())
	//lint:ignore SA1019 version 2 of the schema is that of Grafana 13 alone; the classic one is imported by 12 and 13
	var d dashboard.Dashboard
	err, mistakes := d.UnmarshalJSONStrict(text), cog.BuildErrors{}
	if errors.As(err, &mistakes) && len(mistakes) == 0 { // an empty list of mistakes is none
		err = nil
	}
	return errors.Join(err, d.Validate())
}

func TestDashboardsFollowTheSchemaOfGrafana(t *testing.T) {
	for name, text := range dashboards(t) {
		if err := conforms(text); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, change := range [][2]string{ // the schema refuses something
			{`"schemaVersion": 42`, `"schemaVersion": "x"`}, {`"panels": [`, `"panelz": [`}, {`"gridPos": {`, `"gridPoz": {`}, {`"refId": "A"`, `"refIdd": "A"`},
			{`"showLegend": true`, `"showLegend": 7`}, {`"cellHeight": "sm"`, `"cellHeigth": "sm"`},
		} {
			if changed := strings.Replace(string(text), change[0], change[1], 1); changed != string(text) && conforms([]byte(changed)) == nil {
				t.Errorf("%s: %s in place of %s is accepted", name, change[1], change[0])
			}
		}
	}
}

// A dashboard can be imported anywhere: it names no data source of its own, and its panels have room.
func TestDashboardsCanBeImported(t *testing.T) {
	const current = 42 // the version of the schema of the classic model, from Grafana 12 on
	ours := source{"prometheus", "${datasource}"}
	for name, text := range dashboards(t) {
		var b board
		b.read(t, text)
		if b.ID != nil || b.UID != strings.TrimSuffix(name, ".json") || b.SchemaVersion != current {
			t.Errorf("%s: id %v, uid %q, version %d of the schema", name, b.ID, b.UID, b.SchemaVersion)
		}
		if first := b.Templating.List[0]; first.Type != "datasource" || first.Name != "datasource" || first.Query != "prometheus" {
			t.Errorf("%s: the first variable is %+v", name, first)
		}
		for _, v := range b.Templating.List[1:] {
			if v.Datasource != ours || v.Query.(map[string]any)["query"] != v.Definition {
				t.Errorf("%s: variable %+v", name, v)
			}
		}
		for i, p := range b.Panels {
			if p.ID != i+1 || p.Title == "" || p.Datasource != ours || len(p.Targets) == 0 || p.GridPos.W < 1 || p.GridPos.H < 1 || p.GridPos.X+p.GridPos.W > 24 {
				t.Errorf("%s: panel %+v", name, p)
			}
			for _, q := range p.Targets {
				if q.Datasource != ours {
					t.Errorf("%s: %s: query %+v", name, p.Title, q)
				}
			}
			for _, o := range b.Panels[:i] {
				if g, h := p.GridPos, o.GridPos; g.X < h.X+h.W && h.X < g.X+g.W && g.Y < h.Y+h.H && h.Y < g.Y+g.H {
					t.Errorf("%s: %s covers %s", name, p.Title, o.Title)
				}
			}
		}
	}
}

// queries are the queries of a dashboard, those of its variables included.
func (b *board) queries() (all []string) {
	for _, v := range b.Templating.List[1:] {
		all = append(all, v.Definition)
	}
	for _, p := range b.Panels {
		for _, q := range p.Targets {
			all = append(all, q.Expr)
		}
	}
	return all
}

var (
	metricNames = regexp.MustCompile(`plimsoll_\w+`)
	selectors   = regexp.MustCompile(`(plimsoll_\w+)(?:\{([^}]*)\})?`)
	matchers    = regexp.MustCompile(`(\w+)(?:=~|!~|!=|=)"`)
	groups      = regexp.MustCompile(`\b(?:by|on|without|ignoring) \(([^)]*)\)`)
	valuesOf    = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)
	strung      = regexp.MustCompile(`"[^"]*"`)
	used        = regexp.MustCompile(`\$\{?(\w+)`)
)

// exposed are the metrics of a text in the format of Prometheus, with their labels.
func exposed(text string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	for line := range strings.Lines(text) {
		m := selectors.FindStringSubmatch(line)
		if m == nil || strings.HasPrefix(line, "#") {
			continue
		}
		if all[m[1]] == nil {
			all[m[1]] = map[string]bool{}
		}
		for _, l := range matchers.FindAllStringSubmatch(m[2], -1) {
			all[m[1]][l[1]] = true
		}
	}
	return all
}

// strangers lists what a query asks for and nothing exposes: metrics, and labels of them.
func strangers(query string, metrics map[string]map[string]bool) (all []string) {
	labels := map[string]bool{}
	for _, m := range selectors.FindAllStringSubmatch(query, -1) {
		if metrics[m[1]] == nil {
			all = append(all, m[1])
			continue
		}
		maps.Copy(labels, metrics[m[1]])
		for _, l := range matchers.FindAllStringSubmatch(m[2], -1) {
			if !metrics[m[1]][l[1]] {
				all = append(all, m[1]+"{"+l[1]+"}")
			}
		}
	}
	var grouped []string
	if m := valuesOf.FindStringSubmatch(query); m != nil {
		grouped = append(grouped, m[2])
	}
	for _, g := range groups.FindAllStringSubmatch(query, -1) {
		grouped = append(grouped, strings.Split(g[1], ", ")...)
	}
	for _, l := range grouped {
		if !labels[l] {
			all = append(all, "label "+l)
		}
	}
	return all
}

// everything serves a run that goes on beside two that ended, so that each metric has a sample.
func everything(t *testing.T) *site {
	t.Helper()
	s := newSite(t, nil)
	dir := filepath.Join(s.folder, "held")
	t.Cleanup(held(t, dir, time.Now()))
	file := events.NewFile(dir, "test")
	line := `{"time":"` + time.Now().UTC().Format(time.RFC3339) + `","load":{"from":0,"to":1,"operations":900,"errors":1,"rate":900,"p50":0.001,"p99":0.01}}` + "\n"
	if err := file.Append([]byte(line)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close(true) })
	return s
}

// Each query asks for metrics and labels that /metrics has, and each metric is in a dashboard: one that is renamed fails here.
func TestDashboardsShowTheMetrics(t *testing.T) {
	body, _ := everything(t).get("/metrics", http.StatusOK)
	metrics, shown := exposed(body), map[string]bool{}
	if len(metrics) < 10 {
		t.Fatalf("metrics %v", metrics)
	}
	for name, text := range dashboards(t) {
		var b board
		b.read(t, text)
		var variables []string
		for _, v := range b.Templating.List {
			variables = append(variables, v.Name)
		}
		for _, q := range b.queries() {
			if all := strangers(q, metrics); len(all) > 0 {
				t.Errorf("%s: %s asks for %q", name, q, all)
			}
			for _, m := range metricNames.FindAllString(strung.ReplaceAllString(q, ""), -1) {
				shown[m] = true
			}
			for _, m := range used.FindAllStringSubmatch(q, -1) {
				if !slices.Contains(variables, m[1]) && m[1] != "__rate_interval" {
					t.Errorf("%s: %s has the variable %s, which is not defined", name, q, m[1])
				}
			}
		}
	}
	told, err := os.ReadFile("../../docs/serve.md")
	if err != nil {
		t.Fatal(err)
	}
	for m := range metrics {
		if !shown[m] {
			t.Errorf("no dashboard shows %s", m)
		}
		if !strings.Contains(string(told), "`"+m+"`") {
			t.Errorf("docs/serve.md does not have %s", m)
		}
	}
}

// What the comparison with the metrics finds.
func TestARenamedMetricIsFound(t *testing.T) {
	metrics := exposed("# HELP plimsoll_gone x\nplimsoll_a{run=\"1\",study=\"s\"} 1\nplimsoll_b 2\n")
	for query, want := range map[string]string{
		`plimsoll_a{run="$run"} and on (study) plimsoll_b`: "", `label_values(plimsoll_a{run="x"}, study)`: "",
		`plimsoll_gone`: "plimsoll_gone", `rate(plimsoll_aa{run=~"x"}[1m])`: "plimsoll_aa", `plimsoll_a{arm!="x"}`: "plimsoll_a{arm}", `plimsoll_b{run="x"}`: "plimsoll_b{run}",
		`sum by (run, arm) (plimsoll_a)`: "label arm", `label_values(plimsoll_a, x)`: "label x",
	} {
		if got := strings.Join(strangers(query, metrics), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
