package libvirt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/cluster/topology"
	"plimsoll/internal/libvirt"
	"plimsoll/internal/live"
	"plimsoll/internal/live/libvirt/definition"
)

// location is where a VM and its definition are.
type location struct {
	id    uuid
	host  string
	conn  *libvirt.Conn // nil while the daemon does not answer
	lost  string        // why not
	known live.Shape    // as it was read last
	other []string      // hosts that have a definition of it too
}

// locations finds VMs by their names. Those that are gone are left out.
func (h *hand) locations(ctx context.Context, vms []string) map[string]location {
	s := h.source
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(ctx)
	v := s.view()
	wanted := map[string]bool{}
	for _, name := range vms {
		wanted[name] = true
	}
	out := map[string]location{}
	for id, seat := range v.seats {
		if !wanted[seat.name] {
			continue
		}
		d := location{id: id, host: seat.host, lost: v.hosts[seat.host].lost}
		for _, m := range s.members {
			vm := m.vms[id]
			switch {
			case vm == nil:
			case m.spec.name == seat.host:
				d.conn, d.known = m.conn, vm.shape.form
			default:
				d.other = append(d.other, m.spec.name)
			}
		}
		out[seat.name] = d
	}
	return out
}

// Shapes implements live.Shaper.
func (h *hand) Shapes(ctx context.Context, vms []string) (map[string]live.Shape, error) {
	out := map[string]live.Shape{}
	for name, d := range h.locations(ctx, vms) {
		if d.conn == nil {
			out[name] = d.unknown()
			continue
		}
		shape, _, err := d.read(ctx, d.conn, libvirt.Instance.Definition)
		if libvirt.Missing(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the topology of %s: %w", name, err)
		}
		out[name] = shape
	}
	return out, ctx.Err()
}

// unknown is the topology of a VM whose daemon does not answer.
func (d *location) unknown() live.Shape {
	shape := d.known
	shape.Busy = fmt.Sprintf("the daemon of %s does not answer: %s", d.host, d.lost)
	return shape
}

// read reads the definition of a VM by a connection.
func (d *location) read(ctx context.Context, conn *libvirt.Conn, describe func(libvirt.Instance, context.Context) (string, error)) (live.Shape, *definition.Domain, error) {
	domain, err := libvirt.Host{Conn: conn}.LookupUUID(ctx, d.id)
	if err != nil {
		return live.Shape{}, nil, err
	}
	i := libvirt.Instance{Conn: conn, Domain: domain}
	text, err := describe(i, ctx)
	if err != nil {
		return live.Shape{}, nil, err
	}
	is, err := definition.Parse(text)
	if err != nil {
		return live.Shape{}, nil, err
	}
	shape := live.Shape{Present: is.Present, Fixed: is.Fixed}
	if len(d.other) > 0 && shape.Fixed == "" {
		all := append([]string{d.host}, d.other...)
		slices.Sort(all)
		shape.Fixed = "it is defined on several hosts: " + strings.Join(all, ", ")
	}
	err = delay(ctx, i, &shape)
	return shape, is, err
}

// delay says what a VM has to wait for until it can be changed.
func delay(ctx context.Context, i libvirt.Instance, shape *live.Shape) error {
	if i.Domain.ID >= 0 {
		shape.Busy = "it runs"
		keeps, err := libvirt.Host{Conn: i.Conn}.Persistent(ctx, i.Domain)
		if err == nil && !keeps && shape.Fixed == "" {
			shape.Fixed = "it is transient: libvirt keeps no definition of it"
		}
		return err
	}
	saved, err := i.Saved(ctx)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if saved {
		shape.Busy = "its memory is saved: start it and shut it down"
	}
	return err
}

// Reshape implements live.Shaper.
func (h *hand) Reshape(ctx context.Context, vm string, from, to topology.Setting) error {
	if err := h.reshape(ctx, vm, from, to); err != nil {
		return fmt.Errorf("change the topology of %s: %w", vm, err)
	}
	return nil
}

func (h *hand) reshape(ctx context.Context, vm string, from, to topology.Setting) error {
	if h.source.file.readOnly {
		return errors.New("the list of hosts is read-only")
	}
	d, there := h.locations(ctx, []string{vm})[vm]
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case !there:
		return errors.New("no such VM")
	case d.conn == nil:
		return errors.New(d.unknown().Busy)
	}
	conn, err := libvirt.Dial(ctx, h.source.file.host(d.host).uri)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", d.host, err)
	}
	defer conn.Close()
	shape, is, err := d.read(ctx, conn, libvirt.Instance.Whole)
	switch {
	case err != nil:
		return err
	case shape.String() == to.String():
		return nil
	case shape.String() != from.String():
		return fmt.Errorf("it has %q, not %q: somebody changed it", shape.Setting, from)
	case shape.Fixed+shape.Busy != "":
		return errors.New(cmp.Or(shape.Fixed, shape.Busy))
	}
	text, err := is.With(to)
	if err != nil {
		return err
	}
	if _, err := conn.DefineXML(ctx, text, 0); err != nil {
		return err
	}
	if shape, _, err = d.read(ctx, conn, libvirt.Instance.Definition); err != nil {
		return fmt.Errorf("confirm it: %w", err)
	}
	if shape.String() != to.String() {
		return fmt.Errorf("it was defined, and has %q, not %q", shape.Setting, to)
	}
	return nil
}
