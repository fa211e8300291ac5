package scene

import (
	"math"
	"strconv"
	"testing"
	"time"
)

func TestReaders(t *testing.T) {
	fio := Fio()
	for _, c := range []struct {
		name  string
		read  Reader
		line  string
		want  Sample
		found bool
	}{
		{"pgbench", Pgbench, "progress: 2.0 s, 1234.5 tps, lat 6.500 ms stddev 1.2, 0 failed", Sample{Rate: 1234.5, Latency: 0.0065, P99: 0.0065}, true},
		{"pgbench's head", Pgbench, "pgbench (15.13)", Sample{}, false},
		{"ours", Ours, `{"rate":5,"latency":0.25,"errors":1}`, Sample{Rate: 5, Latency: 0.25, Errors: 1}, true},
		{"not ours", Ours, "a warning", Sample{}, false},
		{"fio's first second", fio, terseLine(4000, 1000), Sample{}, false},
		{"fio's second", fio, terseLine(10000, 2000), Sample{Rate: 6000}, true},
		{"fio's error", fio, "fio: file not found", Sample{}, false},
	} {
		if got, found := c.read(c.line); found != c.found || found && got != c.want {
			t.Errorf("%s: %+v, %v; want %+v, %v", c.name, got, found, c.want, c.found)
		}
	}
}

// terseLine is as fio prints it, after so many KiB read in so many milliseconds.
func terseLine(kib, milliseconds int) string {
	line := "3;fio-3.33;job;0;0;"
	for i := 5; i < 60; i++ {
		switch i {
		case 5:
			line += strconv.Itoa(kib)
		case 8:
			line += strconv.Itoa(milliseconds)
		default:
			line += "0"
		}
		line += ";"
	}
	return line
}

func TestMeanCountsOperations(t *testing.T) {
	var m Meter
	m.add(Sample{Rate: 100, Latency: 1})
	began := time.Now()
	if _, err := m.Mean(began); err == nil {
		t.Error("there is a mean of no samples")
	}
	m.add(Sample{Rate: 30, Latency: 1, P99: 2})
	m.add(Sample{Rate: 10, Latency: 5, P99: 4, Errors: 2})
	got, err := m.Mean(began)
	if err != nil || got.Rate != 20 || got.P99 != 3 || got.Errors != 1 || math.Abs(got.Latency-2) > 1e-9 {
		t.Errorf("%+v, %v; want 20/s, 2 s, 3 s, 1/s", got, err)
	}
}

func FuzzReaders(f *testing.F) {
	f.Add(terseLine(1, 1))
	f.Add("progress: 1.0 s, 1e309 tps, lat nan ms stddev 0")
	f.Fuzz(func(t *testing.T, line string) {
		for _, read := range []Reader{Pgbench, Ours, Fio()} {
			if s, found := read(line); !found && s != (Sample{}) {
				t.Errorf("%q has %+v and is no sample", line, s)
			}
		}
	})
}
