package protection

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/guest/diskserver"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/relay"
	"plimsoll/internal/guest/vswitch"
	"plimsoll/internal/nbd"
)

// gates are those through which all leaves the guest. The disk is the first that commits: whoever hears of a write finds it there.
func (g Guest) gates(current *qemu.Guest) (all []qemu.Gate) {
	if g.Disk != nil {
		all = append(all, diskGate{g.Disk})
	}
	if g.Plug != nil {
		all = append(all, networkGate{g.Plug})
	}
	return append(all, channelGate{g.Channel, current})
}

// pass lets go all that is buffered.
func (g Guest) pass() (err error) {
	if g.Disk != nil {
		err = g.Disk.Order(nbd.EndEpochs)
	}
	if g.Plug != nil {
		g.Plug.Pass()
	}
	g.Channel.Pass()
	return err
}

// forget discards what a guest that has ended wrote and sent after its last checkpoint.
func (g Guest) forget(ctx context.Context) error {
	if g.Plug != nil {
		g.Plug.Switch()
	}
	if g.Disk == nil {
		return nil
	}
	if err := g.alone(ctx); err != nil {
		return err
	}
	return g.Disk.Order(nbd.DiscardEpoch)
}

// alone waits until the disk has no client but the standby: what the former one has asked for is done then.
func (g Guest) alone(ctx context.Context) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		s, err := g.Disk.Status()
		if err != nil || s.Clients <= 1 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("wait until the disk of a guest that has ended is free: %w", context.Cause(ctx))
		}
	}
}

// diskGate buffers writes.
type diskGate struct{ server *diskserver.Server }

func (g diskGate) Ready(context.Context) error  { return g.server.Order(nbd.AdmitEpoch) }
func (g diskGate) Mark(context.Context) error   { return g.server.Order(nbd.MarkEpoch) }
func (g diskGate) Resumed()                     {}
func (g diskGate) Commit(context.Context) error { return g.server.Order(nbd.CommitEpoch) }

// networkGate buffers frames.
type networkGate struct{ plug *vswitch.Plug }

func (g networkGate) Ready(context.Context) error { return nil }
func (g networkGate) Resumed()                    {}

func (g networkGate) Mark(context.Context) error {
	g.plug.Mark()
	return nil
}

func (g networkGate) Commit(context.Context) error {
	g.plug.Release()
	return nil
}

// channelGate buffers what the guest tells the lab.
type channelGate struct {
	channel *relay.Guarded
	guest   *qemu.Guest
}

func (g channelGate) Ready(ctx context.Context) error {
	if err := g.channel.Ready(ctx); err != nil {
		return err
	}
	far := g.guest.Far()
	if far == nil {
		return nil
	}
	err := far.Quiet(ctx) // of what is on its way to the other host
	if err != nil {
		g.channel.Resumed()
	}
	return err
}

func (g channelGate) Resumed() { g.channel.Resumed() }

func (g channelGate) Mark(ctx context.Context) error {
	if far := g.guest.Far(); far != nil {
		if err := far.Drain(ctx); err != nil {
			return err
		}
	}
	return g.channel.Mark(ctx)
}

func (g channelGate) Commit(ctx context.Context) error { return g.channel.Commit(ctx) }
