package trial

import (
	"context"
	"time"

	"plimsoll/internal/hoststat/trace"
	"plimsoll/internal/trial/serve"
)

// logFile is the log of the service in a trial.
const logFile = "service.log"

// keepLog adds what the service has logged since the last call to its log, also where it died.
func (a *attempt) keepLog(ctx context.Context) {
	if fresh := a.session.services.Logged(ctx); len(fresh) > 0 {
		a.files[logFile] = append(a.files[logFile], fresh...)
	}
}

// served is what the service did during the load by its own log.
func (a *attempt) served(ctx context.Context) []trace.Event {
	a.keepLog(ctx)
	if a.study.Hosted { // it is on none of the machines
		return nil
	}
	if clock, known := a.crew.Server().Sampler.Clock(); known {
		return a.session.services.Happened(serve.Span{Began: a.began, Ended: time.Now(), Clock: clock})
	}
	return nil
}
