package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
)

// cables are the addresses of cables, which are set aside for tests of networks
// (RFC 2544, appendix C.2.2). Each cable has two; each run a block of them.
const (
	cables     = "198.18.0.0/15"
	blocks     = 16
	addresses  = 1 << 17
	perBlock   = addresses / blocks
	deferrals  = 100 // polls without work after which NAPI waits for an interrupt again; each lasts as long as the flush of GRO
	tearingOff = time.Minute
)

// wiring creates network namespaces, each connected to the host by a veth pair. TSO is off and
// GRO on, so that packets have wire size and pass NAPI at the other end, as on the network
// card of a VM.
type wiring struct {
	machine  platform.Machine
	tools    tools
	dir      string // of the service
	run      string // distinguishes the names of this run from those of others
	block    int    // of addresses
	batching parameter.Duration
}

type tools struct{ ip, ethtool Found }

// enterable fails where "ip netns exec" does: it makes all mounts slaves of the host's, beginning with the root folder.
const enterable = "! command -v unshare >/dev/null || exec unshare --mount --propagation slave true"

func findTools(ctx context.Context, m platform.Machine) (t tools, err error) {
	uid, err := output(ctx, m, "id", "-u")
	if err != nil {
		return t, err
	}
	if strings.TrimSpace(uid) != "0" {
		return t, fmt.Errorf("network %s needs root: run plimsoll with sudo, or leave network at %s", inNamespaces, onHost)
	}
	if _, err := output(ctx, m, "sh", "-c", enterable); err != nil {
		return t, fmt.Errorf("network %s needs a root folder that is a mount point, which a chroot has not: leave network at %s (%w)", inNamespaces, onHost, err)
	}
	t.ip, err = Program{Names: []string{"ip"}, Version: []string{"-V"}, Install: "apt install iproute2 (or dnf install iproute)"}.Find(ctx, m)
	if err != nil {
		return t, err
	}
	t.ethtool, err = Program{Names: []string{"ethtool"}, Version: []string{"--version"}, Install: "apt install ethtool (or dnf install ethtool)"}.Find(ctx, m)
	return t, err
}

// runName is determined by the folder of a service, so that the leftovers of a dead run can be
// found.
func runName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:3])
}

func namespacePrefix(dir string) string { return "plimsoll-" + runName(dir) + "-" }

func newWiring(ctx context.Context, env Env, batching parameter.Duration) (*wiring, error) {
	t, err := findTools(ctx, env.Machine)
	if err != nil {
		return nil, err
	}
	if err := Unwire(ctx, env.Machine, env.Dir); err != nil {
		return nil, err
	}
	if _, err := output(ctx, env.Machine, "sh", "-c", `grep -q " /run/netns " /proc/self/mountinfo || { mkdir -p -- "$(dirname -- "$1")" && touch -- "$1"; }`, "sh", mountMark(env.Dir)); err != nil {
		return nil, fmt.Errorf("find the mount of network namespaces: %w", err)
	}
	w := &wiring{dir: env.Dir, machine: env.Machine, tools: t, run: runName(env.Dir), batching: batching}
	w.block, err = w.freeBlock(ctx)
	return w, err
}

// freeBlock finds a block of which the host has no address.
func (w *wiring) freeBlock(ctx context.Context) (int, error) {
	listed, err := output(ctx, w.machine, w.tools.ip.Name, "-4", "-o", "address", "show")
	if err != nil {
		return 0, fmt.Errorf("list addresses: %w", err)
	}
	taken := map[int]bool{}
	all, first := netip.MustParsePrefix(cables), offset(netip.MustParsePrefix(cables).Addr())
	for field := range strings.FieldsSeq(listed) {
		if p, err := netip.ParsePrefix(field); err == nil && all.Contains(p.Addr()) {
			taken[(offset(p.Addr())-first)/perBlock] = true
		}
	}
	hashed, err := strconv.ParseUint(w.run, 16, 32)
	if err != nil {
		return 0, fmt.Errorf("choose addresses: %w", err)
	}
	for i := range blocks {
		if b := (int(hashed) + i) % blocks; !taken[b] {
			return b, nil
		}
	}
	return 0, fmt.Errorf("the host has addresses in all parts of %s: end what uses them, or leave network at %s", cables, onHost)
}

