package guests

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"slices"
	"strconv"
	"syscall"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/guest/guesttest"
	"plimsoll/internal/guest/spec"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/platforms/guest"
	"plimsoll/internal/platforms/local"
	"plimsoll/internal/platforms/ssh"
	"plimsoll/internal/service"
	"plimsoll/internal/service/postgresql"
)

const (
	firstAnswer = 500 * time.Millisecond // limit of the median
	killLimit   = time.Minute            // until the guest answers, and until it is protected again
	latestKill  = 2 * time.Second        // after the guest is protected again
)

// Kills kills the QEMU of a protected guest so often while a client in another guest writes numbers to PostgreSQL in it, at random instants.
// Every fifth time it kills the standby before. With another host, the guest goes there and back.
func Kills(kills int, every time.Duration, other string) ([]measured.Result, error) {
	ctx := context.Background()
	p, err := guest.Kind(local.Kind(), ssh.Kind()).Open(ctx, parameter.Settings{"network": "true", "io_filter": "nbd", "cache": "writeback", "disk": "1GiB"}, 1)
	if err != nil {
		return nil, err
	}
	defer p.Close() //nolint:errcheck // the results are there
	server, err := member(ctx, p, "server", parameter.Settings{"memory": "384MiB", "protection": "checkpoint:" + every.String(), "standby": other})
	if err != nil {
		return nil, err
	}
	client, err := member(ctx, p, "client", parameter.Settings{"memory": "128MiB", "disk": "64MiB"})
	if err != nil {
		return nil, err
	}
	database, err := serve(ctx, server, path.Join(p.(platform.ScratchProvider).Scratch(), "service"))
	if err != nil {
		return nil, err
	}
	at, err := database.Endpoint("postgresql")
	if err != nil {
		return nil, err
	}
	w, err := guesttest.Write(ctx, at, client.(platform.Dialer).Dial)
	if err != nil {
		return nil, err
	}
	c := campaign{victim: server.(victim), writer: w, random: rand.New(rand.NewPCG(1, 2))}
	if other != "" {
		far, err := elsewhere(ctx, other)
		if err != nil {
			return nil, err
		}
		defer far.Close() //nolint:errcheck // the results are there
		c.other = far.Machine()
	}
	for n := range kills {
		if err := c.kill(ctx, n%5 == 4); err != nil {
			return nil, fmt.Errorf("kill %d of %d: %w", n+1, kills, err)
		}
		fmt.Fprintf(os.Stderr, "kill %d of %d: the guest runs after %v, first answer after %v, %d writes\n", n+1, kills, c.moves[n].Round(time.Millisecond), c.times[n].Round(time.Millisecond), w.Written())
	}
	if err := w.Complete(ctx); err != nil {
		return nil, err
	}
	usage, err := c.victim.Given(ctx)
	if err != nil {
		return nil, err
	}
	costs := usage.Checkpoints
	slices.Sort(c.times)
	what := fmt.Sprintf("first answer after %d kills of a protected guest (longest %v), of %d writes none lost or doubled", kills, c.times[kills-1].Round(time.Millisecond), w.Written())
	n := float64(max(1, costs.Taken))
	return []measured.Result{
		{What: what, Got: c.times[kills/2].Seconds(), Against: "limit", Limit: firstAnswer.Seconds(), Unit: "s"},
		{What: fmt.Sprintf("delay of output, against the interval, of %d checkpoints; pause %.1f ms", costs.Taken, 1000*costs.Paused.Seconds()/n), Got: costs.Held.Seconds() / n, Against: "interval", Limit: every.Seconds(), Unit: "s"},
	}, nil
}

// victim is a protected guest.
type victim interface {
	platform.Machine
	platform.Hosted
}

func member(ctx context.Context, p platform.Platform, name string, settings parameter.Settings) (platform.Machine, error) {
	all, err := platform.MembersOf(ctx, p.(platform.Grouped), platform.Group{Name: name, Machines: 1, Settings: settings})
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// serve starts PostgreSQL in a guest, at its address in the network.
func serve(ctx context.Context, m platform.Machine, dir string) (service.Instance, error) {
	address, err := m.(platform.Connected).Address(ctx)
	if err != nil {
		return nil, err
	}
	s, err := postgresql.Kind().New(parameter.Settings{"shared_buffers": "32MiB"})
	if err != nil {
		return nil, err
	}
	return s.Start(ctx, service.Env{Machine: m, Dir: dir, Host: address, Seed: 1, Log: func(string, ...any) {}})
}

// campaign is a series of kills.
type campaign struct {
	victim  victim
	writer  *guesttest.Writer
	random  *rand.Rand
	other   platform.Machine // nil for none
	standby platform.Place   // that was there before the last kill
	times   []time.Duration  // from a kill to the first answer
	moves   []time.Duration  // from a kill until the guest runs again
}

// kill kills the guest's QEMU at a random instant after it is protected, and waits for the first answer after that.
func (c *campaign) kill(ctx context.Context, standbyToo bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*killLimit)
	defer cancel()
	if err := c.protected(ctx); err != nil {
		return err
	}
	if standbyToo {
		if err := c.end(ctx, c.standby); err != nil {
			return err
		}
		if err := c.protected(ctx); err != nil {
			return err
		}
	}
	timer := time.NewTimer(time.Duration(c.random.Int64N(int64(latestKill))))
	defer timer.Stop()
	<-timer.C
	usage, err := c.victim.Given(ctx)
	if err != nil {
		return err
	}
	former := usage.Checkpoints.Guest
	killed := time.Now()
	if err := c.end(ctx, former); err != nil {
		return err
	}
	for { // an answer may have been under way
		if next, err := c.victim.Given(ctx); err != nil || next.Checkpoints.Guest != former {
			break
		}
	}
	moved := time.Now()
	took, err := c.writer.After(ctx, moved)
	c.times, c.moves = append(c.times, moved.Sub(killed)+took), append(c.moves, moved.Sub(killed))
	return err
}

// end kills a process.
func (c *campaign) end(ctx context.Context, at platform.Place) error {
	if at.Host == "" {
		return syscall.Kill(at.Process, syscall.SIGKILL)
	}
	r, err := c.other.Run(ctx, platform.Command{Argv: []string{"kill", "-9", strconv.Itoa(at.Process)}})
	if err == nil && r.Exit != 0 {
		err = fmt.Errorf("kill process %d on host %s: %s", at.Process, at.Host, r.Stderr)
	}
	return err
}

// elsewhere opens another host, as USER@HOST.
func elsewhere(ctx context.Context, address string) (platform.Platform, error) {
	settings, err := spec.Guest{Standby: address}.StandbyHost()
	if err != nil {
		return nil, err
	}
	return ssh.Kind().Open(ctx, settings, 0)
}

// protected waits until the guest has another standby than before.
func (c *campaign) protected(ctx context.Context) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		usage, err := c.victim.Given(ctx)
		if err == nil && usage.Checkpoints.Standby.Process != 0 && usage.Checkpoints.Standby != c.standby { // no error of a QEMU that was killed meanwhile
			c.standby = usage.Checkpoints.Standby
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errors.Join(errors.New("the guest is not protected again"), context.Cause(ctx))
		}
	}
}
