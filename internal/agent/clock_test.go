package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
	"plimsoll/internal/platform"
	"plimsoll/internal/workload"
)

// A worker refuses to begin if its clock is stepped between the comparison and the start. At
// other times, a step has no effect.
func TestAClockThatIsSet(t *testing.T) {
	t.Parallel()
	const refused = "the clock of this machine was set by"
	for name, c := range map[string]struct {
		ahead []time.Duration // at the first reading, the second, and any later one
		want  string
	}{
		"right":                     {[]time.Duration{0, 0, 0}, ""},
		"an hour ahead":             {[]time.Duration{time.Hour, time.Hour, time.Hour}, ""},
		"set before, forwards":      {[]time.Duration{0, time.Hour, time.Hour}, refused + " +3600.0"},
		"set before, backwards":     {[]time.Duration{0, -time.Hour, -time.Hour}, refused + " -3600.0"},
		"set by little, forwards":   {[]time.Duration{0, 2 * time.Second, 2 * time.Second}, refused + " +2.0"},
		"set by little, backwards":  {[]time.Duration{0, -2 * time.Second, -2 * time.Second}, refused + " -2.0"},
		"set in the load, forwards": {[]time.Duration{0, 0, time.Hour}, ""},
		"set in the load, back":     {[]time.Duration{0, 0, -time.Hour}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			reads := 0
			var first reading
			w := &worker{clock: func() reading {
				r := systemClock()
				r.wall = r.wall.Add(c.ahead[min(reads, 2)])
				if reads++; reads == 1 {
					first = r
				}
				return r
			}}
			l := newListener(measure.NewRecorder(nil), nil, load.Stage{Length: time.Second, Interval: time.Second})
			in, told := io.Pipe()
			answered := make(chan error, 1)
			go func() {
				j := job("", 1)
				j.Together = true
				err := json.NewEncoder(told).Encode(j)
				<-l.ready
				answered <- errors.Join(err, json.NewEncoder(told).Encode(start{first.wall.Add(50 * time.Millisecond)}))
			}()
			if err := w.serve(t.Context(), in, l, []workload.Kind{counting()}, nil); err != nil {
				t.Fatal(err)
			}
			if err := <-answered; err != nil || l.err != nil || l.end == nil {
				t.Fatalf("%v, %v, end %v", err, l.err, l.end)
			}
			intervals, late := len(l.out.Intervals()), l.end.Values[Late]
			switch {
			case c.want == "" && (l.end.Error != "" || intervals != 1 || late < 0 || late > 5):
				t.Errorf("%q, %d intervals, %v s late", l.end.Error, intervals, late)
			case c.want != "" && (!strings.Contains(l.end.Error, c.want) || intervals != 0):
				t.Errorf("%q, %d intervals, want %q", l.end.Error, intervals, c.want)
			}
		})
	}
}

func inAMoment(context.Context) (time.Time, error) {
	return time.Now().Add(100 * time.Millisecond), nil
}

// A load whose start is too far in the future, because a clock was stepped or misread, is
// refused at once.
func TestAnInstantThatIsFarOff(t *testing.T) {
	m := machine(t)
	for _, by := range []time.Duration{time.Hour, -time.Hour, 200 * 365 * 24 * time.Hour} {
		out := measure.NewRecorder(nil)
		from := time.Now()
		place := Env{Machine: ahead{m, m.(platform.Carrier), by}, Begin: inAMoment}
		err := Run(t.Context(), place, job("", 1), out)
		if err == nil || !strings.Contains(err.Error(), "by the clock of this machine: the clock was stepped") || len(out.Intervals()) != 0 {
			t.Errorf("%v: %v, %d intervals", by, err, len(out.Intervals()))
		}
		if took := time.Since(from); took > 30*time.Second {
			t.Errorf("%v: it took %v", by, took)
		}
	}
}
