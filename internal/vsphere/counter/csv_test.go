package counter

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestSamplesAsText(t *testing.T) {
	t.Parallel()
	spans, err := parseSpans("20,2026-11-23T04:00:20Z,20,2026-11-23T06:00:40.5+02:00")
	if err != nil || len(spans) != 2 || spans[1].length != 20*time.Second || !spans[1].end.Equal(time.Date(2026, 11, 23, 4, 0, 40, 5e8, time.UTC)) {
		t.Errorf("spans %v, %v", spans, err)
	}
	values, err := parseValues("7,,-1,9000000000", 4)
	if err != nil || values[0] != 7 || !math.IsNaN(values[1]) || !math.IsNaN(values[2]) || values[3] != 9e9 {
		t.Errorf("values %v, %v", values, err)
	}
	for text, want := range map[string]string{
		"20": "pairs", "x,2026-11-23T04:00:20Z": "lasts", "0,2026-11-23T04:00:20Z": "lasts", "-20,2026-11-23T04:00:20Z": "lasts",
		"999999999999,2026-11-23T04:00:20Z": "lasts", "20,yesterday": "not a time",
	} {
		if _, err := parseSpans(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("spans %q: %v, want an error with %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"1,2,3": "3 values of 2", "1,two": "not an integer", "1": "1 values of 2", "": "1 values of 2", "1,2.5": "not an integer"} {
		if _, err := parseValues(text, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("values %q: %v, want an error with %q", text, err, want)
		}
	}
}

func FuzzSamplesAsText(f *testing.F) {
	f.Add("20,2026-11-23T04:00:20Z,20,2026-11-23T04:00:40Z", "1,-1")
	f.Add("", "")
	f.Add("20,2026-11-23T04:00:20Z", ",,")
	f.Fuzz(func(t *testing.T, times, values string) {
		spans, err := parseSpans(times)
		if err != nil {
			return
		}
		for _, s := range spans {
			if s.length <= 0 || s.length > longest || !s.begin().Before(s.end) {
				t.Fatalf("%q has the sample %v", times, s)
			}
		}
		read, err := parseValues(values, len(spans))
		if err != nil {
			return
		}
		if len(read) != len(spans) {
			t.Fatalf("%d values of %d samples", len(read), len(spans))
		}
		for _, v := range read {
			if v < 0 || math.IsInf(v, 0) {
				t.Fatalf("%q has the value %g", values, v)
			}
		}
		one := &reading{object: &object{kind: ofVM, name: "a"}, spans: spans, series: []series{{"cpu.usagemhz.average", read}}}
		w := window{from: time.Unix(0, 0), to: time.Unix(1<<40, 0)}
		r := &result{readings: []*reading{one}, counters: map[string]float64{}}
		r.reduce(w, nil)
		r.table(w, w.from)
		for name, v := range r.counters {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("%s = %g", name, v)
			}
		}
	})
}
