package ceph

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"
	"time"

	"plimsoll/internal/platform"
)

// The faults of an OSD in the middle of a load.
const (
	noFault = "none"
	kill    = "kill"    // it ends, and stays away
	pause   = "pause"   // it stops for a time, and goes on
	restart = "restart" // it ends, and starts again after a time
)

const (
	detecting  = time.Minute     // at most until the monitor notices an OSD that is gone
	recovering = 5 * time.Minute // at most until redundancy is restored
	polling    = 20 * time.Millisecond
)

// The values of a fault: see measure.FaultMetrics.
const (
	detection = "fault.detection"
	recovery  = "fault.recovery"
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
	}
	return ""
}

// disturber makes the fault happen to the last OSD, and waits until its redundancy is restored.
func (s Settings) disturber(c *cluster) func(context.Context) (map[string]float64, error) {
	switch s.Fault {
	case kill:
		return func(ctx context.Context) (map[string]float64, error) { return c.kill(ctx, s.OSDs-1) }
	case pause:
		return func(ctx context.Context) (map[string]float64, error) {
			if err := c.pause(ctx, s.OSDs-1, time.Duration(s.FaultTime)); err != nil {
				return nil, err
			}
			return c.recover(ctx)
		}
	case restart:
		return func(ctx context.Context) (map[string]float64, error) {
			return c.restart(ctx, s.OSDs-1, time.Duration(s.FaultTime))
		}
	}
	return nil
}

// kill ends an OSD, and waits until the monitor notices. The script that started the OSD is told before, and leaves it at that.
func (c *cluster) kill(ctx context.Context, n int) (map[string]float64, error) {
	if _, err := c.countPrivate(ctx); err != nil { // what it counts is gone with it
		return nil, err
	}
	if err := c.daemons.machine.WriteFile(ctx, path.Join(c.daemons.dir, osd(n)+".down"), nil); err != nil {
		return nil, fmt.Errorf("kill %s: %w", osd(n), err)
	}
	began := time.Now()
	if err := c.signal(ctx, n, "KILL"); err != nil {
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

// restart ends an OSD and starts it again, whatever becomes of the waiting in between.
func (c *cluster) restart(ctx context.Context, n int, after time.Duration) (map[string]float64, error) {
	began := time.Now()
	values, err := c.kill(ctx, n)
	if err == nil {
		err = rest(ctx, after-time.Since(began))
	}
	if failed := c.daemons.machine.WriteFile(context.WithoutCancel(ctx), path.Join(c.daemons.dir, osd(n)+".again"), nil); failed != nil {
		err = errors.Join(err, fmt.Errorf("start %s again: %w", osd(n), failed))
	}
	if err != nil {
		return nil, err
	}
	restored, err := c.recover(ctx)
	maps.Copy(values, restored)
	return values, err
}

// recover waits until all OSDs are up, know that, and have restored the redundancy.
func (c *cluster) recover(ctx context.Context) (map[string]float64, error) {
	began := time.Now()
	whole := 0 // the first map with all OSDs; idle OSDs may hear of a later one after minutes only
	err := until(ctx, recovering, "redundancy", func(ctx context.Context) (string, error) {
		m, err := c.daemons.known(ctx)
		if err != nil || m.up < c.daemons.osds {
			whole = 0
			return fmt.Sprintf("%d of %d OSDs are up", m.up, c.daemons.osds), err
		}
		if whole == 0 {
			whole = m.epoch
		}
		for n := range c.daemons.osds {
			if is, err := c.daemons.status(ctx, n); err != nil || is.Map < whole {
				return fmt.Sprintf("%s has map %d, and map %d has all OSDs", osd(n), is.Map, whole), err
			}
		}
		return c.daemons.degraded(ctx)
	})
	return map[string]float64{recovery: time.Since(began).Seconds()}, err
}

// osdMap is what the monitor knows of the OSDs.
type osdMap struct {
	up    int
	epoch int
}

func (d *daemons) known(ctx context.Context) (osdMap, error) {
	var all dump
	err := d.ask(ctx, "mon.a", "perf dump", &all)
	return osdMap{int(all["cluster"]["num_osd_up"].count), int(all["cluster"]["osd_epoch"].count)}, err
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
	pid, err := c.daemons.machine.ReadFile(ctx, path.Join(c.daemons.dir, osd(n)+".pid"))
	if err != nil {
		return fmt.Errorf("find the process of %s: %w", osd(n), err)
	}
	r, err := c.daemons.machine.Run(ctx, platform.Command{Argv: []string{"kill", "-" + name, strings.TrimSpace(string(pid))}})
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
	for {
		lack, err := lacking(limit)
		if lack == "" && err == nil {
			return nil
		}
		if rest(limit, polling) == nil {
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
