package tenants

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// process makes /proc/PID of a tree: what its files lead to, its name and its arguments.
func process(t *testing.T, proc, pid, comm string, argv []string, files ...string) {
	t.Helper()
	folder := filepath.Join(proc, pid)
	if err := os.MkdirAll(filepath.Join(folder, "fd"), 0o755); err != nil {
		t.Fatal(err)
	}
	for i, target := range files {
		if err := os.Symlink(target, filepath.Join(folder, "fd", string(rune('0'+i)))); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{"comm": comm + "\n", "cmdline": strings.Join(argv, "\x00") + "\x00"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVMsAreCounted(t *testing.T) {
	proc := t.TempDir()
	process(t, proc, "1", "init", nil, "/dev/null")
	process(t, proc, "20", "qemu-system-x86", []string{"qemu-system-x86_64", "-smp", "9"}, "/dev/kvm", vmFile, vcpuFile+":0", vcpuFile+":1", "anon_inode:kvm-vcpu-stats:0")
	process(t, proc, "21", "firecracker", nil, vmFile, vcpuFile)
	process(t, proc, "22", "qemu-system-x86", []string{"qemu-system-x86_64", "-m", "128", "-smp", "4,sockets=2"}, "/dev/null")
	process(t, proc, "23", "qemu-nbd", []string{"qemu-nbd", "-smp", "4"})
	process(t, proc, "self", "qemu-system-x86", nil, vmFile)
	if err := os.MkdirAll(filepath.Join(proc, "24"), 0o755); err != nil { // it ends just now
		t.Fatal(err)
	}
	c, err := countVMs(proc)
	if want := (Count{VMs: 3, VCPUs: 2 + 1 + 4}); err != nil || c != want {
		t.Errorf("%+v, %v, want %+v", c, err, want)
	}
	if _, err := countVMs(filepath.Join(proc, "none")); err == nil {
		t.Error("a host without /proc passed")
	}
}

func TestVCPUsOfArguments(t *testing.T) {
	for line, want := range map[string]int{
		"":                            1,
		"qemu":                        1,
		"qemu -smp":                   1,
		"qemu -smp 4":                 4,
		"qemu -m 1G -smp cpus=8":      8,
		"qemu -smp sockets=2,cpus=6":  6,
		"qemu -smp 3,maxcpus=8":       3,
		"qemu -smp x":                 1,
		"qemu -smp 0":                 1,
		"qemu -smp 99999999999999999": 1,
		"qemu --smp 2":                2,
	} {
		if got := smp(strings.Fields(line)); got != want {
			t.Errorf("%q: %d vCPUs, want %d", line, got, want)
		}
	}
}

func FuzzVCPUsOfArguments(f *testing.F) {
	f.Add("-smp 4")
	f.Add("-smp cpus=,cpus=2")
	f.Fuzz(func(t *testing.T, line string) {
		if n := smp(strings.Fields(line)); n < 1 || n > 1<<16 {
			t.Errorf("%q: %d vCPUs", line, n)
		}
	})
}

// attribute encodes an attribute of a link.
func attribute(kind int, value []byte) []byte {
	b := binary.NativeEndian.AppendUint16(nil, uint16(4+len(value)))
	b = binary.NativeEndian.AppendUint16(b, uint16(kind))
	b = append(b, value...)
	return append(b, make([]byte, (4-len(b)%4)%4)...)
}

// message encodes a link as the kernel lists it.
func message(index, flags int, attributes ...[]byte) []byte {
	body := make([]byte, syscall.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(body[4:], uint32(index))
	binary.NativeEndian.PutUint32(body[8:], uint32(flags))
	for _, a := range attributes {
		body = append(body, a...)
	}
	b := binary.NativeEndian.AppendUint32(nil, uint32(syscall.SizeofNlMsghdr+len(body)))
	b = binary.NativeEndian.AppendUint16(b, syscall.RTM_NEWLINK)
	return append(append(b, make([]byte, 10)...), body...)
}

func number(n int32) []byte { return binary.NativeEndian.AppendUint32(nil, uint32(n)) }

func kind(name string) []byte {
	const nested = 0x8000
	return attribute(attributeInfo|nested, append(attribute(2, []byte{1, 2, 3}), attribute(attributeKind, []byte(name+"\x00"))...))
}

// listed is an answer of the kernel.
func listed() []byte {
	var all []byte
	for _, m := range [][]byte{
		message(1, syscall.IFF_UP|syscall.IFF_LOOPBACK, attribute(attributeName, []byte("lo\x00"))),
		message(2, syscall.IFF_UP, attribute(attributeName, []byte("eth0\x00")), attribute(51, make([]byte, 9))),
		message(7, syscall.IFF_UP, attribute(attributeName, []byte("vc1\x00")), attribute(attributeNamespace, number(0)), kind("veth")),
		message(8, 0, attribute(attributeName, []byte("vc2\x00")), attribute(attributeNamespace, number(0)), kind("veth")),
		message(9, syscall.IFF_UP, attribute(attributeName, []byte("vc3\x00")), attribute(attributeNamespace, number(5)), kind("veth")),
		message(10, syscall.IFF_UP, attribute(attributeName, []byte("vhere\x00")), kind("veth")),
		message(11, syscall.IFF_UP, attribute(attributeName, []byte("tap0\x00")), kind("tun")),
		message(12, syscall.IFF_UP, attribute(attributeName, []byte("../x\x00"))),
	} {
		all = append(all, m...)
	}
	return all
}

func TestLinksOfTheKernel(t *testing.T) {
	links, err := parseLinks(listed())
	if err != nil {
		t.Fatal(err)
	}
	want := []Link{
		{Name: "lo", Index: 1, Up: true, Loopback: true, Namespace: -1},
		{Name: "eth0", Index: 2, Up: true, Namespace: -1},
		{Name: "vc1", Index: 7, Kind: "veth", Up: true, Namespace: 0},
		{Name: "vc2", Index: 8, Kind: "veth", Namespace: 0},
		{Name: "vc3", Index: 9, Kind: "veth", Up: true, Namespace: 5},
		{Name: "vhere", Index: 10, Kind: "veth", Up: true, Namespace: -1},
		{Name: "tap0", Index: 11, Kind: "tun", Up: true, Namespace: -1},
	}
	if len(links) != len(want) {
		t.Fatalf("%d links, want %d: %+v", len(links), len(want), links)
	}
	for i, l := range links {
		if l != want[i] {
			t.Errorf("%+v, want %+v", l, want[i])
		}
	}
	if n := containers(links); n != 2 {
		t.Errorf("%d containers, want 2", n)
	}
	links[4].Uplink = true
	if n := containers(links); n != 1 {
		t.Errorf("%d containers beside the one that this host is in, want 1", n)
	}
}

func FuzzLinks(f *testing.F) {
	f.Add(listed())
	f.Add(message(1, 0, attribute(attributeName, []byte("eth0\x00")))[:20])
	f.Fuzz(func(t *testing.T, answer []byte) {
		links, err := parseLinks(answer)
		if err != nil {
			return
		}
		for _, l := range links {
			if l.Name == "" || strings.Contains(l.Name, "/") {
				t.Errorf("a link is called %q", l.Name)
			}
		}
	})
}

const routes = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	010200C0	0003	0	0	0	00000000	0	0	0
eth0	000200C0	00000000	0001	0	0	0	00FFFFFF	0	0	0
tun0	00000000	010200C0	0003	0	0	0	00000080	0	0	0
`

func TestDefaultRoute(t *testing.T) {
	if got := defaultRoute(routes); len(got) != 1 || !got["eth0"] {
		t.Errorf("%v, want eth0", got)
	}
	if got := defaultRoute(""); len(got) != 0 {
		t.Errorf("%v without routes", got)
	}
}

func FuzzDefaultRoute(f *testing.F) {
	f.Add(routes)
	f.Fuzz(func(t *testing.T, table string) {
		for name := range defaultRoute(table) {
			if name == "" || strings.ContainsAny(name, " \t\n") {
				t.Errorf("interface %q", name)
			}
		}
	})
}

func TestTUNFlags(t *testing.T) {
	for flags, want := range map[string]bool{"0x1002\n": false, "0x1012\n": true, "": false, "x": false, "0x5112": true} {
		if got := tunPolls(flags); got != want {
			t.Errorf("%q: %v, want %v", flags, got, want)
		}
	}
}

func TestThisHost(t *testing.T) {
	c, links, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	if c.VMs < 0 || c.VCPUs < 0 || c.Containers < 0 {
		t.Errorf("%+v", c)
	}
	for _, l := range links {
		if l.Name == "lo" {
			if !l.Loopback || l.Physical || l.Tenant() || l.Index != 1 {
				t.Errorf("the loopback is %+v", l)
			}
			return
		}
	}
	t.Errorf("no loopback among %+v", links)
}
