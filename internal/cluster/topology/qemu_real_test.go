package topology

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// seat is the position of a vCPU in QEMU.
type seat struct {
	Socket int  `json:"socket-id"`
	Die    int  `json:"die-id"`
	Core   int  `json:"core-id"`
	Thread int  `json:"thread-id"`
	Node   *int `json:"node-id"`
}

// QEMU accepts the arguments, and places the vCPUs as recommended.
func TestQEMUTakesTheArguments(t *testing.T) {
	if os.Getenv("PLIMSOLL_REAL") == "" {
		t.Skip("set PLIMSOLL_REAL=1 to start QEMU, without a guest, with what is written for it")
	}
	qemu, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		t.Skip("qemu-system-x86_64 is not installed: what is written for QEMU was not tried on one")
	}
	for _, e := range emissions() {
		t.Run(e.name, func(t *testing.T) {
			if e.m.Memory > e.host.MemoryPerNode {
				e.host.MemoryPerNode = 40 * mib
			}
			e.m.Memory = 64 * mib // nothing runs, and this VM may be small
			a := advise(t, e.m, e.o, e.host)
			args, err := a.QEMU()
			if err != nil {
				t.Fatal(err)
			}
			seats := seatsOf(t, qemu, args)
			compareSeats(t, a, seats)
		})
	}
}

// seatsOf starts QEMU with stopped processors, reads the positions, and ends it.
func seatsOf(t *testing.T, qemu string, args []string) []seat {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	fixed := []string{"-machine", "q35,accel=tcg", "-S", "-display", "none", "-nodefaults", "-no-user-config", "-qmp", "stdio"}
	cmd := exec.CommandContext(ctx, qemu, append(fixed, args...)...)
	cmd.Stdin = strings.NewReader(`{"execute":"qmp_capabilities"}{"execute":"query-hotpluggable-cpus"}{"execute":"quit"}`)
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v with %s\n%s", err, strings.Join(args, " "), complaints.String())
	}
	if complaints.Len() > 0 {
		t.Errorf("QEMU complains: %s", complaints.String())
	}
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var answer struct {
			Return []struct{ Props seat }
		}
		if json.Unmarshal(lines.Bytes(), &answer) == nil && len(answer.Return) > 0 {
			var seats []seat
			for _, r := range answer.Return {
				seats = append(seats, r.Props)
			}
			return seats
		}
	}
	t.Fatalf("QEMU names no vCPU:\n%s", out)
	return nil
}

func compareSeats(t *testing.T, a Advice, seats []seat) {
	t.Helper()
	if len(seats) != a.VM.VCPUs {
		t.Fatalf("%d vCPUs, want %d", len(seats), a.VM.VCPUs)
	}
	sockets, caches, nodes := map[int]int{}, map[[2]int]int{}, map[int]int{}
	for _, s := range seats {
		sockets[s.Socket]++
		caches[[2]int{s.Socket, s.Die}]++
		if s.Node != nil {
			nodes[*s.Node]++
		}
	}
	for s, n := range sockets {
		if n != a.CoresPerSocket {
			t.Errorf("socket %d has %d vCPUs, want %d", s, n, a.CoresPerSocket)
		}
	}
	if want := a.Sockets * a.dies(); len(caches) != want {
		t.Errorf("%d dies, want %d", len(caches), want)
	}
	want := map[int]int{0: a.VM.VCPUs}
	if a.Exposed {
		want = map[int]int{}
		for i, n := range a.Nodes {
			want[i] = n.VCPUs
		}
	}
	if fmt.Sprint(nodes) != fmt.Sprint(want) {
		t.Errorf("vCPUs by node %v, want %v", nodes, want)
	}
}
