package libvirt

import (
	"context"
	"fmt"
)

// Instance is a persistent domain of a daemon, as one manages it.
type Instance struct {
	Conn   *Conn
	Domain Domain
}

// Start starts the domain, from its saved memory where it has some.
func (i Instance) Start(ctx context.Context) error {
	_, err := i.Conn.of(ctx, "start", procCreate, i.Domain)
	return err
}

// Save writes the memory of the domain to a file of the daemon and stops it.
func (i Instance) Save(ctx context.Context) error {
	_, err := i.Conn.of(ctx, "save the memory of", procManagedSave, i.Domain, 0)
	return err
}

// Saved reports whether the domain has saved memory, from which it starts.
func (i Instance) Saved(ctx context.Context) (bool, error) {
	d, err := i.Conn.of(ctx, "query", procHasManagedSave, i.Domain, 0)
	if err != nil {
		return false, err
	}
	yes := d.int32() != 0
	return yes, d.end()
}

// Flags of Remove.
const (
	removeSaved     = 1 << 0
	removeSnapshots = 1 << 1
	removeNVRAM     = 1 << 2
)

// Remove removes the definition of the domain, with its saved memory and its snapshots.
func (i Instance) Remove(ctx context.Context) error {
	_, err := i.Conn.of(ctx, "undefine", procUndefineFlags, i.Domain, removeSaved|removeSnapshots|removeNVRAM)
	return err
}

// Label sets an element of the domain's metadata, in a name space of its own: in its definition,
// and in the domain that runs.
func (i Instance) Label(ctx context.Context, element Element) error {
	const (
		anElement = 2
		live      = 1 << 0
		config    = 1 << 1
	)
	state, err := i.Conn.State(ctx, i.Domain)
	if err != nil {
		return err
	}
	e := encoder{}
	i.Domain.encode(&e)
	e.int32(anElement)
	e.optional(element.XML)
	e.optional(element.Prefix)
	e.optional(element.Space)
	flags := uint32(config)
	if state.On() {
		flags |= live
	}
	e.uint32(flags)
	if _, err := i.Conn.call(ctx, procSetMetadata, e.b); err != nil {
		return fmt.Errorf("set the metadata of domain %s: %w", i.Domain.Name, err)
	}
	return nil
}

// Element is an element of a domain's metadata.
type Element struct{ XML, Prefix, Space string }

// Flags of descriptions.
const (
	withSecrets = 1 << 0
	inactive    = 1 << 1
)

// Definition is the description of the domain as it will start next. It lacks passwords, such as that
// of a console: to redefine the domain, use Whole.
func (i Instance) Definition(ctx context.Context) (string, error) { return i.describe(ctx, inactive) }

// Whole is the definition with its passwords. The connection must be one that may write.
func (i Instance) Whole(ctx context.Context) (string, error) {
	return i.describe(ctx, inactive|withSecrets)
}

func (i Instance) describe(ctx context.Context, flags uint32) (string, error) {
	d, err := i.Conn.of(ctx, "describe", procXML, i.Domain, flags)
	if err != nil {
		return "", err
	}
	return d.string(), d.end()
}

// Snapshot takes a snapshot, whose name must be new and is letters and digits. A domain that is off
// has one without memory.
func (i Instance) Snapshot(ctx context.Context, name string) error {
	e := encoder{}
	i.Domain.encode(&e)
	e.string("<domainsnapshot><name>" + name + "</name></domainsnapshot>")
	e.uint32(0)
	if _, err := i.Conn.call(ctx, procSnapshotCreate, e.b); err != nil {
		return fmt.Errorf("take a snapshot of domain %s: %w", i.Domain.Name, err)
	}
	return nil
}

// mostSnapshots bounds the snapshots of a domain.
const mostSnapshots = 1024

// Snapshots lists the names of the snapshots.
func (i Instance) Snapshots(ctx context.Context) ([]string, error) {
	e := encoder{}
	i.Domain.encode(&e)
	e.int32(mostSnapshots)
	e.uint32(0)
	body, err := i.Conn.call(ctx, procSnapshotNames, e.b)
	if err != nil {
		return nil, fmt.Errorf("list the snapshots of domain %s: %w", i.Domain.Name, err)
	}
	d := decoder{b: body}
	names := make([]string, d.count(4))
	for n := range names {
		names[n] = d.string()
	}
	return names, d.end()
}

// Revert takes the domain back to its current snapshot.
func (i Instance) Revert(ctx context.Context) error {
	e := encoder{}
	i.Domain.encode(&e)
	e.uint32(0)
	body, err := i.Conn.call(ctx, procSnapshotCurrent, e.b)
	if err != nil {
		return fmt.Errorf("find the current snapshot of domain %s: %w", i.Domain.Name, err)
	}
	if _, err := i.Conn.call(ctx, procSnapshotRevert, append(body, 0, 0, 0, 0)); err != nil { // and no flags
		return fmt.Errorf("take domain %s back to its current snapshot: %w", i.Domain.Name, err)
	}
	return nil
}

// Forget deletes a snapshot.
func (i Instance) Forget(ctx context.Context, snapshot string) error {
	e := encoder{}
	e.string(snapshot)
	i.Domain.encode(&e)
	e.uint32(0)
	if _, err := i.Conn.call(ctx, procSnapshotDelete, e.b); err != nil {
		return fmt.Errorf("delete snapshot %s of domain %s: %w", snapshot, i.Domain.Name, err)
	}
	return nil
}
