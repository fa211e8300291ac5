package agent

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/measure"
)

// bomb is intervals whose histograms take little on the wire and much in memory.
func bomb(t *testing.T, intervals, classes int) string {
	t.Helper()
	h := measure.NewHistogram()
	for d := time.Nanosecond; d < time.Hour; d += max(1, d>>11) {
		h.Record(d, 1)
	}
	packed, err := h.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var samples, latency []string
	for i := range classes {
		samples = append(samples, fmt.Sprintf(`{"Class":"%d","Operations":1}`, i))
		latency = append(latency, fmt.Sprintf(`"%d":"%s"`, i, packed))
	}
	var b strings.Builder
	for i := range intervals {
		fmt.Fprintf(&b, `{"interval":{"From":%d,"To":%d,"Samples":[%s],"Latency":{%s},"Offer":{}}}`+"\n", i, i+1, strings.Join(samples, ","), strings.Join(latency, ","))
	}
	return b.String()
}

// Invalid messages of a malicious worker are refused with a reason, and end the load.
func TestHostileWorkers(t *testing.T) {
	t.Parallel()
	interval := func(from, to int, sample string) string {
		return fmt.Sprintf(`{"interval":{"From":%d,"To":%d,"Samples":[%s],"Offer":{}}}`+"\n", from, to, sample)
	}
	sound := interval(0, 1e8, `{"Class":"read","Operations":5}`)
	for name, c := range map[string]struct{ sent, want string }{
		"garbage":            {"\xff\xfe{\n", "invalid character"},
		"a line without end": {strings.Repeat("a", mostLine+1), "a line of more than 4 MiB"},
		"negative count":     {sound + interval(1e8, 2e8, `{"Class":"read","Operations":-5}`), `interval 2 counts -5 of "read"`},
		"more than there is": {interval(0, 1e8, `{"Class":"read","Operations":9223372036854775807}`), "interval 1 counts"},
		"a replay":           {sound + sound, "interval 2 is from 0s to 100ms, but the previous one ended at 100ms"},
		"backwards":          {interval(2e8, 1e8, ""), "interval 1 is from 200ms to 100ms"},
		"years":              {interval(0, 1e18, ""), "interval 1 ends"},
		"offer below zero":   {`{"interval":{"From":0,"To":1,"Offer":{"Scheduled":-1}}}` + "\n", "-1 operations were due"},
		"overflow":           {`{"end":{"values":{"a":1e308}}}` + "\n", `values["a"] is 1e+308`},
		"not a number":       {`{"end":{"values":{"a":NaN}}}` + "\n", "invalid character"},
		"infinity":           {`{"end":{"values":{"a":1e999}}}` + "\n", "cannot unmarshal"},
		"a bomb":             {bomb(t, 1, 900), "histograms of 900 operation classes"},
		"small bombs":        {bomb(t, 100, 64), "have more than 33554432 counters"},
		"intervals for ever": {func() string {
			var b strings.Builder
			for i := range 100_000 {
				b.WriteString(interval(i, i+1, ""))
			}
			return b.String()
		}(), "more than"},
	} {
		t.Run(name, func(t *testing.T) {
			l := newListener(measure.NewRecorder(nil), nil, load.Stage{Length: time.Second, Interval: 100 * time.Millisecond})
			for rest := []byte(c.sent); len(rest) > 0; { // in pieces, as they come
				n := min(len(rest), 32<<10)
				if _, err := l.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if l.err == nil || !strings.Contains(l.err.Error(), c.want) {
				t.Errorf("%v, want %q", l.err, c.want)
			}
			if len(l.rest) > mostLine {
				t.Errorf("%d bytes are kept", len(l.rest))
			}
			if n := len(l.out.Intervals()); n > 30_000 {
				t.Errorf("%d intervals are kept", n)
			}
		})
	}
}
