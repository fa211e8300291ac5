package network

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// commands are netperf's command lines with the settings that mean the same.
var commands = []struct {
	netperf  string
	settings parameter.Settings
}{
	{"netperf -t TCP_RR", parameter.Settings{"nodelay": "false"}},
	{"netperf -t TCP_RR -- -r 1,1 -b 4 -s 8K -S 8K -D", parameter.Settings{"burst": "4", "socket_buffer": "8KiB", "remote_buffer": "8KiB"}},
	{"netperf -t TCP_RR -- -r 100,2000", parameter.Settings{"request": "100B", "response": "2000B", "nodelay": "false"}},
	{"netperf -t UDP_RR -- -b 16", parameter.Settings{"test": "udp_rr", "burst": "16"}},
	{"netperf -t TCP_CRR -- -r 32,1K", parameter.Settings{"test": "tcp_crr", "request": "32B", "response": "1KiB", "nodelay": "false"}},
	{"netperf -t TCP_STREAM -- -m 64K", parameter.Settings{"test": "tcp_stream", "message": "64KiB", "nodelay": "false"}},
	{"netperf -t UDP_STREAM -- -m 256 -s 256K -S 256K", parameter.Settings{"test": "udp_stream", "message": "256B", "socket_buffer": "256KiB", "remote_buffer": "256KiB", "sending": "single"}},
	{"netperf -t UDP_STREAM -b 10 -w 1 -- -m 1K", parameter.Settings{"test": "udp_stream", "message": "1KiB", "rate": "10000/s", "tick": "1ms"}},
	{"four of netperf -t TCP_RR at once", parameter.Settings{"flows": "4", "threads": "4", "nodelay": "false"}},
}

func TestNetperfOptions(t *testing.T) {
	var text strings.Builder
	for _, c := range commands {
		n := made(t, c.settings).(*network)
		var set []string
		for _, name := range slices.Sorted(maps.Keys(c.settings)) {
			set = append(set, name+": "+c.settings[name])
		}
		d := n.Demand()
		fmt.Fprintf(&text, "%s\n  settings   {%s}\n  reflector  %+v\n  load       %d outstanding on %d connections, %g/s, %d bytes each\n\n",
			c.netperf, strings.Join(set, ", "), n.asked(), d.Concurrency, n.Flows, d.Rate, d.Classes[0].Bytes)
	}
	golden := filepath.Join("testdata", "netperf.txt")
	if *update {
		if err := cmp.Or(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(text.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil || string(want) != text.String() {
		t.Errorf("netperf's options mean\n%s\nwant\n%s%v", text.String(), want, err)
	}
}

// The page tells every setting, and no other.
func TestThePageTellsEverySetting(t *testing.T) {
	page, err := os.ReadFile("../../../docs/workloads/network.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range parameter.Fields(defaults()) {
		row := "| `" + f.Name + "` | "
		if f.Default == "" {
			row += "none |"
		} else {
			row += "`" + f.Default + "` |"
		}
		if !strings.Contains(string(page), row) {
			t.Errorf("the page has no row %q", row)
		}
	}
	for _, m := range own() {
		if !strings.Contains(string(page), "`"+m.Name+"`") {
			t.Errorf("the page does not tell %s", m.Name)
		}
	}
}

func TestSettingsAreRefused(t *testing.T) {
	for want, s := range map[string]parameter.Settings{
		"one of tcp_rr":                       {"test": "sctp_rr"},
		"a stream has a message":              {"test": "tcp_stream", "request": "2B"},
		"burst is for tests of requests":      {"test": "udp_stream", "burst": "1"},
		"think is for tests":                  {"test": "udp_stream", "think": "1ms"},
		"message is for streams":              {"message": "1KiB"},
		"sending is for udp_stream":           {"sending": "single"},
		"burst and tcp_crr":                   {"test": "tcp_crr", "burst": "1"},
		"rate and tcp_stream":                 {"test": "tcp_stream", "rate": "5/s"},
		"rate and think":                      {"rate": "5/s", "think": "1ms"},
		"shape requires rate":                 {"shape": "ramp"},
		"3 threads for 2 flows":               {"threads": "3", "flows": "2"},
		"at most 255 can be told apart":       {"test": "udp_rr", "burst": "256"},
		"must be 1 to 65507":                  {"test": "udp_stream", "message": "64KiB"},
		"its sequence number":                 {"test": "udp_stream", "message": "8B"},
		"test udp_rr: a request of 70000 and": {"test": "udp_rr", "request": "70000B", "response": "70000B"},
		"shape: ":                             {"rate": "5/s", "shape": "?"},
	} {
		if _, err := Kind().New(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: got %v, want %q", s, err, want)
		}
	}
}

func TestWithoutAReflector(t *testing.T) {
	l := made(t, nil)
	if err := l.Run(t.Context(), workload.Env{}, short(time.Second), nil); err == nil || !strings.Contains(err.Error(), "add the service reflector") {
		t.Errorf("got %v", err)
	}
	nobody := to(load.Endpoint{Network: "tcp", Address: "127.0.0.1:1"})
	for _, err := range []error{l.Run(t.Context(), nobody, short(time.Second), nil), check(t, l, nobody)} {
		if err == nil || !strings.Contains(err.Error(), "connect to the reflector") {
			t.Errorf("got %v", err)
		}
	}
	none := workload.Env{Target: func(string) (load.Endpoint, error) { return load.Endpoint{}, errors.New("no service runs") }}
	for _, env := range []workload.Env{{}, none} {
		if err := check(t, l, env); err != nil {
			t.Errorf("before any service is there, the check gives %v", err)
		}
	}
	if err := l.Run(t.Context(), none, short(time.Second), nil); err == nil || !strings.Contains(err.Error(), "no service runs") {
		t.Errorf("got %v", err)
	}
}

func check(t *testing.T, l workload.Load, env workload.Env) error {
	_, err := l.Check(t.Context(), env)
	return err
}