func offset(a netip.Addr) int {
	b := a.As4()
	return int(b[0])<<24 | int(b[1])<<16 | int(b[2])<<8 | int(b[3])
}

// address is that of the inner or the outer end of a veth pair.
func (w *wiring) address(i, end int) string {
	n := offset(netip.MustParsePrefix(cables).Addr()) + w.block*perBlock + 2*i + end
	return netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)}).String()
}

func (w *wiring) namespace(i int) string { return fmt.Sprintf("plimsoll-%s-%d", w.run, i) }

// outer is the interface on the host; the inner one is eth0. Names have at most 15 bytes.
func (w *wiring) outer(i int) string { return fmt.Sprintf("pl%sx%d", w.run, i) }

// plug makes a namespace and its cable, and says how a server is started in it.
func (w *wiring) plug(ctx context.Context, env Env, i int) (Env, error) {
	if 2*i >= perBlock {
		return env, fmt.Errorf("not enough addresses: for %d servers only", perBlock/2)
	}
	outside := []string{
		"netns add " + w.namespace(i),
		"link add " + w.outer(i) + " type veth peer name eth0 netns " + w.namespace(i),
		"address add " + w.address(i, 1) + "/31 dev " + w.outer(i),
		"link set " + w.outer(i) + " up",
	}
	if err := w.batch(ctx, outside); err != nil {
		return env, fmt.Errorf("create a network namespace: %w", err)
	}
	ip := w.tools.ip.Name
	inside := ip + " address add " + w.address(i, 0) + "/31 dev eth0 && " + ip + " link set eth0 up && " + ip + " link set lo up && " + w.tune("eth0")
	if _, err := output(ctx, w.machine, append(w.enter(i), "sh", "-c", inside)...); err != nil {
		return env, fmt.Errorf("configure a network namespace: %w", err)
	}
	if _, err := output(ctx, w.machine, "sh", "-c", w.tune(w.outer(i))); err != nil {
		return env, fmt.Errorf("configure a veth pair: %w", err)
	}
	env.Host, env.Via = w.address(i, 0), w.enter(i)
	return env, nil
}

// tune is the shell command that configures one end of a veth pair.
func (w *wiring) tune(end string) string {
	text := w.tools.ethtool.Name + " -K " + end + " tso off gro on"
	if w.batching == 0 {
		return text
	}
	return fmt.Sprintf("%s && echo %d > /sys/class/net/%s/napi_defer_hard_irqs && echo %d > /sys/class/net/%s/gro_flush_timeout",
		text, deferrals, end, time.Duration(w.batching).Nanoseconds(), end)
}

func (w *wiring) enter(i int) []string {
	return []string{w.tools.ip.Name, "netns", "exec", w.namespace(i)}
}

func (w *wiring) batch(ctx context.Context, lines []string) error {
	ctx, cancel := context.WithTimeout(ctx, tearingOff)
	defer cancel()
	return ipBatch(ctx, w.machine, w.tools.ip.Name, lines)
}

func ipBatch(ctx context.Context, m platform.Machine, ip string, lines []string) error {
	r, err := m.Run(ctx, platform.Command{
		Argv: []string{ip, "-batch", "-"}, Stdin: strings.NewReader(strings.Join(lines, "\n") + "\n"),
	})
	if err != nil {
		return err
	}
	if r.Exit != 0 {
		return errors.New(strings.TrimSpace(string(r.Stderr)))
	}
	return nil
}

