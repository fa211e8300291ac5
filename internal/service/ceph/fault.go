package ceph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/platform"
	"plimsoll/internal/service/ceph/counter"
)

// The faults of an OSD in the middle of a load.
const (
	noFault = "none"
	kill    = "kill"    // it ends, and stays away
	pause   = "pause"   // it stops for a time, and goes on
	restart = "restart" // it ends, and starts again after a time
	lose    = "lose"    // it ends, and is marked out after a time
	drain   = "drain"   // its data moves to the others, then it ends, and returns after a time
)

// The faults that end the OSD, and those during which the others hold all data.
var (
	ending  = []string{kill, restart, lose, drain}
	leaving = []string{lose, drain}
)

const (
	detecting   = time.Minute     // at most until the monitor notices an OSD that is gone
	recovering  = 5 * time.Minute // at most until redundancy is restored
	shortest    = 20 * time.Millisecond
	longestPoll = 250 * time.Millisecond
)

// The values of a fault: see measure.FaultMetrics.
const (
	detection = "fault.detection"
	recovery  = "fault.recovery"
	departure = "fault.drain"
)

// pending names the fault of a load; empty for none.
func (s Settings) pending() string {
	switch s.Fault {
	case kill:
		return "kill of " + osd(s.OSDs-1)
	case pause:
		return fmt.Sprintf("pause of %s for %s", osd(s.OSDs-1), s.FaultTime)
	case restart:
		return fmt.Sprintf("restart of %s after %s", osd(s.OSDs-1), s.FaultTime)
	case lose:
		return fmt.Sprintf("loss of %s, marked out after %s", osd(s.OSDs-1), s.FaultTime)
	case drain:
		return fmt.Sprintf("drain of %s, which returns after %s", osd(s.OSDs-1), s.FaultTime)
	}
	return ""
}

// bears refuses a fault that the cluster would not survive.
func (s Settings) bears(r redundancy) error {
	switch {
	case slices.Contains(ending, s.Fault) && s.Fault != drain && r.spare() == 0:
		return fmt.Errorf("fault %s: redundancy %s survives no loss of an OSD: take replica:2 or more, or fault: pause or drain", s.Fault, s.Redundancy)
	case slices.Contains(leaving, s.Fault) && r.chunks() > s.OSDs-1:
		return fmt.Errorf("fault %s: redundancy %s requires %d OSDs without the one that leaves: set osds to %d or more", s.Fault, s.Redundancy, r.chunks(), r.chunks()+1)
	}
	return nil
}

// holding is the number of OSDs that hold all data during the fault.
func (s Settings) holding() int {
	if slices.Contains(leaving, s.Fault) {
		return s.OSDs - 1
	}
	return s.OSDs
}

// disturber makes the fault happen to the last OSD, and waits until its redundancy is restored.
func (s Settings) disturber(c *cluster) func(context.Context) (map[string]float64, error) {
	last, length := s.OSDs-1, time.Duration(s.FaultTime)
	switch s.Fault {
	case kill:
		return func(ctx context.Context) (map[string]float64, error) { return c.kill(ctx, last) }
	case pause:
		return func(ctx context.Context) (map[string]float64, error) {
			is, err := c.daemons.status(ctx, last)
			if err == nil {
				err = c.pause(ctx, last, length)
			}
			if err != nil {
				return nil, err
			}
			return c.recover(ctx, is.Groups)
		}
	case restart:
		return func(ctx context.Context) (map[string]float64, error) { return c.restart(ctx, last, length) }
	case lose:
		return func(ctx context.Context) (map[string]float64, error) { return c.lose(ctx, last, length) }
	case drain:
		return func(ctx context.Context) (map[string]float64, error) { return c.drain(ctx, last, length) }
	}
	return nil
}

// kill ends an OSD, and waits until the monitor notices.
func (c *cluster) kill(ctx context.Context, n int) (map[string]float64, error) {
	is, err := c.daemons.status(ctx, n)
	if err != nil {
		return nil, err
	}
	c.worst.Note(float64(is.Groups))
	return c.end(ctx, n, "KILL")
}

