package snapshot

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"plimsoll/internal/cluster"
	"plimsoll/internal/cluster/clustertest"
	"plimsoll/internal/document"
)

var update = flag.Bool("update", false, "write the golden files anew")

func documented(t testing.TB) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/cluster/snapshot.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(page), "```yaml\n")
	text, _, closed := strings.Cut(text, "```\n")
	if !found || !closed {
		t.Fatal("the page has no example")
	}
	return text
}

// The example of the documentation is a valid cluster with the properties that the page
// states.
func TestDocumentedExample(t *testing.T) {
	c, err := Read("lab.yaml", []byte(documented(t)))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Hosts) != 5 || len(c.VMs) != 9 || len(c.Pools) != 4 || len(c.Rules) != 3 {
		t.Fatalf("%d hosts, %d VMs, %d pools, %d rules", len(c.Hosts), len(c.VMs), len(c.Pools), len(c.Rules))
	}
	h := c.Hosts[3]
	if h.Name != "esx-4" || h.Cores() != 56 || h.Memory != 512<<30 || h.NIC != 25e9 || h.ThreadsPerCore != 2 || len(h.Networks) != 2 {
		t.Errorf("esx-4 is %+v", h)
	}
	if old := c.Hosts[4]; old.State != cluster.Maintenance || old.Memory != 256<<30 || old.MHz != 2600 {
		t.Errorf("old is %+v", old)
	}
	if diff := cmp.Diff([]string{"back", "front"}, c.Networks); diff != "" {
		t.Error(diff)
	}
	web := c.VMs[5]
	if web.Name != "web-6" || c.Hosts[web.Host].Name != "esx-2" || web.Demand.CPU != cluster.Steady(4*2600*.4) || c.Pools[web.Pool].Name != "production" {
		t.Errorf("web-6 is %+v", web)
	}
	db := c.VMs[6]
	if db.Mem.Reservation != 128<<30 || db.CPU.Reservation != 10_000 || db.CPU.Shares != 32_000 || db.CPU.Limit != cluster.Unlimited || db.Demand.Dirty != 400<<20 {
		t.Errorf("db-1 is %+v", db)
	}
	if build := c.VMs[8]; build.Host != cluster.Nowhere || !build.Waiting || build.Demand.CPU.Count != 0 {
		t.Errorf("build is %+v", build)
	}
	if p := c.Pools[2]; p.Name != "databases" || c.Pools[p.Parent].Name != "production" || p.CPU.Shares != 8000 || p.Level != cluster.ShareHigh {
		t.Errorf("databases is %+v", p)
	}
	if p := c.Pools[3]; p.CPU.Limit != 60_000 || p.Mem.Limit != cluster.Unlimited || p.Parent != 0 {
		t.Errorf("tests is %+v", p)
	}
	if r := c.Rules[1]; r.Kind != cluster.OnHosts || !r.Must || len(r.VMs) != 2 || len(r.Hosts) != 2 {
		t.Errorf("licence is %+v", r)
	}
	if c.Settings != (cluster.Settings{Model: cluster.ByDeviation, Level: 3, Headroom: 20, SpareHosts: 1, CostBenefit: true}) {
		t.Errorf("settings are %+v", c.Settings)
	}
}

