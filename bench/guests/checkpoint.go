package guests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"plimsoll/bench/measured"
	"plimsoll/internal/guest/hardware"
	"plimsoll/internal/guest/pages"
	"plimsoll/internal/guest/qemu"
)

const (
	checkpoints     = 40
	checkpointEvery = 250 * time.Millisecond
)

// Checkpointing is how long checkpoints stop a guest, by its memory and by how much of it the guest writes between two of them.
func Checkpointing() (all []measured.Result, err error) {
	k, dir, err := place()
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	init := bareInit()
	if err := init.build(dir, k); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*guestLimit)
	defer cancel()
	for _, c := range []struct{ memory, written int64 }{{96, 1}, {192, 1}, {512, 1}, {192, 16}, {192, 64}} {
		g, err := qemu.Start(ctx, hardware.Shape{Name: "bench", CPU: hardware.CPU{Count: 1}, Memory: hardware.Memory{Size: c.memory << 20, Shared: true}}, qemu.Options{
			Kernel: k, Initramfs: init.archive, Dir: dir, BootTimeout: guestLimit, Accelerator: hardware.TCG,
		})
		if err != nil {
			return nil, err
		}
		m, err := checkpointed(ctx, g, c.written)
		if err := errors.Join(err, g.Stop(ctx)); err != nil {
			return nil, err
		}
		what := fmt.Sprintf("checkpoint of a guest with %d MiB, of which %.3g MiB changed: ", c.memory, m.changed)
		all = append(all, measured.Result{What: what + "state of the devices", Got: m.devices, Against: "limit", Limit: .005, Unit: "s"}, measured.Result{What: what + "pause", Got: m.pause, Against: "the devices alone", Limit: m.devices, Unit: "s"})
	}
	return all, nil
}

// medians are those of checkpoints.
type medians struct {
	pause, devices float64 // s; devices are a part of the pause
	changed        float64 // MiB
}

// checkpointed has a guest write so many MiB all the time, and takes checkpoints.
func checkpointed(ctx context.Context, g *qemu.Guest, written int64) (m medians, err error) {
	conn, err := g.Channel(ctx)
	if err != nil {
		return m, err
	}
	defer conn.Close() //nolint:errcheck // the guest ends
	if err := sweep(conn, written); err != nil {
		return m, err
	}
	p, _, err := qemu.Protect(ctx, g, nil)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.End(ctx)) }()
	every := time.NewTicker(checkpointEvery)
	defer every.Stop()
	var pauses, devices, changed []float64
	for range checkpoints {
		<-every.C
		c, err := p.Checkpoint(ctx)
		if err != nil {
			return m, err
		}
		pauses, devices, changed = append(pauses, c.Pause.Seconds()), append(devices, c.Devices.Seconds()), append(changed, float64(c.Pages)*pages.Size/(1<<20))
	}
	return medians{measured.Middle(pauses), measured.Middle(devices), measured.Middle(changed)}, nil
}

// sweep has the bare init write memory from now on.
func sweep(conn net.Conn, written int64) error {
	if err := conn.SetDeadline(time.Now().Add(guestLimit)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(conn, "sweep %d\n", written); err != nil {
		return err
	}
	answer, err := bufio.NewReader(conn).ReadString('\n')
	if err == nil && answer != "\"ok\"\n" {
		err = fmt.Errorf("the guest answers %q", answer)
	}
	return err
}
