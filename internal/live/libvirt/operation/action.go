package operation

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"plimsoll/internal/libvirt"
	"plimsoll/internal/workload/operations/management"
)

// action carries out an operation.
type action func(ctx context.Context, c *client, o management.Order) (management.Outcome, error)

func actions() map[management.Kind]action {
	return map[management.Kind]action{
		management.PowerOn:         on(libvirt.Instance.Start),
		management.PowerOff:        on(destroy),
		management.Suspend:         on(libvirt.Instance.Save),
		management.Delete:          remove,
		management.Snapshot:        on(snapshot),
		management.Revert:          on(libvirt.Instance.Revert),
		management.RemoveSnapshots: on(forgetAll),
		management.Create:          create,
		management.Clone:           clone,
		management.Reconfigure:     reconfigure,
		management.Relocate:        move,
		management.Migrate:         move,
		management.Register:        register,
	}
}

// on is an operation on a domain that changes nothing else.
func on(do func(libvirt.Instance, context.Context) error) action {
	return func(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
		i, _, err := c.find(ctx, o)
		if err == nil {
			err = do(i, ctx)
		}
		return out, err
	}
}

// destroy stops a domain, or discards its saved memory.
func destroy(i libvirt.Instance, ctx context.Context) error { return i.Conn.Destroy(ctx, i.Domain) }

func snapshot(i libvirt.Instance, ctx context.Context) error {
	return i.Snapshot(ctx, "plimsoll"+rand.Text())
}

func forgetAll(i libvirt.Instance, ctx context.Context) error {
	names, err := i.Snapshots(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := i.Forget(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// define defines a domain on a host.
func (c *client) define(ctx context.Context, host, text string) (out management.Outcome, err error) {
	h, err := c.host(host)
	if err != nil {
		return out, err
	}
	d, err := h.conn().DefineXML(ctx, text, 0)
	if err == nil {
		out.VM = hex.EncodeToString(d.UUID[:])
	}
	return out, err
}

// create defines a domain before it creates its disk, so that the domain can be found again.
func create(ctx context.Context, c *client, o management.Order) (management.Outcome, error) {
	return c.make(ctx, o, func(p libvirt.Pool) error { return p.Create(ctx, volume(diskOf(o.Name), o.Size.Disk)) })
}

// make defines a domain and fills its disk, if it has one.
func (c *client) make(ctx context.Context, o management.Order, fill func(libvirt.Pool) error) (out management.Outcome, err error) {
	d := c.plan.domain(o)
	if o.Size.Disk > 0 {
		if c.pool == "" {
			return out, fmt.Errorf("disks are made in the first storage pool that the list of hosts names under datastores, and it names none: %w", errors.ErrUnsupported)
		}
		d.disk(filepath.Join(c.plan.folder, diskOf(o.Name)))
	}
	text, err := d.text()
	if err != nil {
		return out, err
	}
	out, err = c.define(ctx, o.Host, text)
	if err != nil || o.Size.Disk == 0 {
		return out, err
	}
	p, err := c.poolOn(ctx, o.Host)
	if err == nil {
		err = fill(p)
	}
	if err != nil {
		_, undo := remove(context.WithoutCancel(ctx), c, management.Order{Kind: management.Delete, VM: out.VM, From: o.Host})
		return management.Outcome{}, errors.Join(err, undo)
	}
	return out, nil
}

// clone defines a domain with the same hardware and a copy of the disk.
func clone(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	i, _, err := c.find(ctx, o)
	if err != nil {
		return out, err
	}
	text, err := i.Definition(ctx)
	if err != nil {
		return out, err
	}
	is, err := parse(text)
	if err != nil {
		return out, err
	}
	o.Size = management.Size{CPUs: is.VCPU, Memory: is.bytes()}
	source := is.file()
	if source != "" {
		o.Size.Disk = 1 // that of the copy is the source's
	}
	return c.make(ctx, o, func(p libvirt.Pool) error { return p.Copy(ctx, volume(diskOf(o.Name), 0), filepath.Base(source)) })
}

// remove deletes the disk first: without its domain it could not be found again.
func remove(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	i, h, err := c.find(ctx, o)
	if err != nil {
		return out, err
	}
	state, err := i.Conn.State(ctx, i.Domain)
	if err != nil {
		return out, err
	}
	if state != libvirt.Off && state != libvirt.Crashed { // a daemon would drop its definition and leave it running
		return out, &management.Fault{Name: "operation-invalid", Err: fmt.Errorf("domain %s is %s", i.Domain.Name, state)}
	}
	text, err := i.Definition(ctx)
	if err != nil {
		return out, err
	}
	is, err := parse(text)
	if err != nil {
		return out, err
	}
	if file := is.file(); file != "" && c.pool != "" && filepath.Dir(file) == c.plan.folder {
		p, err := c.poolOn(ctx, h.Name)
		if err == nil {
			err = p.Delete(ctx, filepath.Base(file))
		}
		if err != nil {
			return out, err
		}
	}
	return out, i.Remove(ctx)
}

// reconfigure writes the shares into the metadata: unprivileged daemons have no CPU shares.
func reconfigure(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	i, _, err := c.find(ctx, o)
	if err == nil {
		err = i.Label(ctx, libvirt.Element{XML: fmt.Sprintf("<shares>%d</shares>", o.Shares), Prefix: "plimsoll", Space: space})
	}
	return out, err
}

func move(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	i, from, err := c.find(ctx, o)
	if err != nil {
		return out, err
	}
	to, err := c.host(o.Host)
	if err != nil {
		return out, err
	}
	_, err = libvirt.Host{Conn: i.Conn}.Migrate(ctx, libvirt.Host{Conn: to.conn()}, libvirt.Migration{Domain: i.Domain, URI: to.Migration, AutoConverge: true, Shared: true, Pause: c.plan.Type == emulated})
	if err != nil && strings.Contains(err.Error(), "resolved to localhost") {
		err = fmt.Errorf("%w: give the address of host %s in the list, as migration: tcp://10.0.0.2", err, to.Name)
	}
	if err != nil {
		return out, fmt.Errorf("from %s to %s: %w", from.Name, to.Name, err)
	}
	return out, nil
}

// register undefines a domain and defines it again. Where that is refused it is tried once more. What
// is left of a domain that is never defined again is its volume: Strays finds it.
func register(ctx context.Context, c *client, o management.Order) (out management.Outcome, err error) {
	i, h, err := c.find(ctx, o)
	if err != nil {
		return out, err
	}
	text, err := i.Definition(ctx)
	if err != nil {
		return out, err
	}
	if err := i.Conn.Undefine(ctx, i.Domain); err != nil {
		return out, err
	}
	late := context.WithoutCancel(ctx) // the definition is in our hands only
	if out, err = c.define(late, h.Name, text); err != nil {
		out, err = c.define(late, h.Name, text)
	}
	return out, err
}
