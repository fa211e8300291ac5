package qemu

import (
	"context"
	"errors"

	"plimsoll/internal/guest/outpost"
	"plimsoll/internal/guest/pages"
)

// copier keeps the memory of a standby.
type copier interface {
	// Take takes the pages that changed, while the guest is stopped, and returns their number. Commit gives them to the standby.
	Take(ctx context.Context) (int, error)
	Commit(ctx context.Context) error
	Tracked() bool // by the kernel's soft-dirty bits
	Close() error
}

// copies copies the memory of a guest to its standby. One of them at most is on another host.
func copies(ctx context.Context, g, standby *Guest) (copier, error) {
	if g.process.far != nil {
		if standby.process.far != nil {
			return nil, errors.New("both are on other hosts")
		}
		to, err := pages.OpenFile(standby.memory)
		if err != nil {
			return nil, err
		}
		from, err := g.process.far.Copy(ctx, to)
		if err != nil {
			return nil, err
		}
		return fromFar{from}, nil
	}
	var to pages.Target
	var err error
	if standby.process.far != nil {
		to = standby.process.far.Memory(ctx)
	} else if to, err = pages.OpenFile(standby.memory); err != nil {
		return nil, err
	}
	c := &own{standby: standby}
	if c.Copy, err = pages.New(g.memory, to); err != nil {
		return nil, err
	}
	c.tracked, err = c.Copy.Track(g.PID())
	return c, err
}

// own copies the memory of a guest on this host.
type own struct {
	*pages.Copy
	standby *Guest
	tracked bool
}

func (c *own) Tracked() bool                     { return c.tracked }
func (c *own) Take(context.Context) (int, error) { return c.Copy.Take() }

func (c *own) Commit(context.Context) error {
	_, err := c.Copy.Commit()
	if err != nil { // its memory is of no checkpoint
		c.standby.Kill()
	}
	return err
}

// fromFar copies that of a guest on another host.
type fromFar struct{ *outpost.Source }

func (c fromFar) Commit(ctx context.Context) error {
	_, err := c.Source.Commit(ctx)
	return err
}