// Each file of testdata/bad has errors; the golden file beside it lists all of them, with
// their positions.
func TestMistakes(t *testing.T) {
	files, err := filepath.Glob("testdata/bad/*.*")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, ".golden") {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			c, err := Read(filepath.Base(file), text)
			if err == nil || c != nil {
				t.Fatal("it is read")
			}
			got := err.Error() + "\n"
			if *update {
				if err := os.WriteFile(file+".golden", []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func written(t testing.TB, c *cluster.Cluster, write func(*bytes.Buffer, *cluster.Cluster) error) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b, c); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asYAML(b *bytes.Buffer, c *cluster.Cluster) error { return Write(b, c) }
func asJSON(b *bytes.Buffer, c *cluster.Cluster) error { return WriteJSON(b, c) }

func roundTrip(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	for name, write := range map[string]func(*bytes.Buffer, *cluster.Cluster) error{"c.yaml": asYAML, "c.json": asJSON} {
		text := written(t, c, write)
		again, err := Read(name, text)
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if diff := cmp.Diff(c, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("%s: %s\n%s", name, diff, text)
		}
		if !bytes.Equal(text, written(t, again, write)) {
			t.Fatalf("%s: written again it is another text", name)
		}
	}
}

// What a live cluster can be, its snapshot can be.
func TestSnapshotsOfImpossibleClusters(t *testing.T) {
	c := clustertest.Sound()
	c.VMs[0].VCPUs, c.VMs[1].Memory, c.VMs[2].CPU.Reservation = 999, 1<<50, 1<<30
	pair := []cluster.VMID{0, 1}
	c.Rules = []cluster.Rule{{Name: "one", Kind: cluster.Together, Must: true, VMs: pair}, {Name: "two", Kind: cluster.Apart, Must: true, VMs: pair}}
	roundTrip(t, c)
}

func TestRoundTrip(t *testing.T) {
	lab, err := Read("lab.yaml", []byte(documented(t)))
	if err != nil {
		t.Fatal(err)
	}
	roundTrip(t, lab)
	for seed := range uint64(20) {
		roundTrip(t, clustertest.Random(clustertest.Spec{Seed: seed, Hosts: 3, VMs: 20, Pools: int(seed % 6), Load: .5, Placed: true}))
	}
	odd := clustertest.Random(clustertest.Spec{Seed: 1, Hosts: 3, VMs: 4, Pools: 2, Load: .5})
	odd.VMs[0].HotAdd, odd.VMs[1].Pinned, odd.VMs[2].Pinned, odd.VMs[2].Tied = true, true, true, true
	odd.Name, odd.Networks[0], odd.VMs[0].Name, odd.VMs[1].Name, odd.VMs[2].Name = "a: b #c", "true", "no, [really]", `"q\uote"`, "ünïcode"
	odd.Hosts[0].Factor, odd.Hosts[1].State, odd.Hosts[2].Networks, odd.Hosts[2].CoresPerCache = 725, cluster.Failed, nil, 8
	odd.Hosts[2].NodeMemory = odd.Hosts[2].Memory / 8
	odd.Pools[0] = cluster.Pool{Name: "top", Parent: cluster.Nowhere, CPU: cluster.Allocation{Limit: 7, Shares: 3}, Mem: cluster.Allocation{Reservation: 1, Limit: 1, Shares: 1, Expandable: true}, Level: cluster.ShareCustom, Scalable: true}
	for i := range 60 {
		odd.VMs[3].Demand.CPU.Add(float64(i*i%17) * 97.3)
		odd.VMs[3].Demand.Active.Add(float64(i*i%13) * 1e9 / 3)
	}
	odd.VMs[3].CPU.Shares, odd.VMs[3].Pinned, odd.VMs[3].Policy, odd.VMs[3].Demand.Link, odd.VMs[3].CPU.Limit = 77, true, "gold", 12345, 1000
	odd.Settings = cluster.Settings{Model: cluster.ByScore, Level: 5, Headroom: 25, SpareHosts: 2, MostMoves: 9, Consumed: true, ScalablePool: true}
	roundTrip(t, odd)
}

// A truncated file is never valid, except without its last newline.
func TestTruncated(t *testing.T) {
	c := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 2, VMs: 4, Pools: 2, Load: .5, Placed: true})
	c.Rules = []cluster.Rule{{Name: "r", Kind: cluster.Apart, VMs: []cluster.VMID{0, 1}}}
	for name, write := range map[string]func(*bytes.Buffer, *cluster.Cluster) error{"c.yaml": asYAML, "c.json": asJSON, "c": asJSON} {
		text := bytes.TrimRight(written(t, c, write), "\n")
		for n := range text {
			if got, err := Read(name, text[:n]); err == nil {
				t.Fatalf("%s cut off after %d of %d bytes is a cluster of %d hosts:\n%s", name, n, len(text), len(got.Hosts), text[:n])
			}
		}
		if _, err := Read(name, text); err != nil {
			t.Fatal(err)
		}
	}
}

// For any text, Read returns a cluster that can be written and read, or errors with positions,
// and is deterministic.
func FuzzRead(f *testing.F) {
	f.Add("c.yaml", documented(f))
	files, _ := filepath.Glob("testdata/bad/*.*")
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil && !strings.HasSuffix(file, ".golden") {
			f.Add(filepath.Base(file), string(text))
		}
	}
	small := clustertest.Random(clustertest.Spec{Seed: 3, Hosts: 2, VMs: 3, Pools: 2, Load: .5, Placed: true})
	f.Add("c.json", string(written(f, small, asJSON)))
	f.Add("c", "hosts: &a [*a, *a]\n<<: *a\n")
	few := limits{50, 100, 50, 50}
	f.Fuzz(func(t *testing.T, name, text string) {
		c, err := read(name, []byte(text), few)
		again, second := read(name, []byte(text), few)
		if (c == nil) == (err == nil) || (err == nil) != (second == nil) || err != nil && err.Error() != second.Error() {
			t.Fatalf("cluster %v, errors %v and %v", c, err, second)
		}
		if err != nil {
			all := document.Mistakes(err)
			if len(all) == 0 {
				t.Fatalf("no mistakes in %v", err)
			}
			for _, m := range all {
				if m.Line < 1 || m.Column < 1 || m.Text == "" || strings.Contains(m.Error(), "\n") {
					t.Fatalf("%+v", m)
				}
			}
			return
		}
		if diff := cmp.Diff(c, again); diff != "" {
			t.Fatal(diff)
		}
		cluster.NewLayout(c, cluster.NewIndex(c))
		roundTrip(t, c)
	})
}
