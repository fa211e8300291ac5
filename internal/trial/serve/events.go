package serve

import (
	"time"

	"plimsoll/internal/hoststat/trace"
)

// Span is the time of a load.
type Span struct {
	Began, Ended time.Time     // on the lab's clock
	Clock        time.Duration // the clock of the service's machine minus the lab's
}

// mostLog bounds the log that is kept for events, in bytes: one that lasts begins long before it ends.
const mostLog = 256 << 10

// Happened is what the service did by itself in the time of a load, from what Logged has returned: in
// seconds since the load began. What had not ended lasts to the end of the load.
func (s *Services) Happened(over Span) (all []trace.Event) {
	if s.Current == nil || s.Current.Kind.Events == nil {
		return nil
	}
	for _, e := range s.Current.Kind.Events(s.Current.log) {
		from, to := e.From.Add(-over.Clock), over.Ended
		if !e.To.IsZero() {
			to = e.To.Add(-over.Clock)
		}
		if to.Before(over.Began) || from.After(over.Ended) {
			continue
		}
		all = append(all, trace.Event{
			From: from.Sub(over.Began).Seconds(), To: to.Sub(over.Began).Seconds(), Kind: e.Name, Name: s.Current.Kind.Name, Value: to.Sub(from).Seconds(), Unit: "s",
		})
	}
	return all
}