// end ends an OSD with a signal, and waits until the monitor notices. The script that started the OSD is told before, and leaves it at that.
func (c *cluster) end(ctx context.Context, n int, signal string) (map[string]float64, error) {
	if _, _, err := c.countOSDs(ctx); err != nil { // what it counts is gone with it
		return nil, err
	}
	at := c.daemons.of(n)
	if err := at.machine.WriteFile(ctx, path.Join(at.dir, osd(n)+".down"), nil); err != nil {
		return nil, fmt.Errorf("end %s: %w", osd(n), err)
	}
	began := time.Now()
	if err := c.signal(ctx, n, signal); err != nil {
		return nil, err
	}
	err := until(ctx, detecting, "notice of the monitor", func(ctx context.Context) (string, error) {
		m, err := c.daemons.known(ctx)
		if m.up == c.daemons.osds {
			return "all OSDs are up", err
		}
		return "", err
	})
	if err != nil {
		return nil, err
	}
	return map[string]float64{detection: time.Since(began).Seconds()}, nil
}

// startAgain starts an OSD that has ended, once its former process is gone.
func (c *cluster) startAgain(ctx context.Context, n int) error {
	at := c.daemons.of(n)
	if err := at.machine.WriteFile(context.WithoutCancel(ctx), path.Join(at.dir, osd(n)+".again"), nil); err != nil {
		return fmt.Errorf("start %s again: %w", osd(n), err)
	}
	return nil
}

// restart ends an OSD and starts it again, whatever becomes of the waiting in between.
func (c *cluster) restart(ctx context.Context, n int, after time.Duration) (map[string]float64, error) {
	began := time.Now()
	values, err := c.kill(ctx, n)
	if err == nil {
		err = rest(ctx, after-time.Since(began))
	}
	if err = errors.Join(err, c.startAgain(ctx, n)); err != nil {
		return nil, err
	}
	restored, err := c.recover(ctx, 0)
	maps.Copy(values, restored)
	return values, err
}

// osdMap is what the monitor knows of the OSDs.
type osdMap struct {
	up    int
	epoch int
}

func (d *daemons) known(ctx context.Context) (osdMap, error) {
	var all counter.Dump
	err := d.ask(ctx, "mon.a", "perf dump", &all)
	return osdMap{int(all["cluster"]["num_osd_up"].Count), int(all["cluster"]["osd_epoch"].Count)}, err
}

// pause stops an OSD for a time. It goes on however that ends.
func (c *cluster) pause(ctx context.Context, n int, length time.Duration) error {
	if err := c.signal(ctx, n, "STOP"); err != nil {
		return err
	}
	err := rest(ctx, length)
	if failed := c.signal(context.WithoutCancel(ctx), n, "CONT"); failed != nil {
		return failed
	}
	return err
}

// signal sends a signal to the process of an OSD.
func (c *cluster) signal(ctx context.Context, n int, name string) error {
	at := c.daemons.of(n)
	pid, err := at.machine.ReadFile(ctx, path.Join(at.dir, osd(n)+".pid"))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", osd(n), err)
	}
	r, err := at.machine.Run(ctx, platform.Command{Argv: []string{"kill", "-" + name, strings.TrimSpace(string(pid))}})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("status %d: %s", r.Exit, strings.TrimSpace(string(r.Stderr)))
	}
	if err != nil {
		return fmt.Errorf("send SIG%s to %s: %w", name, osd(n), err)
	}
	return nil
}

// until waits for something, at most for a time. What is lacking is empty once it is there.
func until(ctx context.Context, most time.Duration, what string, lacking func(context.Context) (string, error)) error {
	limit, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	began := time.Now()
	for {
		lack, err := lacking(limit)
		if lack == "" && err == nil {
			return nil
		}
		const accuracy = 20 // of what is timed by it, 5 %
		if rest(limit, min(longestPoll, max(shortest, time.Since(began)/accuracy))) == nil {
			continue
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return errors.Join(fmt.Errorf("no %s after %s: %s", what, most, lack), err)
	}
}

// rest waits for so long.
func rest(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
