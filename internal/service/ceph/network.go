package ceph

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// The networks of a private cluster.
const (
	hostNetwork = "host"
	namespace   = "namespace" // its loopback connects the OSDs, and a link to the host their clients
)

// addresses are both ends of the link to a namespace: a network of four addresses for each port, in the range for tests of networks.
//
// Source: RFC 2544, 198.18.0.0/15.
func addresses(port int) (near, far string) {
	net := 198<<24 + 18<<16 + port<<1&^3
	text := func(n int) string { return fmt.Sprintf("%d.%d.%d.%d", n>>24, n>>16&255, n>>8&255, n&255) }
	return text(net + 1), text(net + 2)
}

// shaping is the queueing discipline of the loopback of the namespace: a token bucket; empty for none.
func (s Settings) shaping() string {
	if s.Bandwidth == 0 {
		return ""
	}
	const packet, queue = 128 << 10, 16 << 20 // more than the largest packet of a loopback; more than OSDs have outstanding
	return fmt.Sprintf("tbf rate %dbit burst %db limit %db", 8*int64(s.Bandwidth), max(packet, int64(s.Bandwidth)/100), int64(queue))
}

// fitsNetwork finds what is missing for a namespace.
func (s Settings) fitsNetwork(ctx context.Context, m platform.Machine) error {
	if s.Network != namespace {
		return nil
	}
	id, err := m.Run(ctx, platform.Command{Argv: []string{"id", "-u"}})
	if err != nil {
		return err
	}
	if strings.TrimSpace(string(id.Stdout)) != "0" {
		return errors.New("network namespace requires root: run plimsoll as root, or set network: host")
	}
	for program, from := range map[string]string{"ip": "iproute2", "tc": "iproute2", "unshare": "util-linux", "nsenter": "util-linux"} {
		if r, err := m.Run(ctx, platform.Command{Argv: []string{"sh", "-c", "command -v " + program}}); err != nil || r.Exit != 0 {
			return fmt.Errorf("network namespace requires %s: apt install %s", program, from)
		}
	}
	return nil
}

// observeNetwork reads the network of the OSDs back, from the namespace of the first.
func (d *daemons) observeNetwork(ctx context.Context, observed map[string]string) error {
	pid, err := d.machine.ReadFile(ctx, path.Join(d.dir, osd(0)+".pid"))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", osd(0), err)
	}
	of := "/proc/" + strings.TrimSpace(string(pid)) + "/ns/net"
	r, err := d.machine.Run(ctx, platform.Command{Argv: []string{"readlink", "/proc/self/ns/net", of}})
	if err != nil {
		return err
	}
	ends := strings.Fields(string(r.Stdout))
	switch {
	case len(ends) < 2: // of another user
		return nil
	case ends[0] == ends[1]:
		observed["network"], observed["network_rate"] = hostNetwork, parameter.Bytes(0).String() // a rate exists in a namespace only
		return nil
	}
	observed["network"] = namespace
	if r, err = d.machine.Run(ctx, platform.Command{Argv: []string{"nsenter", "--net=" + of, "tc", "-j", "qdisc", "show", "dev", "lo"}}); err != nil {
		return err
	}
	rate, err := parseShaping(r.Stdout)
	observed["network_rate"] = rate.String()
	return err
}

// parseShaping reads the rate from the answer of tc -j qdisc show; 0 without a token bucket.
func parseShaping(text []byte) (rate parameter.Bytes, err error) {
	var all []struct {
		Kind    string `json:"kind"`
		Options struct {
			Rate int64 `json:"rate"` // bytes per second
		} `json:"options"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return 0, fmt.Errorf("parse the queueing discipline of the loopback: %w", err)
	}
	for _, q := range all {
		if q.Kind == "tbf" {
			rate = parameter.Bytes(q.Options.Rate)
		}
	}
	return rate, nil
}
