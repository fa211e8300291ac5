package serve

import (
	"net/http"
	"slices"
	"time"

	"plimsoll/internal/collect"
	"plimsoll/internal/history"
	"plimsoll/internal/report"
)

// mostBeds is how many testbeds a page lists.
const mostBeds = 100

// testbed is a testbed, with the runs on it.
type testbed struct {
	ID      string            `json:"id"` // digest of the facts that decide its speed
	Machine string            `json:"machine"`
	Runs    int               `json:"runs"`
	Studies []string          `json:"studies"`
	First   time.Time         `json:"first"`
	Last    time.Time         `json:"last"`
	Latest  string            `json:"latest"` // ID of the latest run
	Facts   map[string]string `json:"facts"`  // as of the latest run

	Lines collect.TestbedRecord `json:"-"`
	When  string                `json:"-"`
	Count string                `json:"-"`
}

func (s *Server) testbeds(r *http.Request) (answer, error) {
	runs, err := s.list(r.Context())
	if err != nil {
		return answer{}, err
	}
	slices.SortStableFunc(runs, func(a, b history.Run) int { return b.Started.Compare(a.Started) })
	all := []*testbed{}
	latest := map[string]history.Run{}
	for i := range runs {
		run := &runs[i]
		if run.Testbed == "" {
			continue
		}
		at := slices.IndexFunc(all, func(b *testbed) bool { return b.ID == run.Testbed })
		if at < 0 {
			if len(all) == mostBeds {
				continue
			}
			at = len(all)
			all = append(all, &testbed{ID: run.Testbed, Machine: run.Machine, Last: run.Started, Latest: run.ID})
			latest[run.Testbed] = *run
		}
		b := all[at]
		b.Runs, b.First = b.Runs+1, run.Started
		if !slices.Contains(b.Studies, run.Study) && len(b.Studies) < mostChoices {
			b.Studies = append(b.Studies, run.Study)
		}
	}
	for _, b := range all {
		b.Facts, b.When, b.Count = map[string]string{}, moment(b.First)+" to "+moment(b.Last), report.Plural(b.Runs, "run", "runs")
		b.Lines, err = history.Testbed(latest[b.ID].Folder)
		if err != nil {
			continue // it is gone
		}
		for _, f := range b.Lines {
			b.Facts[f.Name] = f.Value
		}
	}
	return answer{title: "Testbeds", badge: report.Plural(len(all), "testbed", "testbeds"), template: "testbeds", content: all, dated: true, json: map[string]any{"testbeds": all}}, nil
}
