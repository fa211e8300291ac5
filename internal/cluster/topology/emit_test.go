package topology

import (
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (run with -update when that is meant):\n%s", file, got)
	}
}

type emitted struct {
	name string
	m    VM
	host Shape
	o    Options
}

// emissions are VMs with golden output in all formats.
func emissions() []emitted {
	return []emitted{
		{"one-node", VM{VCPUs: 14, Memory: 64 * gib, CoresPerSocket: 1}, smt(2, 28), Options{}},
		{"memory-split", VM{VCPUs: 12, Memory: 384 * gib, CoresPerSocket: 12}, smt(2, 20), Options{}},
		{"two-nodes", VM{VCPUs: 24, Memory: 96 * gib}, smt(2, 20), Options{}},
		{"odd", VM{VCPUs: 21, Memory: 33*gib + mib}, smt(2, 20), Options{}},
		{"caches", VM{VCPUs: 16, Memory: 32 * gib}, epyc(1, 64, 8), Options{}},
		{"small-flat", VM{VCPUs: 8, Memory: 32 * gib}, epyc(4, 6, 3), Options{}},
		{"small-shown", VM{VCPUs: 8, Memory: 32 * gib}, epyc(4, 6, 3), Options{VNUMAMin: 1}},
		{"hot-add", VM{VCPUs: 24, Memory: 96 * gib, HotAdd: true}, smt(2, 20), Options{ExposeOnHotAdd: true}},
		{"threads", VM{VCPUs: 24, Memory: 96 * gib}, smt(2, 10), Options{PreferHT: true}},
		{"one-socket", VM{VCPUs: 24, Memory: 96 * gib}, smt(2, 20), Options{MaxSockets: 1}},
	}
}

func TestEmissions(t *testing.T) {
	for _, e := range emissions() {
		t.Run(e.name, func(t *testing.T) {
			a := advise(t, e.m, e.o, e.host)
			var b strings.Builder
			fmt.Fprintf(&b, "%s\nvSphere, to write:\n", a.Text())
			v := a.VSphere()
			for _, f := range v.Write {
				fmt.Fprintf(&b, "  %s = %s\n", f.Path, f.Value)
			}
			fmt.Fprintf(&b, "vSphere, to read back:\n")
			for _, f := range v.Read {
				fmt.Fprintf(&b, "  %s = %s\n", f.Path, f.Value)
			}
			fmt.Fprintf(&b, "vmx:\n  %s\n", strings.Join(a.VMX(), "\n  "))
			args, err := a.QEMU()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "QEMU:\n")
			for i := 0; i < len(args); i += 2 {
				fmt.Fprintf(&b, "  %s %s\n", args[i], args[i+1])
			}
			x, err := a.Libvirt()
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&b, "libvirt:\n%s", x)
			wellFormed(t, x)
			golden(t, e.name+".txt", b.String())
		})
	}
}

func wellFormed(t *testing.T, x string) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader("<domain>" + x + "</domain>"))
	for {
		if _, err := d.Token(); err == io.EOF {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, x)
		}
	}
}

// level is the value of one level of -smp.
func level(t *testing.T, args []string, name string) int {
	t.Helper()
	for _, part := range strings.Split(args[1], ",") {
		if v, found := strings.CutPrefix(part, name+"="); found {
			n, err := strconv.Atoi(v)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatalf("no %s in %s", name, args[1])
	return 0
}

func TestLevelsMultiplyToAllCPUs(t *testing.T) {
	for n := 1; n <= 128; n++ {
		for _, h := range []Shape{smt(2, 20), epyc(4, 8, 4), epyc(1, 64, 8), smt(4, 24)} {
			for _, o := range []Options{{}, {VNUMAMin: 1, MaxSockets: 2}, {MaxCoresPerSocket: 4}} {
				a := advise(t, VM{VCPUs: n, Memory: gib}, o, h)
				args, err := a.QEMU()
				if err != nil {
					t.Fatal(err)
				}
				product := 1
				for _, name := range []string{"sockets", "dies", "clusters", "cores", "threads"} {
					product *= level(t, args, name)
				}
				if product != n || level(t, args, "maxcpus") != n || level(t, args, "cpus") != n || level(t, args, "clusters") != 1 {
					t.Fatalf("%d vCPUs: %s", n, args[1])
				}
			}
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	a := advise(t, VM{VCPUs: 24, Memory: gib}, Options{}, smt(2, 20))
	odd, none, tiny := a, a, a
	odd.VM.Memory, none.VM.Memory, tiny.VM.Memory = gib+1, 0, mib
	for name, a := range map[string]Advice{
		"memory of parts of a MiB": odd, "memory unknown": none, "less than a MiB for each": tiny, "no advice": {},
	} {
		if _, err := a.QEMU(); err == nil {
			t.Errorf("%s: QEMU arguments without an error", name)
		}
		if _, err := a.Libvirt(); err == nil {
			t.Errorf("%s: libvirt XML without an error", name)
		}
	}
}

// vSphere refuses to start a VM whose nodes and sockets do not divide each other.
func TestNodesAndSocketsDivide(t *testing.T) {
	for n := 1; n <= 96; n++ {
		for limit := range 6 {
			a := advise(t, VM{VCPUs: n}, Options{MaxSockets: limit}, smt(4, 14))
			if k := a.coresPerNode(); k > 0 && k%a.CoresPerSocket != 0 && a.CoresPerSocket%k != 0 {
				t.Fatalf("%d vCPUs: nodes of %d, sockets of %d", n, k, a.CoresPerSocket)
			}
		}
	}
}
