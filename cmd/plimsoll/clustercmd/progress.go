package clustercmd

import (
	"fmt"
	"sync"
	"time"

	"plimsoll/cmd/plimsoll/cli"

	"plimsoll/internal/live/apply"
)

// progress shows the changes of a plan: on a terminal, a line that counts down; elsewhere, a line
// when a change begins and when it has ended.
type progress struct {
	show func(string)

	mu    sync.Mutex
	now   apply.Progress
	since time.Time
}

// showProgress begins to show; the second function ends it.
func showProgress(c *cli.Screen) (take func(apply.Progress), end func()) {
	show, done := c.Counter()
	p := &progress{show: show}
	_, _, terminal := c.Terminal()
	if !terminal {
		return p.take, done
	}
	over := make(chan struct{})
	var ticking sync.WaitGroup
	ticking.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				p.renew()
			case <-over:
				return
			}
		}
	})
	return p.take, func() {
		close(over)
		ticking.Wait()
		done()
	}
}

func (p *progress) take(now apply.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now, p.since = now, time.Now()
	p.show(ProgressText(now, 0))
}

// renew shows the change again, with the time that has passed.
func (p *progress) renew() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now.Of > 0 && p.now.Ended == nil {
		p.show(ProgressText(p.now, time.Since(p.since)))
	}
}

// ProgressText is a change that began a while ago, or has ended.
func ProgressText(p apply.Progress, ago time.Duration) string {
	text := fmt.Sprintf("%d/%d %s", p.Change.Number, p.Of, p.Change)
	switch {
	case p.Ended != nil:
		text += fmt.Sprintf(": %s in %s", p.Ended.What, cli.Brief(time.Duration(p.Ended.Seconds*float64(time.Second))))
	case ago >= time.Second:
		text += ", for " + cli.Brief(ago)
	}
	if left := p.Left - ago; left >= time.Second {
		text += ", about " + cli.Brief(left) + " left"
	}
	return text
}
