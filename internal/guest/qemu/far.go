package qemu

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/qmp"
)

// Lease is how long a QEMU on another host may run without an answer of this process.
const Lease = 2 * time.Second

// startFar starts a standby on another host, which must have the same QEMU. Its network and its disks are those of this host.
func startFar(ctx context.Context, s hardware.Shape, w hardware.Wiring, o Options) (*Guest, error) {
	g := &Guest{shape: s, options: o, wiring: w, facts: Facts{Version: w.Version, Kernel: o.Kernel.Version + " " + o.Kernel.Digest}}
	if err := (remoteStart{g, o.On}).begin(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("start guest %s on host %s: %w", s.Name, o.On.Machine.Name(), err), g.clear())
	}
	return g, nil
}

// remoteStart is the start of a guest on another host.
type remoteStart struct {
	guest *Guest
	host  *outpost.Host
}

func (e remoteStart) begin(ctx context.Context) (err error) {
	g, host := e.guest, e.host
	if err := Matches(ctx, host, g.options.Binary); err != nil {
		return err
	}
	if g.wiring.Accelerator == hardware.KVM {
		if err := host.Has(ctx, "/dev/kvm"); err != nil {
			return fmt.Errorf("it has no KVM, which the guest uses here: %w", err)
		}
		if g.shape.CPU.Model == "" {
			if err := sameProcessor(ctx, host); err != nil {
				return err
			}
		}
	}
	folder, err := host.Folder(ctx)
	if err != nil {
		return err
	}
	g.wiring.Dir = path.Join(folder, "guest-"+rand.Text()[:8])
	far, relays := g.shape, map[string]outpost.Dial{}
	relay := func(name string, dial outpost.Dial) string {
		relays[name] = dial
		return outpost.Socket(g.wiring.Dir, name)
	}
	far.Disks, far.NICs = slices.Clone(far.Disks), slices.Clone(far.NICs)
	w := g.wiring
	for _, file := range []*string{&w.Kernel, &w.Initramfs} {
		if *file, err = host.Bring(ctx, *file); err != nil {
			return err
		}
	}
	for i := range far.Disks {
		d := &far.Disks[i]
		dial := socket(d.Socket)
		if d.Backing != hardware.BackingNBD { // only read: see protectable
			dial = file(d.Path)
		}
		d.Backing, d.Path, d.Socket = hardware.BackingNBD, "", relay(fmt.Sprint("disk", i), dial)
	}
	for i := range far.NICs {
		far.NICs[i].Socket = relay(fmt.Sprint("net", i), socket(far.NICs[i].Socket))
	}
	if g.facts.Arguments, err = far.Args(w); err != nil {
		return err
	}
	return e.boot(ctx, relays)
}

// Matches reports whether another host has the QEMU of this one: empty for the one in PATH.
func Matches(ctx context.Context, host *outpost.Host, binary string) error {
	binary, own, err := find(ctx, binary)
	if err != nil {
		return err
	}
	text, err := host.Version(ctx, filepath.Base(binary))
	if err != nil {
		return err
	}
	version, err := hardware.ParseVersion(text)
	if err == nil && version != own {
		err = fmt.Errorf("host %s has QEMU %s and this host %s, and the state of devices fits the same release alone: install it there", host.Machine.Name(), version, own)
	}
	return err
}

// sameProcessor reports another model of processors, whose state a guest under KVM cannot take over.
func sameProcessor(ctx context.Context, host *outpost.Host) error {
	own, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return err
	}
	theirs, err := host.Machine.ReadFile(ctx, "/proc/cpuinfo")
	if err != nil {
		return err
	}
	for _, field := range []string{"model name", "flags"} {
		if a, b := cpuField(own, field), cpuField(theirs, field); a != b {
			return fmt.Errorf("its processors differ in their %s: %.80s there, %.80s here: use hosts of one kind, or a model that both have, as in model: Skylake-Server", field, b, a)
		}
	}
	return nil
}

// cpuField is a field of the first processor in /proc/cpuinfo.
func cpuField(text []byte, name string) string {
	for line := range strings.Lines(string(text)) {
		if key, value, found := strings.Cut(line, ":"); found && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// boot starts QEMU there.
func (e remoteStart) boot(ctx context.Context, relays map[string]outpost.Dial) error {
	g := e.guest
	begun := time.Now()
	limit, cancel := context.WithTimeout(ctx, g.bootTimeout())
	defer cancel()
	p := &process{console: &log{}, errors: &complaints{}}
	order := outpost.Order{Binary: filepath.Base(g.options.Binary), Args: g.facts.Arguments, Dir: g.wiring.Dir, Memory: g.shape.Memory.Size, Lease: Lease}
	far, err := e.host.Start(limit, order, relays, outpost.Output{Console: p.console, Complaints: p.errors})
	if err != nil {
		return fmt.Errorf("%w: %s", err, p.complaint())
	}
	p.far, p.ended, g.process = far, far.Ended(), p
	if g.monitor, err = qmp.New(limit, far.Monitor()); err != nil {
		return fmt.Errorf("%w: %s", err, p.complaint())
	}
	g.facts.Boot.Seconds = time.Since(begun).Seconds()
	return nil
}
