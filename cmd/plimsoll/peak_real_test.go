package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/catalog"
	"plimsoll/internal/lab"
)

const realSearch = `study: peak
question: Where is the peak?
platform: local
service: {responder: {page_size: 128B, images: 0, %s}}
workload: {web: {connections: 128, arrivals: constant}}
load: {peak: {within: {%s}, from: 800/s, to: 4000/s}}
measure: {window: 500ms, longest: 10s, blocks: 1}
headline: [peak]
`

// Real servers whose failure is no knee end in the right word, and no claim is above what
// they sustain. A host that others use may say so instead.
func TestSearchesOfRealServersEndInWords(t *testing.T) {
	isReal(t, "search real servers for their peaks")
	for _, c := range []struct {
		name, server, within string
		truth                float64 // the highest rate that is sustained, 0 for none
		word, says           string
		long                 bool // takes a minute, and several on a busy host
	}{
		{"periodic stall", "stall: 300ms, period: 1s", "p90: 20ms", 0, "stalls", "independently of the rate", false},
		// Long enough confirmations for the tenth of a second of requests that may come at once.
		{"error cliff", "reject: 1000/s", "p90: 60ms, errors: 0/s", 1000, "identified", "errors", true},
		{"bimodal tail", "tail: 40%, tail_delay: 200ms", "p90: 20ms", 0, "never passed", "independently of the rate", false},
		{"token bucket", "sustained: 1000/s, burst: 500", "p90: 60ms", 1000, "identified", "", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.long && os.Getenv("PLIMSOLL_DEEP") == "" {
				t.Skip("set PLIMSOLL_DEEP=1 as well to wait for minutes")
			}
			t.Parallel()
			dir := t.TempDir()
			file := filepath.Join(dir, "peak.yaml")
			if err := os.WriteFile(file, fmt.Appendf(nil, realSearch, c.server, c.within), 0o600); err != nil {
				t.Fatal(err)
			}
			l := &lab.Lab{Catalog: catalog.All(), Version: "test"}
			source, err := l.Read(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			outcome, err := l.Run(t.Context(), lab.Request{Source: *source, Dir: filepath.Join(dir, "results"), Seed: 1})
			if err != nil {
				t.Fatal(err)
			}
			records := outcome.Input.Records
			if len(records) == 0 || records[len(records)-1].Peak == nil {
				t.Fatal("the search left no answer")
			}
			p := records[len(records)-1].Peak
			t.Logf("%s, claim %.4g/s: %s", p.Word, p.Sustained, p.Why)
			if p.Word != "host busy" && (p.Word != c.word || !strings.Contains(p.Why, c.says)) {
				t.Errorf("it ended %q (%s), want %q with %q", p.Word, p.Why, c.word, c.says)
			}
			if p.Sustained > 1.01*c.truth {
				t.Errorf("it claims %.4g/s, and sustains %.4g/s", p.Sustained, c.truth)
			}
		})
	}
}