// unplug removes a namespace and its cable.
func (w *wiring) unplug(ctx context.Context, i int) error {
	ctx = context.WithoutCancel(ctx)
	err := w.batch(ctx, []string{"link delete " + w.outer(i), "netns delete " + w.namespace(i)})
	if err == nil {
		return unmount(ctx, w.machine, w.dir)
	}
	// It is also gone if another process removed it, or if it never existed.
	_, there := output(ctx, w.machine, "sh", "-c", "test ! -e /sys/class/net/"+w.outer(i)+" && test ! -e /run/netns/"+w.namespace(i))
	if there != nil {
		return fmt.Errorf("remove a network namespace: %w", err)
	}
	return nil
}

// observe reads how long packets wait from both ends of the first cable.
func (w *wiring) observe(ctx context.Context) (string, error) {
	read := func(end string) []string {
		return []string{"cat", "/sys/class/net/" + end + "/napi_defer_hard_irqs", "/sys/class/net/" + end + "/gro_flush_timeout"}
	}
	outside, err := output(ctx, w.machine, read(w.outer(0))...)
	if err != nil {
		return "", fmt.Errorf("read the settings of a cable: %w", err)
	}
	inside, err := output(ctx, w.machine, append(w.enter(0), read("eth0")...)...)
	if err != nil {
		return "", fmt.Errorf("read the settings of a cable: %w", err)
	}
	if inside != outside {
		return "", fmt.Errorf("the ends of a cable differ: %q and %q", strings.Fields(outside), strings.Fields(inside))
	}
	var deferred, flush int64
	if _, err := fmt.Sscan(outside, &deferred, &flush); err != nil {
		return "", fmt.Errorf("read the settings of a cable: %q: %w", outside, err)
	}
	if deferred == 0 {
		flush = 0
	}
	return parameter.Duration(flush).String(), nil
}

// Unwire removes the namespaces and cables that a service left which was started in
// the folder, and whose run died.
func Unwire(ctx context.Context, m platform.Machine, dir string) error {
	var listed []string
	for _, folder := range []string{"/run/netns", "/sys/class/net"} {
		r, err := m.Run(ctx, platform.Command{Argv: []string{"ls", "--", folder}}) // an absent one contains nothing
		if err != nil {
			return fmt.Errorf("list network namespaces: %w", err)
		}
		listed = append(listed, strings.Fields(string(r.Stdout))...)
	}
	var lines []string
	for _, name := range listed {
		switch {
		case strings.HasPrefix(name, namespacePrefix(dir)):
			lines = append(lines, "netns delete "+name)
		case strings.HasPrefix(name, "pl"+runName(dir)+"x"):
			lines = append([]string{"link delete " + name}, lines...)
		}
	}
	if len(lines) > 0 {
		if err := ipBatch(ctx, m, "ip", lines); err != nil {
			return fmt.Errorf("remove the network namespaces that a service left: %w", err)
		}
	}
	return unmount(ctx, m, dir)
}

// mountMark is the file that says that /run/netns, which ip mounts for the first namespace, was no mount before.
func mountMark(dir string) string { return dir + ".netns-mount" }

// unmount removes the mount of network namespaces if it was made for this service and is
// empty.
func unmount(ctx context.Context, m platform.Machine, dir string) error {
	r, err := m.Run(ctx, platform.Command{Argv: []string{"test", "-e", mountMark(dir)}})
	if err != nil || r.Exit != 0 {
		return err
	}
	const script = `if [ -d /run/netns ] && [ -z "$(ls -A /run/netns)" ]; then umount /run/netns 2>/dev/null; rmdir /run/netns; fi; [ -n "$(ls -A /run/netns 2>/dev/null)" ] || rm -f -- "$1"`
	if _, err := output(ctx, m, "sh", "-c", script, "sh", mountMark(dir)); err != nil {
		return fmt.Errorf("remove the mount of network namespaces: %w", err)
	}
	return nil
}
