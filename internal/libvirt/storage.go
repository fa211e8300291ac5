package libvirt

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Pool is a storage pool of a daemon.
type Pool struct {
	conn *Conn
	name string
	uuid [16]byte
}

// volume is a volume, as the daemon names it.
type volume struct{ pool, name, key string }

func (v volume) encode(e *encoder) {
	e.string(v.pool)
	e.string(v.name)
	e.string(v.key)
}

func (d *decoder) volume() volume { return volume{d.string(), d.string(), d.string()} }

func (p Pool) encode(e *encoder) {
	e.string(p.name)
	e.fixed(p.uuid[:])
}

// Pool finds a pool that is active.
func (h Host) Pool(ctx context.Context, name string) (p Pool, err error) {
	e := encoder{}
	e.string(name)
	body, err := h.Conn.call(ctx, procPoolLookup, e.b)
	if err != nil {
		return p, fmt.Errorf("find the storage pool %s: %w", name, err)
	}
	d := decoder{b: body}
	p = Pool{conn: h.Conn, name: d.string()}
	copy(p.uuid[:], d.take(len(p.uuid)))
	return p, d.end()
}

// Create creates a volume by its description.
func (p Pool) Create(ctx context.Context, xml string) error {
	e := encoder{}
	p.encode(&e)
	e.string(xml)
	e.uint32(0)
	return p.patiently(ctx, func() error {
		if _, err := p.conn.call(ctx, procVolumeCreate, e.b); err != nil {
			return fmt.Errorf("create a volume in the storage pool %s: %w", p.name, err)
		}
		return nil
	})
}

// Copy creates a volume by its description with the content of another.
func (p Pool) Copy(ctx context.Context, xml, of string) error {
	from, err := p.volume(ctx, of)
	if err != nil {
		return err
	}
	e := encoder{}
	p.encode(&e)
	e.string(xml)
	from.encode(&e)
	e.uint32(0)
	return p.patiently(ctx, func() error {
		if _, err := p.conn.call(ctx, procVolumeCreateFrom, e.b); err != nil {
			return fmt.Errorf("copy the volume %s in the storage pool %s: %w", of, p.name, err)
		}
		return nil
	})
}

// Description is the XML of the pool.
func (p Pool) Description(ctx context.Context) (string, error) {
	e := encoder{}
	p.encode(&e)
	e.uint32(0)
	body, err := p.conn.call(ctx, procPoolXML, e.b)
	if err != nil {
		return "", fmt.Errorf("describe the storage pool %s: %w", p.name, err)
	}
	d := decoder{b: body}
	return d.string(), d.end()
}

// Volumes lists the names of the existing volumes.
func (p Pool) Volumes(ctx context.Context) ([]string, error) {
	if err := p.refresh(ctx); err != nil {
		return nil, fmt.Errorf("read the storage pool %s: %w", p.name, err)
	}
	e := encoder{}
	p.encode(&e)
	e.uint32(1) // with the volumes, and not their number alone
	e.uint32(0)
	body, err := p.conn.call(ctx, procPoolVolumes, e.b)
	if err != nil {
		return nil, fmt.Errorf("list the volumes in the storage pool %s: %w", p.name, err)
	}
	d := decoder{b: body}
	names := make([]string, d.count(4+4+4))
	for i := range names {
		names[i] = d.volume().name
	}
	d.uint32() // their number
	return names, d.end()
}

// refresh has the daemon see what others have changed in the pool.
func (p Pool) refresh(ctx context.Context) error {
	e := encoder{}
	p.encode(&e)
	e.uint32(0)
	return p.patiently(ctx, func() error {
		_, err := p.conn.call(ctx, procPoolRefresh, e.b)
		return err
	})
}

// Delete deletes a volume by its name. One that is not there is none to be deleted.
func (p Pool) Delete(ctx context.Context, name string) error {
	v, err := p.volume(ctx, name)
	if code(err) == noVolume {
		return nil
	}
	if err != nil {
		return err
	}
	e := encoder{}
	v.encode(&e)
	e.uint32(0)
	return p.patiently(ctx, func() error {
		if _, err := p.conn.call(ctx, procVolumeDelete, e.b); err != nil {
			return fmt.Errorf("delete the volume %s: %w", name, err)
		}
		return nil
	})
}

// noVolume is the error of a volume that a pool does not have.
const noVolume = 50

// volume finds a volume. Another daemon may have made it since the pool was read.
func (p Pool) volume(ctx context.Context, name string) (v volume, err error) {
	e := encoder{}
	p.encode(&e)
	e.string(name)
	body, err := p.conn.call(ctx, procVolumeLookup, e.b)
	if code(err) == noVolume {
		if err = p.refresh(ctx); err == nil {
			body, err = p.conn.call(ctx, procVolumeLookup, e.b)
		}
	}
	if err != nil {
		return v, fmt.Errorf("find the volume %s in the storage pool %s: %w", name, p.name, err)
	}
	d := decoder{b: body}
	v = d.volume()
	return v, d.end()
}

// patiently repeats a call that a pool refuses because it is at work for another.
func (p Pool) patiently(ctx context.Context, do func() error) error {
	const pause, most, internal, invalid = 20 * time.Millisecond, 250, 1, 55
	for n := 0; ; n++ {
		err := do()
		if c := code(err); c != internal && c != invalid || n == most {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pause):
		}
	}
}
