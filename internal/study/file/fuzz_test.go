package file

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Whatever the text is, Parse ends with a study or with mistakes that have a
// place, and a study reads the same every time.
func FuzzParse(f *testing.F) {
	f.Add(head, "measure.window=5s")
	f.Add(full, "storage.threads=[1]")
	f.Add(full, "factors.label=[a, b]")
	f.Add(head+"factors: {storage.threads: [1, 2], host.scheduler:sda: [none]}\nload: {rate: 5/s}\n", "limits.p99.max=1s")
	f.Add(head+"goal: {most: iops, floor: {p99: 5ms}}\ntune: {candidates: {storage.threads: [1, 2], host.scheduler:sda: [none]}, allow: unsafe, changes: 2, time: 1h}\n", "tune.candidates.storage.depth=[2]")
	f.Add("a: &a [*a, *a]\n<<: *a\n", "workload.storage={disks: 2}")
	f.Add("? [a]\n: b\n--- |\n text\n...\n", "platform={")
	f.Add("study: \"\\x00\"\nworkload: {null: ~}\n", "load.rate=")
	f.Fuzz(func(t *testing.T, text, set string) {
		for _, sets := range [][]string{nil, {set}} {
			s, err := Parse("t.yaml", []byte(text), testCatalog(), sets)
			if (s == nil) == (err == nil) {
				t.Fatalf("study %v and error %v", s, err)
			}
			lines := mistakes(t, err)
			again, err := Parse("t.yaml", []byte(text), testCatalog(), sets)
			if d := cmp.Diff(s, again, unplaced); d != "" {
				t.Fatalf("read twice: %s", d)
			}
			if d := cmp.Diff(lines, mistakes(t, err)); d != "" {
				t.Fatalf("complaints in another order: %s", d)
			}
			if s == nil {
				continue
			}
			if len(s.Headline) == 0 || s.Measure.Window <= 0 || s.Measure.Interval <= 0 || s.Measure.Longest < s.Measure.Window {
				t.Fatalf("an impossible study: %+v", s)
			}
			for _, factor := range s.Factors {
				if len(factor.Levels) == 0 {
					t.Fatalf("factor without levels: %+v", factor)
				}
			}
		}
	})
}
