// Package trend follows a study over months: it makes series of its finished runs, one for each study and testbed, and finds where they
// change. A point of a series is a run, never a trial.
package trend

import (
	"time"

	"plimsoll/internal/finding"
	"plimsoll/internal/measure"
)

// Format is the version of a trend in JSON, raised with every incompatible change.
const Format = 1

// Trend is a study over time.
type Trend struct {
	Format  int       `json:"format"`
	Study   string    `json:"study"`
	Series  []Series  `json:"series"` // by their first run
	LeftOut []LeftOut `json:"leftOut,omitempty"`

	Judged   int     `json:"judged"`   // lines of all series that are long enough for a change
	ByChance float64 `json:"byChance"` // provisional changes that are expected at most where nothing changed
}

// LeftOut is a results folder of the study whose run is no point.
type LeftOut struct {
	Folder string `json:"folder"`
	Reason string `json:"reason"`
}

// Series are the runs that can be compared: of the same study on the same testbed.
type Series struct {
	ID      string       `json:"id"`                // digest of Facts
	Facts   []Fact       `json:"facts"`             // of the study and of the testbed that make the series
	Differs []Difference `json:"differs,omitempty"` // Facts from those of the series before
	Runs    []Run        `json:"runs"`              // by time
	Lines   []Line       `json:"lines"`
}

// Fact is a setting of a study, or a property of a testbed.
type Fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Difference is a fact that differs; an end that lacks it is empty.
type Difference struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

// Run is a finished run.
type Run struct {
	Folder  string    `json:"folder"`
	Started time.Time `json:"started"`
	Version string    `json:"version"` // of plimsoll

	facts  []Fact               // all that is known of the testbed
	values map[string][]reading // by metric
}

// Line is a metric of an arm over the runs of a series, or its ratio to the baseline of the same run.
type Line struct {
	Metric  measure.Metric `json:"metric"`
	Arm     string         `json:"arm"`
	Against string         `json:"against,omitempty"` // the baseline, if the line is a ratio: drift of the machine that both arms share cancels out
	Margin  float64        `json:"margin"`            // smallest change of interest, as a share

	Points  []Point  `json:"points"`
	Changes []Change `json:"changes"`
	Least   int      `json:"least"` // points below which no change can be seen

	Level  float64 `json:"level"`  // geometric mean of the points since the last change
	Low    float64 `json:"low"`    // its 95 % interval; equal to Level with one point
	High   float64 `json:"high"`   //
	Spread float64 `json:"spread"` // standard deviation from run to run between changes, as a share

	Alarms          int     `json:"alarms"` // raised since the first run, withdrawn ones included
	Autocorrelation float64 `json:"autocorrelation"`
	Dependent       bool    `json:"dependent,omitempty"` // consecutive runs resemble each other: changes are found too often
}

// Point is a run: the geometric mean of its blocks, with its 95 % interval.
type Point struct {
	Run    int     `json:"run"` // index into Runs
	Blocks int     `json:"blocks"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"` // equal to Value with one block
	High   float64 `json:"high"`
}

// Change is where a line changes.
type Change struct {
	Run     int             `json:"run"`    // first run after the change, index into Runs
	Before  int             `json:"before"` // last run before it
	Started time.Time       `json:"started"`
	Found   time.Time       `json:"found"` // start of the run with which it was found
	State   State           `json:"state"`
	More    int             `json:"more,omitempty"` // runs until a provisional change is frozen, if it is found after each
	Ratio   float64         `json:"ratio"`          // of the level after it to the level before
	Low     float64         `json:"low"`            // 95 % interval, from the spread between runs
	High    float64         `json:"high"`
	P       float64         `json:"p"`
	Verdict finding.Verdict `json:"verdict"`         // by the better direction of the metric
	Along   []Difference    `json:"along,omitempty"` // what else differs between the two runs
}

// State is how final a change is.
type State string

// The states of a change.
const (
	Provisional State = "provisional" // later runs may move or withdraw it
	Frozen      State = "frozen"
)

// Latest is the series of the latest run; nil without runs.
func (t *Trend) Latest() *Series {
	var latest *Series
	for i := range t.Series {
		s := &t.Series[i]
		if latest == nil || last(s).After(last(latest)) {
			latest = s
		}
	}
	return latest
}

func last(s *Series) time.Time { return s.Runs[len(s.Runs)-1].Started }

// Runs is the number of runs in all series.
func (t *Trend) Runs() int {
	n := 0
	for i := range t.Series {
		n += len(t.Series[i].Runs)
	}
	return n
}

// Standing is the provisional change of a line; nil for none.
func (l *Line) Standing() *Change {
	if n := len(l.Changes); n > 0 && l.Changes[n-1].State == Provisional {
		return &l.Changes[n-1]
	}
	return nil
}

// Few reports whether a line has too few points for a change to be seen.
func (l *Line) Few() bool { return len(l.Points) < l.Least }
