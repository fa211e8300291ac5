package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plimsoll/cmd/plimsoll/cli"
	"plimsoll/internal/catalog"
	"plimsoll/internal/trend"
	"plimsoll/internal/trend/trendtest"
)

// nightly writes so many runs of a study, whose rate changes by a share with run 25.
func nightly(t *testing.T, runs int, change float64) string {
	t.Helper()
	dir, random := t.TempDir(), rand.New(rand.NewPCG(5, 6))
	for i := range runs {
		level := 20_000 * math.Exp(0.01*random.NormFloat64())
		if i >= 25 {
			level *= 1 + change
		}
		err := trendtest.Write(catalog.All(), trendtest.Run{
			Dir: filepath.Join(dir, fmt.Sprintf("run-%03d", i)), Name: fmt.Sprint("n", i), Version: "1.0", Blocks: 2,
			Study:   "study: nightly\nquestion: What does it carry?\nplatform: sim\nworkload: {\"null\": {threads: 4}}\nheadline: [operations]\n",
			Started: time.Date(2026, 3, 1+i, 4, 30, 0, 0, time.UTC),
			Value:   func(string, int, int) float64 { return level * math.Exp(.001*random.NormFloat64()) },
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// The gate of a trend fails while a change for the worse is provisional, and cannot decide on few runs.
func TestGateOfATrend(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		runs   int
		change float64
		want   int
		says   string
	}{
		{8, 0, cli.ExitOpen, "gate not decided: operations: too few runs to see a change: 8 of at least 13"},
		{24, 0, cli.ExitDone, ""},
		{32, -.05, cli.ExitVerdict, "provisional"},
		{32, +.05, cli.ExitDone, ""},
		{40, -.05, cli.ExitDone, ""},
	} {
		var out, complaints bytes.Buffer
		status := Main([]string{"trend", "nightly", "--in", nightly(t, c.runs, c.change), "--gate"}, &out, &complaints)
		if status != c.want || !strings.Contains(complaints.String(), c.says) || c.says == "" && complaints.Len() > 0 {
			t.Errorf("%d runs with %+g: status %d, want %d: %s%s", c.runs, c.change, status, c.want, complaints.String(), out.String())
		}
	}
}

// JSON and the page say what the text says, and records that nothing could measure do no harm.
func TestFormsOfATrend(t *testing.T) {
	t.Parallel()
	dir := nightly(t, 40, -.05)
	var text, out, complaints bytes.Buffer
	file := filepath.Join(t.TempDir(), "trend.html")
	if Main([]string{"trend", "nightly", "--in", dir, "--html", file}, &text, &complaints) != 0 || Main([]string{"trend", "nightly", "--in", dir, "--json"}, &out, &complaints) != 0 {
		t.Fatal(complaints.String())
	}
	var got trend.Trend
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Format != trend.Format || len(got.Series) != 1 || len(got.Series[0].Lines[0].Changes) != 1 {
		t.Fatalf("%v: %s", err, out.String())
	}
	page, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(page), "1 change") || !strings.Contains(text.String(), "worse, frozen") {
		t.Errorf("%v: %s", err, text.String())
	}
	err = trendtest.Write(catalog.All(), trendtest.Run{
		Dir: filepath.Join(dir, "odd"), Study: "study: nightly\nquestion: What does it carry?\nplatform: sim\nworkload: {\"null\": {threads: 4}}\nheadline: [operations]\n", Blocks: 3,
		Started: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), Value: func(_ string, _, block int) float64 { return []float64{1e100, 1, 1e-100}[block-1] },
	})
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if status := Main([]string{"trend", "nightly", "--in", dir, "--json"}, &out, &complaints); status != 0 || json.Unmarshal(out.Bytes(), &got) != nil {
		t.Errorf("status %d: %s", status, complaints.String())
	}
	if len(got.Series[0].Runs) != 41 {
		t.Errorf("%d runs", len(got.Series[0].Runs))
	}
}
