package topology

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"plimsoll/internal/effort"
)

func randomSetting(r *rand.Rand, vcpus int) Setting {
	s := Setting{VCPUs: vcpus, CoresPerSocket: r.IntN(20), CoresPerNode: r.IntN(3) * 4, HotAdd: r.IntN(4) == 0, ShowOnHotAdd: r.IntN(4) == 0, Advanced: map[string]string{}}
	for _, name := range AdvancedNames() {
		if r.IntN(4) == 0 {
			s.Advanced[name] = []string{"TRUE", "FALSE", "9", "a b:c=%ä"}[r.IntN(4)]
		}
	}
	return s
}

// For any setting of a VM: a change fulfils the recommendation, so that none remains, and
// survives writing and reading.
func TestAChangeFulfilsTheAdvice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	changes := 0
	for range effort.Of(30000) {
		m, o := randomVM(r), randomOptions(r)
		a, err := Advise(m, []Shape{randomShape(r), randomShape(r)}, o)
		if err != nil {
			t.Fatal(err)
		}
		now := Present{Setting: randomSetting(r, m.VCPUs), Automatic: r.IntN(2) == 0}
		switch r.IntN(5) {
		case 0:
			now.Automatic, now.NodePerSocket = false, true
		case 1:
			now.Automatic, now.Cells = false, true
		}
		want, why := a.Change(now)
		if why != "" {
			continue
		}
		changes++
		if back, err := ParseSetting(want.String()); err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("%q is read as %+v, %v", want, back, err)
		}
		if again, why := a.Change(Present{want, now.Automatic, now.NodePerSocket, now.Cells, 0}); why == "" {
			t.Fatalf("%+v\n%+v\nafter %q there is another change, %q", a, now, want, again)
		}
		if want.VCPUs != m.VCPUs || want.CoresPerSocket != 0 && m.VCPUs%want.CoresPerSocket != 0 || !now.Automatic && (want.CoresPerSocket == 0 || want.CoresPerNode != 0 && !now.NodePerSocket && !now.Cells) {
			t.Fatalf("%+v\n%+v\n%q is no setting for this platform", a, now, want)
		}
		if now.NodePerSocket && (len(want.Advanced) > 0 || want.CoresPerNode != 0 && want.CoresPerNode != want.CoresPerSocket) {
			t.Fatalf("%+v\n%+v\n%q is no setting for a platform whose sockets are nodes", a, now, want)
		}
		if now.Cells && (len(want.Advanced) > 0 || want.CoresPerNode != 0 && m.VCPUs%want.CoresPerNode != 0 || now.CoresPerNode > 0 && want.CoresPerNode == 0) {
			t.Fatalf("%+v\n%+v\n%q is no setting for a platform that lists nodes", a, now, want)
		}
	}
	if changes < effort.Of(8000) {
		t.Errorf("%d changes in %d VMs", changes, effort.Of(30000))
	}
}

