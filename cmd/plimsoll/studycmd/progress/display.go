package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/report"
	"plimsoll/internal/trial"
)

const (
	redraw    = 100 * time.Millisecond // between two states of a phase on a terminal
	tick      = time.Second            // the clock of a phase without events goes on
	heartbeat = time.Minute            // between two lines elsewhere, when nothing ends
)

// display shows the events of a run. On a terminal the last line is the present
// state; lines above it, and all lines elsewhere, are what ended and what somebody
// should know.
type display struct {
	out   io.Writer
	renew func(text string) // rewrites the last line of a terminal; nil elsewhere
	width func() int        // of the terminal

	mu    sync.Mutex
	last  trial.Event
	began time.Time // of the present phase
	drawn time.Time
	stop  chan struct{}
	ended sync.WaitGroup
}

// start begins to redraw while no event comes.
func (d *display) start() {
	d.stop, d.drawn = make(chan struct{}), time.Now()
	d.ended.Go(d.run)
}

func (d *display) run() {
	clock := time.NewTicker(tick)
	defer clock.Stop()
	for {
		select {
		case <-d.stop:
			return
		case now := <-clock.C:
			d.mu.Lock()
			if d.renew != nil || now.Sub(d.drawn) >= heartbeat {
				d.draw(now)
			}
			d.mu.Unlock()
		}
	}
}

// close ends the present state.
func (d *display) close() {
	close(d.stop)
	d.ended.Wait()
	if d.renew != nil {
		d.renew("")
	}
}

// show takes an event. Each phase is shown, since the next event may be minutes away,
// and within one at most ten states a second.
func (d *display) show(e trial.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	fresh := e.Phase != d.last.Phase || e.Trial != d.last.Trial
	if fresh {
		d.began = now
	}
	d.last = e
	switch {
	case lasting(e):
		if d.renew != nil {
			d.renew("")
		}
		fmt.Fprintln(d.out, ended(e))
		d.drawn = now
		if e.Phase == trial.PhaseEnd {
			d.last = trial.Event{}
		}
	case d.renew != nil && (fresh || now.Sub(d.drawn) >= redraw):
		d.draw(now)
	}
}

// draw writes the present state.
func (d *display) draw(now time.Time) {
	if d.last.Phase == "" || d.last.Phase == trial.PhaseJudged {
		return
	}
	d.drawn = now
	text := state(d.last, now.Sub(d.began))
	if d.renew == nil {
		fmt.Fprintln(d.out, text)
		return
	}
	d.renew(cli.Clip(text, d.width()-1))
}

// lasting tells the events that stay on the screen: what ended, and what
// somebody should know.
func lasting(e trial.Event) bool {
	return e.Phase == trial.PhaseJudged || e.Phase == trial.PhaseEnd || e.Note != ""
}

// ended is the line of an event that stays: a trial with its value or the cause that
// makes it void, the end of the run, a note.
func ended(e trial.Event) string {
	if e.Trial == 0 || e.Phase == trial.PhaseEnd {
		return string(e.Phase) + ": " + e.Note
	}
	line := fmt.Sprintf("trial %d/%d  block %d  %s  ", e.Trial, e.Trials, e.Block, e.Arm)
	switch {
	case e.Phase != trial.PhaseJudged:
		return line + string(e.Phase) + ": " + e.Note
	case e.Note != "":
		return line + "void: " + e.Note
	case e.Value == nil:
		return line + "valid"
	}
	return line + e.Metric.Name + " " + report.Quantity(*e.Value, e.Metric.Unit)
}

// state is the present state of a run, what matters most first, since a narrow terminal
// cuts off its end.
func state(e trial.Event, lasted time.Duration) string {
	var parts []string
	if e.Trials > 0 {
		parts = append(parts, fmt.Sprintf("%s %d/%d", bar(e.Trial-1, e.Trials), e.Trial, e.Trials))
	}
	if left := remaining(e); left != "" {
		parts = append(parts, left)
	}
	now := string(e.Phase)
	if lasted >= 2*time.Second {
		now += " " + cli.Brief(lasted)
	}
	if e.Rate > 0 {
		now += " " + report.Quantity(e.Rate, "1/s")
	}
	parts = append(parts, now)
	if e.Arm != "" {
		parts = append(parts, e.Arm)
	}
	return strings.Join(parts, " · ")
}

// bar shows how many of the trials that may be needed have ended.
func bar(ended, all int) string {
	const cells = 10
	full := min(cells, max(0, ended)*cells/max(1, all))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", cells-full) + "]"
}

// remaining is the forecast: up to the next look, which may decide, and at most.
func remaining(e trial.Event) string {
	soonest, most := cli.Brief(e.Soonest), cli.Brief(e.Left)
	switch {
	case e.Left <= 0:
		return ""
	case e.Soonest <= 0 || soonest == most:
		return most + " left"
	}
	return soonest + " to " + most + " left"
}
