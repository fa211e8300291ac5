package web

import (
	"context"
	"math/rand/v2"

	"plimsoll/internal/load"
	"plimsoll/internal/load/routine"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
)

// drive is what one stage of a load needs.
type drive struct {
	server
	*tour
	stage  load.Stage
	ledger *ledger
}

// drive makes the load. Plain HTTP/1.1 goes over the load core; what Go's libraries
// speak, over goroutines.
func (w *web) drive(ctx context.Context, d drive, out *measure.Recorder) error {
	job, err := w.offer.Traced(load.Job{
		Stage: d.stage, Network: d.Network, Address: d.Address, More: d.More, TLS: d.tls,
		Connections: w.Connections, Window: w.Pipeline, Fresh: !w.KeepAlive,
	})
	if err != nil {
		return err
	}
	if w.Version != "2" {
		job.Dialogue = func(number int) load.Dialogue {
			return newDialogue(d.tour, w.Pipeline, *rand.NewPCG(d.stage.Seed, uint64(number)^0x77656221), d.ledger.sheet(number))
		}
		return socket.Run(ctx, job, out)
	}
	all, err := w.newStreams(d.tour, w.connector(d.server), d.ledger)
	if err != nil {
		return err
	}
	defer all.close()
	// A user does one operation at a time; those of a pipeline share a connection.
	job.Connections, job.Window, job.Fresh, job.TLS = w.Connections*w.Pipeline, 1, false, nil
	job.Caller = func(ctx context.Context, number int) (load.Caller, error) {
		return all.caller(ctx, d.stage.Seed, number)
	}
	return routine.Run(ctx, job, out)
}