func TestChanges(t *testing.T) {
	present := func(cores int) Present {
		return Present{Setting: Setting{VCPUs: 24, CoresPerSocket: cores, Advanced: map[string]string{}}, Automatic: true}
	}
	vm := func(cores int, hotAdd bool) VM {
		return VM{Name: "a", VCPUs: 24, Memory: 64 * gib, CoresPerSocket: cores, HotAdd: hotAdd}
	}
	listed := func(cores, node int) Present {
		return Present{Setting: Setting{VCPUs: 24, CoresPerSocket: cores, CoresPerNode: node}, Cells: true}
	}
	few := func(pages int) Present {
		return Present{Setting: Setting{VCPUs: 24}, Cells: true, MostNodes: pages}
	}
	small := VM{Name: "a", VCPUs: 2, Memory: gib, CoresPerSocket: 1}
	old, hot := present(1), present(12)
	old.Automatic, hot.HotAdd = false, true
	for name, c := range map[string]struct {
		vm        VM
		now       Present
		o         Options
		want, why string
	}{
		"stale":                   {vm(1, false), present(1), Options{}, "vcpus=24 cores-per-socket=auto cores-per-node=auto numa.autosize.once:FALSE", ""},
		"stale, before vSphere 8": {vm(1, false), old, Options{}, "vcpus=24 cores-per-socket=12 cores-per-node=auto numa.autosize.once:FALSE numa.autosize.vcpu.maxPerVirtualNode:12", ""},
		"as advised":              {vm(12, false), present(12), Options{}, "", "it is as recommended"},
		"as advised, not yet":     {vm(1, false), present(12), Options{}, "", "takes effect at the next power-on"},
		"hot-add":                 {vm(12, true), hot, Options{}, "", "CPU hot-add hides the nodes"},
		"hot-add, shown":          {vm(12, true), hot, Options{ExposeOnHotAdd: true}, "vcpus=24 cores-per-socket=auto cores-per-node=auto hot-add=on show-nodes-on-hot-add=on numa.autosize.once:FALSE", ""},
		"hot-add to be off":       {vm(12, false), hot, Options{}, "vcpus=24 cores-per-socket=auto cores-per-node=auto numa.autosize.once:FALSE", ""},
		"memory of two nodes": {
			VM{Name: "a", VCPUs: 12, Memory: 384 * gib, CoresPerSocket: 6}, Present{Setting: Setting{VCPUs: 12, CoresPerSocket: 6}, Automatic: true}, Options{},
			"vcpus=12 cores-per-socket=6 cores-per-node=6 numa.autosize.once:FALSE", "",
		},
		"memory of two nodes, as advised": {
			VM{Name: "a", VCPUs: 12, Memory: 384 * gib, CoresPerSocket: 6}, Present{Setting: Setting{VCPUs: 12, CoresPerSocket: 6, CoresPerNode: 6}, Automatic: true}, Options{},
			"", "it is as recommended",
		},
		"listed nodes":                {vm(1, false), listed(1, 0), Options{}, "vcpus=24 cores-per-socket=12 cores-per-node=12", ""},
		"listed nodes, too many":      {vm(12, false), listed(12, 6), Options{}, "vcpus=24 cores-per-socket=12 cores-per-node=12", ""},
		"listed nodes, as advised":    {vm(12, false), listed(12, 12), Options{}, "", "it is as recommended"},
		"listed nodes, no sockets":    {small, Present{Setting: Setting{VCPUs: 2}, Cells: true}, Options{}, "vcpus=2 cores-per-socket=2 cores-per-node=auto", ""},
		"listed nodes, few pages":     {vm(1, false), few(1), Options{}, "", "2 nodes are advised, and its huge pages can be divided among 1"},
		"listed nodes, enough pages":  {vm(1, false), few(2), Options{}, "vcpus=24 cores-per-socket=12 cores-per-node=12", ""},
		"a node that lists all":       {small, Present{Setting: Setting{VCPUs: 2, CoresPerNode: 2}, Cells: true}, Options{}, "vcpus=2 cores-per-socket=2 cores-per-node=2", ""},
		"listed nodes, not divisible": {VM{Name: "a", VCPUs: 23, CoresPerSocket: 2}, Present{Setting: Setting{VCPUs: 23, CoresPerSocket: 2}, Cells: true}, Options{Strict: true}, "", "do not divide evenly"},
		"changed meanwhile":           {VM{Name: "a", VCPUs: 12, CoresPerSocket: 1}, present(1), Options{}, "", "it has 24 vCPUs now"},
		"odd":                         {VM{Name: "a", VCPUs: 23, CoresPerSocket: 1}, Present{Setting: Setting{VCPUs: 23, CoresPerSocket: 1}, Automatic: true}, Options{Strict: true}, "", "do not divide evenly"},
		"too large":                   {VM{Name: "a", VCPUs: 96, CoresPerSocket: 1}, Present{Setting: Setting{VCPUs: 96, CoresPerSocket: 1}, Automatic: true}, Options{}, "", "exceeds every host"},
	} {
		a := advise(t, c.vm, c.o, smt(2, 20))
		want, why := a.Change(c.now)
		if !strings.Contains(why, c.why) || (why == "") != (c.why == "") || why == "" && want.String() != c.want {
			t.Errorf("%s: %q because %q; want %q because %q", name, want, why, c.want, c.why)
		}
	}
}

func FuzzParseSetting(f *testing.F) {
	f.Add("vcpus=24 cores-per-socket=auto cores-per-node=12 hot-add=on show-nodes-on-hot-add=on numa.vcpu.min:8")
	f.Add("vcpus=1 cores-per-socket=1 cores-per-node=auto a:b%20c")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseSetting(text)
		if err != nil {
			return
		}
		if back, err := ParseSetting(s.String()); err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%q is %+v, written as %q and read as %+v, %v", text, s, s, back, err)
		}
	})
}
