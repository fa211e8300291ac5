package guest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/agent"
	"plimsoll/internal/factor"
	"plimsoll/internal/guest/provision"
	"plimsoll/internal/load"
	"plimsoll/internal/load/peer"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/service/reflector"
)

// running counts the QEMUs of a platform.
func running(t *testing.T, b *testbed) int {
	t.Helper()
	out, err := exec.Command("pgrep", "-fc", "qemu-system.*"+b.home.Path+"/").Output()
	n, bad := strconv.Atoi(strings.TrimSpace(string(out)))
	if bad != nil {
		t.Fatalf("%s, %v", out, err)
	}
	return n
}

func members(t *testing.T, b *testbed, g platform.Group) []platform.Machine {
	t.Helper()
	all, err := platform.MembersOf(t.Context(), b, g)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// said passes on the first line of what a program says.
type said struct {
	line chan string
	text bytes.Buffer
}

func (s *said) Write(p []byte) (int, error) {
	before := bytes.Contains(s.text.Bytes(), []byte("\n"))
	s.text.Write(p)
	if line, _, whole := strings.Cut(s.text.String(), "\n"); whole && !before {
		s.line <- line
	}
	return len(p), nil
}

// reflecting starts a reflector on a machine until the test ends.
func reflecting(t *testing.T, m platform.Machine) load.Endpoint {
	t.Helper()
	address, err := m.(platform.Connected).Address(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	self, err := m.(platform.Carrier).Self(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := &said{line: make(chan string, 1)}, make(chan error, 1)
	go func() {
		r, err := m.Run(ctx, platform.Command{
			Argv: []string{self, reflector.Command}, Stdin: bytes.NewReader(reflector.Options{Listen: address + ":0"}.Line()), Stdout: heard,
		})
		ended <- fmt.Errorf("%s %v", r.Stderr, err)
	}()
	t.Cleanup(func() { cancel(); <-ended })
	select {
	case line := <-heard.line:
		return load.Endpoint{Network: "tcp", Address: strings.TrimPrefix(line, "reflector listens at ")}
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
	return load.Endpoint{}
}

// exchanged is what a worker on a machine measured against a reflector elsewhere.
func exchanged(t *testing.T, m platform.Machine, at load.Endpoint) (operations int64, mean time.Duration) {
	t.Helper()
	out := measure.NewRecorder(nil)
	job := agent.Job{
		Workload: "network", Settings: parameter.Settings{"test": "tcp_rr"}, Dir: "/tmp/study", Seed: 1,
		Stage: load.Stage{Length: time.Second, Interval: time.Second / 2, Seed: 1}, Targets: map[string]load.Endpoint{peer.Protocol: at},
	}
	if err := agent.Run(t.Context(), agent.Env{Machine: m, Log: t.Logf}, job, out); err != nil {
		t.Fatal(err)
	}
	latency := measure.NewHistogram()
	for _, i := range out.Intervals() {
		for _, s := range i.Samples {
			operations += s.Operations
			if h := i.Latency(s.Class); h != nil {
				latency.Merge(h)
			}
		}
	}
	return operations, latency.Mean()
}

func roundTrip(t *testing.T, m platform.Machine) time.Duration {
	t.Helper()
	d, err := m.(platform.Wired).RoundTrip(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Groups have exactly as many guests as they want. Requests go from one to another
// through the switch, slower where a guest delays its packets.
func TestGroupsOfGuestsTalk(t *testing.T) {
	b := booted(t, small)
	server := members(t, b, platform.Group{Name: "server", Machines: 1, Settings: parameter.Settings{"nic": "vmxnet3"}})
	var clients []platform.Machine
	for _, want := range []int{2, 1, 2} {
		clients = members(t, b, platform.Group{Name: "client", Machines: want})
		if n := running(t, b); n != want+1 || len(clients) != want || clients[want-1].Name() != fmt.Sprintf("client-%d", want) {
			t.Errorf("%d QEMUs and %v; want %d clients and a server", n, clients, want)
		}
	}
	client := clients[0].(*machine)
	at := reflecting(t, server[0])
	direct, before := exchanged(t, client, at)
	if d := roundTrip(t, client); d <= 0 || d > 20*time.Millisecond {
		t.Errorf("a round trip of %s through the switch", d)
	}
	delay, place := factor.Latency(), factor.Env{Machine: client, Target: provision.Ethernet}
	if err := delay.Set(t.Context(), place, "20ms"); err != nil {
		t.Fatal(err)
	}
	if level, err := delay.Get(t.Context(), place); err != nil || level != "20ms" {
		t.Errorf("the latency is read back as %q, %v", level, err)
	}
	delayed, after := exchanged(t, client, at)
	t.Logf("%d exchanges of %s on average at %s; 20 ms further away %d of %s", direct, before, at.Address, delayed, after)
	if direct == 0 || delayed == 0 || after < 20*time.Millisecond {
		t.Errorf("%d exchanges of %s, and with 20 ms more %d of %s", direct, before, delayed, after)
	}
	near, far := roundTrip(t, server[0]), roundTrip(t, client) // both cross the same delay
	t.Logf("round trips of %s from the server and %s from the client", near, far)
	if near < 20*time.Millisecond || far < 20*time.Millisecond {
		t.Errorf("round trips of %s and %s with a delay of 20 ms", near, far)
	}
	if c, wired := client.Traffic(); !wired || int64(c.FramesOut) < direct+delayed || c.FramesIn == 0 || c.BytesIn < 60*c.FramesIn || c.Lost != 0 {
		t.Errorf("the switch carried %+v for %d exchanges", c, direct+delayed)
	}
	if _, err := factorOf("guest.nic").Check(t.Context(), factor.Env{Machine: client}, "e1000e"); err == nil || !strings.Contains(err.Error(), "e1000e") {
		t.Errorf("a card whose driver the kernel lacks: %v", err)
	}
	for m, want := range map[platform.Machine]string{server[0]: "vmxnet3", client: "virtio-net"} {
		if got, err := factorOf("guest.nic").Get(t.Context(), factor.Env{Machine: m}); err != nil || got != want {
			t.Errorf("the card is read back as %q, %v; want %s", got, err, want)
		}
	}
}
