package interval

import (
	"context"
	"time"

	"plimsoll/internal/hoststat"
)

// Watch takes readings at a fixed interval for a time, or until the context ends, which is no
// error if there are two readings. It calls progress, unless nil, with the seconds passed.
func Watch(ctx context.Context, r *hoststat.Reader, every, length time.Duration, progress func(seconds float64)) (*hoststat.Recording, error) {
	facts, err := r.Facts()
	if err != nil {
		return nil, err
	}
	r.Probe = true
	var series Series
	tick := time.NewTicker(every / hoststat.StepsPerReading)
	defer tick.Stop()
	begin := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		r.Step()
		if n%hoststat.StepsPerReading > 0 {
			wait(ctx, tick)
			continue
		}
		passed := time.Since(begin)
		series.Add(r.Read(passed.Seconds()))
		if progress != nil {
			progress(passed.Seconds())
		}
		if passed+every/2 >= length {
			break
		}
		wait(ctx, tick)
	}
	if len(series.Intervals) == 0 {
		return nil, context.Cause(ctx)
	}
	return &hoststat.Recording{Facts: facts, Mean: series.Mean(), Intervals: series.Intervals}, nil
}

func wait(ctx context.Context, tick *time.Ticker) {
	select {
	case <-tick.C:
	case <-ctx.Done():
	}
}
