package libvirt

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"plimsoll/internal/cluster"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/live"
)

// hand changes the cluster. Each move has its own connections.
type hand struct{ source *source }

// Missing implements live.Hand. Hosts that do not respond are skipped.
func (h *hand) Missing(ctx context.Context, a live.Action) (missing []string, err error) {
	if a == live.Maintain {
		return h.unwritable(), nil
	}
	s := h.source
	s.mu.Lock()
	s.refresh(ctx)
	conns := map[string]*libvirt.Conn{}
	for _, m := range s.members {
		if m.conn != nil {
			conns[m.spec.name] = m.conn
		}
	}
	s.mu.Unlock()
	if a == live.Read {
		return nil, ctx.Err() // the inventory was read
	}
	for i := range s.file.hosts {
		name := s.file.hosts[i].name
		conn := conns[name]
		if conn == nil {
			continue
		}
		may, err := libvirt.Host{Conn: conn}.MayWrite(ctx)
		if err != nil {
			return nil, fmt.Errorf("privileges on %s: %w", name, err)
		}
		if !may {
			missing = append(missing, "write access to libvirt on "+name)
		}
	}
	return missing, nil
}

// unwritable is why a host cannot be marked.
func (h *hand) unwritable() []string {
	if h.source.file.readOnly {
		return []string{"write access: " + h.source.file.name + " says read-only"}
	}
	folder := filepath.Dir(h.source.file.name)
	if unix.Access(folder, unix.W_OK|unix.X_OK) != nil {
		return []string{"write access to the folder " + folder}
	}
	return nil
}

// Move implements live.Hand.
func (h *hand) Move(ctx context.Context, vm, to string) error {
	if err := h.move(ctx, vm, to); err != nil {
		return fmt.Errorf("move %s to %s: %w", vm, to, err)
	}
	return nil
}

func (h *hand) move(ctx context.Context, vm, to string) error {
	w, err := h.locate(ctx, vm, to)
	if err != nil || w.from == nil {
		return err
	}
	target := h.source.file.host(to)
	source, err := libvirt.Dial(ctx, w.from.uri)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", w.from.name, err)
	}
	defer source.Close()
	destination, err := libvirt.Dial(ctx, target.uri)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", to, err)
	}
	defer destination.Close()
	d, err := libvirt.Host{Conn: source}.LookupUUID(ctx, w.id)
	if err != nil {
		return err
	}
	before, err := source.State(ctx, d)
	if err != nil {
		return err
	}
	var last libvirt.Job
	settings := &h.source.file.migration
	moved, err := libvirt.Host{Conn: source}.Migrate(ctx, libvirt.Host{Conn: destination}, libvirt.Migration{
		Domain: d, URI: target.migration, Bandwidth: settings.bandwidth, AutoConverge: settings.autoConverge,
		// QEMU's emulation misses writes to memory being copied: the guest may crash later.
		Pause:   w.emulated && !settings.emulatedLive,
		Shared:  w.shared,
		Running: func(j libvirt.Job) { last = j },
	})
	if err != nil {
		return h.explain(err, last)
	}
	after, err := destination.State(ctx, moved)
	if _, answered := libvirt.Refused(err); err != nil && !answered {
		after, err = libvirt.Host{Conn: destination}.StateAgain(ctx, moved)
	}
	if err != nil && !libvirt.Missing(err) {
		return fmt.Errorf("confirm it on its new host: %w", err)
	}
	if libvirt.Missing(err) || before.On() && !after.On() && after != libvirt.Paused {
		return h.ended(w.id, to)
	}
	if before.On() != after.On() {
		return fmt.Errorf("it was %s on %s, and is %s on %s", before, w.from.name, after, to)
	}
	return nil
}

// ended is the error of a VM that reached its new host and then ended.
func (h *hand) ended(id uuid, to string) error {
	why := ""
	s := h.source
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.members {
		if text, _ := m.notes.stop(id); m.spec.name == to && text != "" {
			why = " (" + text + ")"
		}
	}
	return fmt.Errorf("it reached %s, and has ended there%s: its guest crashed or powered off; the log of its QEMU on %s and its console may say why", to, why, to)
}

