package libvirt

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Flags of virDomainSnapshotCreateXML, virDomainBlockCommit and virDomainBlockJobAbort.
const (
	snapshotNoMetadata, snapshotDiskOnly, snapshotAtomic = 4, 16, 128
	commitActive                                         = 4
	abortPivot                                           = 2
)

// stillActive is VIR_ERR_BLOCK_COPY_ACTIVE, of a job that cannot end yet.
const stillActive = 83

// mergeEvery is how often the progress of a merge is read.
const mergeEvery = 50 * time.Millisecond

// Overlay is a file that a domain writes to instead of one of its disks, which then is a snapshot.
type Overlay struct {
	Disk string // target, such as vda
	File string // on the daemon's machine
}

// TakeSnapshot takes a snapshot of disks of a running domain at one point in time, without memory: the domain writes to overlays from then
// on, whose files must not exist. The daemon keeps no record of it. The other disks have none.
func (i Instance) TakeSnapshot(ctx context.Context, all []Overlay, others []string) error {
	var disks strings.Builder
	for _, o := range all {
		disks.WriteString("<disk name='" + o.Disk + "' snapshot='external'><source file='")
		_ = xml.EscapeText(&disks, []byte(o.File)) // a strings.Builder takes everything
		disks.WriteString("'/></disk>")
	}
	for _, name := range others {
		disks.WriteString("<disk name='" + name + "' snapshot='no'/>")
	}
	e := encoder{}
	i.Domain.encode(&e)
	e.string("<domainsnapshot><disks>" + disks.String() + "</disks></domainsnapshot>")
	e.uint32(snapshotNoMetadata | snapshotDiskOnly | snapshotAtomic)
	if _, err := i.Conn.call(ctx, procSnapshotCreate, e.b); err != nil {
		return fmt.Errorf("take a snapshot of the disks of domain %s: %w", i.Domain.Name, err)
	}
	return nil
}

// Merge writes the data of an overlay to its disk, to which the running domain returns. The file of the overlay remains, and nothing uses
// it. After an error the domain goes on with the overlay.
func (i Instance) Merge(ctx context.Context, o Overlay) error {
	wrong := func(err error) error {
		return fmt.Errorf("merge the overlay of disk %s of domain %s: %w", o.Disk, i.Domain.Name, err)
	}
	e := encoder{}
	i.Domain.encode(&e)
	e.string(o.Disk)
	e.optional("") // base: the disk
	e.optional("") // top: the overlay
	e.uint64(0)    // no limit of bandwidth
	e.uint32(commitActive)
	if _, err := i.Conn.call(ctx, procBlockCommit, e.b); err != nil {
		return wrong(err)
	}
	every := time.NewTicker(mergeEvery)
	defer every.Stop()
	for {
		done, err := i.merged(ctx, o)
		if done {
			err = i.pivot(ctx, o)
			if err == nil {
				return nil
			}
		}
		if err != nil && code(err) != stillActive {
			return wrong(err)
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return wrong(context.Cause(ctx))
		}
	}
}

// pivot has the domain return to the disk. The error of a job that the domain has written past again in the meantime is stillActive.
func (i Instance) pivot(ctx context.Context, o Overlay) error {
	e := encoder{}
	i.Domain.encode(&e)
	e.string(o.Disk)
	e.uint32(abortPivot)
	_, err := i.Conn.call(ctx, procBlockJobAbort, e.b)
	return err
}

// merged reports whether all data has been written: the daemon shows a job at its end only when the domain may return to the disk.
func (i Instance) merged(ctx context.Context, o Overlay) (bool, error) {
	e := encoder{}
	i.Domain.encode(&e)
	e.string(o.Disk)
	e.uint32(0)
	body, err := i.Conn.call(ctx, procBlockJobInfo, e.b)
	if err != nil {
		return false, err
	}
	d := decoder{b: body}
	found := d.int32() != 0
	d.int32()  // its type
	d.uint64() // bandwidth
	written, all := d.uint64(), d.uint64()
	if err := d.end(); err != nil {
		return false, err
	}
	if !found {
		return false, errors.New("the daemon's job has ended before the domain returned to the disk")
	}
	return all > 0 && written == all, nil
}
