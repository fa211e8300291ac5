package network

import (
	"context"
	"fmt"
	"syscall"

	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
)

// job is the load of requests for the load core.
func (n *network) job(address string, stage load.Stage) (load.Job, error) {
	window := n.Burst + 1
	return n.offer.Traced(load.Job{
		Stage: stage, Network: n.protocol(), Address: address, Socket: n.equip,
		Connections: n.Flows, Window: window, Fresh: n.Test == tcpCRR,
		Dialogue: func(int) load.Dialogue {
			if n.Test == udpRR {
				return newNumbered(int(n.Request), int(n.Response), window)
			}
			return newInOrder(int(n.Request), int(n.Response), window)
		},
	})
}

// runExchange runs requests and responses.
func (n *network) runExchange(ctx context.Context, t preparedTest, stage load.Stage, out *measure.Recorder) error {
	job, err := n.job(t.address, stage)
	if err != nil {
		return err
	}
	if err := n.sample(t, out); err != nil {
		return err
	}
	if err := t.session.Go(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-t.session.Gone():
			cancel(t.session.Err())
		case <-ctx.Done():
		}
	}()
	err = socket.Run(ctx, job, out)
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	cancel(nil)
	<-ended
	if err != nil {
		return err
	}
	// The context of the load is over; that of its end is the session's own patience.
	r, err := t.session.Report(context.WithoutCancel(ctx))
	if err != nil {
		return err
	}
	far(r, out)
	sum, length := operations(out)
	if n.offer.Saturates() && sum.Operations > 0 {
		out.Value("derived_latency", float64(n.Flows*(n.Burst+1))*length.Seconds()/float64(sum.Operations))
	}
	if all := sum.Operations + sum.Errors; n.Test == udpRR && all > 0 {
		out.Value("loss", float64(sum.TimedOut)/float64(all))
	}
	return nil
}

// sample opens one socket as the load will, to see what the kernel makes of it.
func (n *network) sample(t preparedTest, out *measure.Recorder) error {
	fd, err := opened(t.address, n)
	if err != nil {
		return fmt.Errorf("open a socket to the reflector: %w", err)
	}
	defer syscall.Close(fd) //nolint:errcheck // nothing was sent
	seen, err := n.equipment(fd)
	if err != nil {
		return err
	}
	t.observe(n, seen, out)
	return nil
}
