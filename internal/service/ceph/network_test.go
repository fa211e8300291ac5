package ceph

import (
	"context"
	"net/netip"
	"strings"
	"testing"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/router"
	"plimsoll/internal/service/ceph/counter"
)

func TestSubnets(t *testing.T) {
	of := netip.MustParsePrefix("198.18.0.0/15")
	seen := map[netip.Addr]int{}
	links := map[string]bool{}
	for port := 30000; port < 30000+2048; port++ {
		n := subnetOf(port)
		for osd := -1; osd < 32; osd++ {
			at := n.host()
			if osd >= 0 {
				at = n.osd(osd)
			}
			if other, taken := seen[at]; taken || !of.Contains(at) || !n.prefix.Contains(at) {
				t.Fatalf("port %d: %s of %s, which port %d has too", port, at, n.prefix, other)
			}
			seen[at] = port
		}
		if links[n.link()] || len(n.link()+"x31") > 15 {
			t.Fatalf("port %d: link %s", port, n.link())
		}
		links[n.link()] = true
	}
	n := subnetOf(2047)
	if n.host().String() != "198.19.255.193" || n.osd(31).String() != "198.19.255.225" {
		t.Errorf("%s, %s", n.host(), n.osd(31))
	}
}

func TestRouterOfSites(t *testing.T) {
	s := Settings{OSDs: 4, Sites: 2, Network: namespaces, Latency: 1, SiteLatency: 2, Bandwidth: 3}
	o := s.router("/dir", subnetOf(0))
	if o.Settings != (router.Settings{Latency: 1, SiteLatency: 2, Rate: 3}) || o.Socket != "/dir/net.sock" || len(o.Ports) != 5 {
		t.Errorf("%+v", o)
	}
	for i, want := range []router.Port{
		{Name: "osd.0", Address: netip.MustParseAddr("198.18.0.2"), Device: "tun0", Site: 1, Namespace: "/dir/osd.0.netns"},
		{Name: "osd.1", Address: netip.MustParseAddr("198.18.0.3"), Device: "tun0", Site: 1, Namespace: "/dir/osd.1.netns"},
		{Name: "osd.2", Address: netip.MustParseAddr("198.18.0.4"), Device: "tun0", Site: 2, Namespace: "/dir/osd.2.netns"},
		{Name: "osd.3", Address: netip.MustParseAddr("198.18.0.5"), Device: "tun0", Site: 2, Namespace: "/dir/osd.3.netns"},
		{Name: "clients", Address: netip.MustParseAddr("198.18.0.1"), Device: "plimsoll0", Site: 1},
	} {
		if o.Ports[i] != want {
			t.Errorf("port %d is %+v, want %+v", i, o.Ports[i], want)
		}
	}
	if s.Sites = 1; len(s.router("/dir", subnetOf(0)).Ports) != 4 {
		t.Error("clients of one site have a port of the router")
	}
}

// A router that says of itself what its round trips disprove is found out.
func TestTruthful(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		set   router.Settings
		trips map[string]time.Duration
		want  string
	}{
		{router.Settings{Latency: 5 * ms}, map[string]time.Duration{counter.NetworkRTT: 10 * ms}, ""},
		{router.Settings{Latency: 5 * ms}, map[string]time.Duration{counter.NetworkRTT: 9 * ms}, "a round trip between OSDs takes 9ms, which is less than the 10ms of the settings of the router"},
		{router.Settings{Latency: 5 * ms, SiteLatency: ms}, map[string]time.Duration{counter.SitesRTT: 11 * ms}, "less than the 12ms"},
		{router.Settings{SiteLatency: ms}, map[string]time.Duration{counter.NetworkRTT: ms / 10, counter.SitesRTT: 2 * ms}, ""},
		{router.Settings{}, nil, ""},
	} {
		err := truthful(c.set, c.trips)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, %v: %v", c.set, c.trips, err)
		}
	}
}

// lacking is a machine on which a command fails, and on which all others say that they are run by root.
type lacking struct {
	platform.Machine
	command string
}

func (m lacking) Name() string { return "bare" }

func (m lacking) Run(_ context.Context, c platform.Command) (platform.Result, error) {
	if m.command != "" && strings.Contains(c.Argv[len(c.Argv)-1], m.command) {
		return platform.Result{Exit: 1, Stderr: []byte("sh: not permitted\n")}, nil
	}
	return platform.Result{Stdout: []byte("0\n")}, nil
}

// What namespaces lack is said in one line before the start.
func TestMissingForNamespaces(t *testing.T) {
	s := defaults()
	if err := s.fitsNetwork(t.Context(), lacking{command: "id -u"}); err != nil {
		t.Errorf("the network of the host requires nothing: %v", err)
	}
	s.Network = namespaces
	for command, want := range map[string]string{
		"id -u":              "network namespaces requires root: run plimsoll as root, or set network: host",
		"command -v ip":      "network namespaces requires ip: apt install iproute2",
		"command -v nsenter": "network namespaces requires nsenter: apt install util-linux",
		"unshare --net":      "network namespaces requires permission to create network namespaces, or set network: host: sh: not permitted",
		"/dev/net/tun":       "network namespaces requires /dev/net/tun, or set network: host: sh: not permitted",
		"":                   "network namespaces requires a router: machine bare has no copy of plimsoll: set the address of a running service",
	} {
		if err := s.fitsNetwork(t.Context(), lacking{command: command}); err == nil || err.Error() != want {
			t.Errorf("without %q: got %v, want %s", command, err, want)
		}
	}
}
