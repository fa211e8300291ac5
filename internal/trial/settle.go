package trial

import (
	"context"

	"plimsoll/internal/measure"
	"plimsoll/internal/trial/serve"
)

// settle waits for the machine to calm down after a change, and for the service to be done
// with what it was given. Virtual time needs none.
func (a *attempt) settle(ctx context.Context) error {
	if a.session.sim != nil {
		return nil
	}
	if pause := a.study.Measure.Settle; pause > 0 {
		a.session.reporter.say(PhaseSettle, 0, "")
		if err := serve.Wait(ctx, pause); err != nil {
			return err
		}
	}
	return a.settleService(ctx)
}

// settleService waits for the service, if there is one, and enters how that went in the certificate.
func (a *attempt) settleService(ctx context.Context) error {
	if a.study.Tiled() {
		var err error
		a.settled, err = a.session.tiles.Settle(ctx, func(note string) { a.session.reporter.say(PhaseSettle, 0, note) })
		return err
	}
	check, err := a.session.services.Settle(ctx, func(note string) { a.session.reporter.say(PhaseSettle, 0, note) })
	switch {
	case check.Name == "":
	case err != nil:
		a.record.Checks = append(a.record.Checks, check)
	default:
		a.settled = []measure.Check{check}
	}
	return err
}
