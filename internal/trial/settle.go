package trial

import (
	"context"
	"fmt"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/service"
	"plimsoll/internal/trial/fault"
)

const (
	// mostUnsettled is how long a service may go on with what came before the load.
	mostUnsettled = 10 * time.Minute
	// asking is how often it is asked.
	asking = 250 * time.Millisecond
)

// settle waits for the machine to calm down after a change, and for the service to be done
// with what it was given. Virtual time needs none.
func (a *attempt) settle(ctx context.Context) error {
	if a.sim != nil {
		return nil
	}
	if pause := a.Study.Measure.Settle; pause > 0 {
		a.reporter.say(PhaseSettle, 0, "")
		if err := wait(ctx, pause); err != nil {
			return err
		}
	}
	return a.settleService(ctx)
}

// settleService asks the service, if there is one, until it is done, and enters how that
// went in the certificate. A service that cannot tell is not waited for.
func (a *attempt) settleService(ctx context.Context) error {
	if a.served == nil {
		return nil
	}
	of, ok := a.served.instance.(service.Settling)
	if !ok {
		return nil
	}
	name := a.served.kind.Name
	check := measure.Check{Name: "settled"}
	for begin, told := time.Now(), false; ; told = true {
		busy, known, err := of.Unsettled(ctx)
		took := time.Since(begin).Round(time.Millisecond)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			a.served.mute = true
			return fault.Void("ask service %s whether it is settled: %w", name, err)
		case !known:
			return nil
		case busy == "":
			check.State, check.Detail = measure.Pass, fmt.Sprintf("service %s had nothing left to do when the load began, after %s", name, took)
			a.settled = []measure.Check{check}
			return nil
		case took >= mostUnsettled:
			check.State, check.Detail = measure.Fail, fmt.Sprintf("service %s was still at work after %s, without any load: %s", name, took, busy)
			a.record.Checks = append(a.record.Checks, check)
			return fault.Void("settled: %s", check.Detail)
		}
		if !told {
			a.reporter.say(PhaseSettle, 0, "service "+name+": "+busy)
		}
		if err := wait(ctx, asking); err != nil {
			return err
		}
	}
}

// wait waits for so long.
func wait(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
