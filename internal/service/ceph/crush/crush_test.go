package crush

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every placement group has half of its copies on each site, the first of them on the site of the clients.
func TestCRUSHMap(t *testing.T) {
	if _, err := exec.LookPath("crushtool"); err != nil {
		t.Skip("crushtool is not installed")
	}
	for _, osds := range []int{2, 4, 10} {
		text, binary := filepath.Join(t.TempDir(), "txt"), filepath.Join(t.TempDir(), "map")
		if err := os.WriteFile(text, Text(osds, 2), 0o600); err != nil {
			t.Fatal(err)
		}
		run := func(argv ...string) []byte {
			t.Helper()
			out, err := exec.Command("crushtool", argv...).CombinedOutput()
			if err != nil {
				t.Fatalf("crushtool %q: %v: %s", argv, err, out)
			}
			return out
		}
		if said := run("-c", text, "-o", binary); len(said) > 0 {
			t.Errorf("%s", said)
		}
		for each := 1; each <= osds/2; each++ {
			mapped := regexp.MustCompile(`x \d+ \[([\d,]+)\]`).FindAllSubmatch(run("-i", binary, "--test", "--show-mappings", "--rule", strconv.Itoa(each), "--num-rep", strconv.Itoa(2*each), "--min-x", "0", "--max-x", "99"), -1)
			if len(mapped) != 100 {
				t.Fatalf("%d OSDs: %d of 100 groups are mapped", osds, len(mapped))
			}
			for _, m := range mapped {
				seen := map[string]bool{}
				all := strings.Split(string(m[1]), ",")
				for i, name := range all {
					n, _ := strconv.Atoi(name)
					if want := 1 + i/each; Site(n, osds, 2) != want || seen[name] {
						t.Fatalf("%d OSDs: %s: copy %d is on osd.%d of site %d", osds, m[1], i, n, Site(n, osds, 2))
					}
					seen[name] = true
				}
				if len(all) != 2*each {
					t.Fatalf("%d OSDs: %s: not %d copies", osds, m[1], 2*each)
				}
			}
		}
		var dump Map
		decoded := run("-i", binary, "--dump")
		if err := json.Unmarshal(decoded, &dump); err != nil {
			t.Fatal(err)
		}
		for rule, want := range map[string]int{Rule(2, 2): 2, Default: 1, "another": 0} {
			if got := dump.Sites(rule); got != want {
				t.Errorf("%d OSDs: rule %s places on %d sites, want %d", osds, rule, got, want)
			}
		}
	}
}
