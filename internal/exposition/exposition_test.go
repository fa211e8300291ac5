package exposition

import (
	"bytes"
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"
)

func example() []Family {
	trials := Family{Name: "plimsoll_trials", Type: Counter, Help: "Trials that \"ended\",\nby \\ state."}
	trials.Add(3, "state", "valid")
	trials.Add(0, "state", "a \"b\"\\\n\xff")
	run := Family{Name: "plimsoll_run", Type: Info, Help: "A run."}
	run.Add(1, "run", "x", "study", "y")
	start := Family{Name: "start_seconds", Unit: "seconds", Type: Gauge, Help: "Start."}
	start.Add(1.5e9)
	start.Add(math.Inf(-1), "run", "z")
	start.Add(math.NaN(), "run", "n")
	start.Samples = append(start.Samples, Sample{[]string{"run", "t"}, 2, time.UnixMilli(1767323045001)})
	return []Family{trials, run, start, {Name: "none", Type: Gauge}}
}

func TestWrite(t *testing.T) {
	for open, want := range map[bool]string{
		false: `# TYPE plimsoll_trials_total counter
# HELP plimsoll_trials_total Trials that "ended",\nby \\ state.
plimsoll_trials_total{state="valid"} 3
plimsoll_trials_total{state="a \"b\"\\\n` + "�" + `"} 0
# TYPE plimsoll_run_info gauge
# HELP plimsoll_run_info A run.
plimsoll_run_info{run="x",study="y"} 1
# TYPE start_seconds gauge
# HELP start_seconds Start.
start_seconds 1.5e+09
start_seconds{run="z"} -Inf
start_seconds{run="n"} NaN
start_seconds{run="t"} 2 1767323045001
`,
		true: `# TYPE plimsoll_trials counter
# HELP plimsoll_trials Trials that \"ended\",\nby \\ state.
plimsoll_trials_total{state="valid"} 3
plimsoll_trials_total{state="a \"b\"\\\n` + "�" + `"} 0
# TYPE plimsoll_run info
# HELP plimsoll_run A run.
plimsoll_run_info{run="x",study="y"} 1
# TYPE start_seconds gauge
# UNIT start_seconds seconds
# HELP start_seconds Start.
start_seconds 1.5e+09
start_seconds{run="z"} -Inf
start_seconds{run="n"} NaN
start_seconds{run="t"} 2 1767323045.001
# EOF
`,
	} {
		var out bytes.Buffer
		if err := Write(&out, example(), open); err != nil || out.String() != want {
			t.Errorf("OpenMetrics %v: %v\n%s\nwant\n%s", open, err, out.String(), want)
		}
	}
}

// line is a line of either format, by the grammar of OpenMetrics 1.0.
var line = regexp.MustCompile(`^(# (HELP|TYPE|UNIT) [a-zA-Z_:][a-zA-Z0-9_:]* [^\n]*|# EOF|[a-zA-Z_:][a-zA-Z0-9_:]*(\{[a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*"(,[a-zA-Z_][a-zA-Z0-9_]*="([^"\\\n]|\\["\\n])*")*\})? ([+-]?[0-9.]+(e[+-][0-9]+)?|NaN|[+-]Inf))$`)

// FuzzWrite: whatever a label holds, it stays one.
func FuzzWrite(f *testing.F) {
	f.Add("x", 1.0)
	f.Add("a\"} 1\nother{x=\"", math.Copysign(0, -1))
	f.Add("\\", math.Inf(1))
	f.Add("\xff\x00\r\u2028", 1e-300)
	f.Fuzz(func(t *testing.T, text string, value float64) {
		one := Family{Name: "m", Type: Counter, Help: text}
		one.Add(value, "a", text, "b", text)
		for _, open := range []bool{false, true} {
			var out bytes.Buffer
			if err := Write(&out, []Family{one}, open); err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			want := 3
			if open {
				want++ // the end
			}
			if len(lines) != want {
				t.Errorf("%d lines, want %d: %q", len(lines), want, out.String())
			}
			for _, l := range lines {
				if !line.MatchString(l) {
					t.Errorf("%q", l)
				}
			}
		}
	})
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("full") }

func TestWriteFails(t *testing.T) {
	if err := Write(full{}, example(), false); err == nil {
		t.Error("it was written")
	}
}