// explain adds the progress of a migration to its error, and advice that libvirt's message
// lacks.
func (h *hand) explain(err error, last libvirt.Job) error {
	if last.Total > 0 {
		err = fmt.Errorf("%w (%s of %s were copied, pass %d)", err, cluster.MiB(last.Processed), cluster.MiB(last.Total), last.Iteration)
	}
	if strings.Contains(err.Error(), "hostname on destination resolved to localhost") {
		err = fmt.Errorf("%w: set the host's address in %s, as in migration: tcp://10.0.0.2", err, h.source.file.name)
	}
	return err
}

// sourceVM is a VM to move, with its host.
type sourceVM struct {
	id       uuid
	from     *spec // nil if it already is on its destination
	emulated bool
	shared   bool
}

// locate finds the VM and its host, and checks the destination.
func (h *hand) locate(ctx context.Context, vm, to string) (w sourceVM, err error) {
	if err := ctx.Err(); err != nil {
		return w, err
	}
	if h.source.file.readOnly {
		return w, errors.New("the list of hosts is read-only")
	}
	if h.source.file.host(to) == nil {
		return w, errors.New("no such host in the list")
	}
	s := h.source
	s.mu.Lock()
	s.refresh(ctx)
	v := s.view()
	s.mu.Unlock()
	at, there := v.hosts[to]
	switch {
	case v.unsure != nil:
		return w, v.unsure
	case !there:
		return w, errors.New("no such host in the list")
	case at.lost != "":
		return w, fmt.Errorf("the daemon of %s does not answer: %s", to, at.lost)
	case at.state != cluster.Connected:
		return w, fmt.Errorf("the host %s", at.state.Said())
	}
	for key, seat := range v.seats {
		if seat.name != vm {
			continue
		}
		w.id, w.emulated, w.shared = key, seat.emulated, seat.shared
		if seat.host == to {
			return w, nil
		}
		if h := v.hosts[seat.host]; h.lost != "" {
			return w, fmt.Errorf("the daemon of %s, where it is, does not answer: %s", seat.host, h.lost)
		}
		w.from = s.file.host(seat.host)
		return w, nil
	}
	return w, errors.New("no such VM")
}

// host is a host of the list; nil if there is none with the name.
func (f *file) host(name string) *spec {
	for i := range f.hosts {
		if f.hosts[i].name == name {
			return &f.hosts[i]
		}
	}
	return nil
}

// Maintain implements live.Hand: libvirt has no maintenance mode, so a file beside the list of
// hosts records it.
func (h *hand) Maintain(ctx context.Context, host string, enter bool) error {
	if err := h.maintain(ctx, host, enter); err != nil {
		return fmt.Errorf("maintenance of %s: %w", host, err)
	}
	return nil
}

func (h *hand) maintain(ctx context.Context, host string, enter bool) error {
	s := h.source
	switch {
	case s.file.host(host) == nil:
		return errors.New("no such host in the list")
	case s.file.readOnly:
		return errors.New("the list of hosts is read-only")
	}
	if enter {
		s.mu.Lock()
		s.refresh(ctx)
		v := s.view()
		s.mu.Unlock()
		if lost := v.hosts[host].lost; lost != "" {
			return fmt.Errorf("its daemon does not respond, so VMs may run on it: %s", lost)
		}
		if left := v.running(host); len(left) > 0 {
			return fmt.Errorf("VMs run on it: move them first: %s", strings.Join(left, ", "))
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := s.file.mark(host, enter)
	s.wake()
	return err
}

// mostNamed is the maximum number of VMs in a message.
const mostNamed = 8

// running are names of VMs on a host.
func (v *view) running(host string) (names []string) {
	for i := range v.cluster.VMs {
		vm := &v.cluster.VMs[i]
		if vm.Host == cluster.Nowhere || v.cluster.Hosts[vm.Host].Name != host {
			continue
		}
		if len(names) == mostNamed {
			return append(names, "and others")
		}
		names = append(names, vm.Name)
	}
	return names
}
