package guest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"plimsoll/internal/agent/remote"
	"plimsoll/internal/factor"
	"plimsoll/internal/guest/qemu"
	"plimsoll/internal/guest/witness"
	"plimsoll/internal/platform"
)

const (
	// moving is how long a migration may take.
	moving = time.Minute
	// witnessShare of a guest's memory is watched while it migrates, and witnessMost at most.
	witnessShare = 16
	witnessMost  = 32 << 20
)

// migrationFactor lets guests migrate in the middle of each load.
func migrationFactor() factor.Factor {
	return factor.Factor{
		Name: "guest.migration", Example: []string{"none", "postcopy"},
		Doc: "live migration to another QEMU on the same host during each load: none, precopy or postcopy",
		Check: func(_ context.Context, at factor.Place, level string) (string, error) {
			if !slices.Contains([]string{free, string(qemu.Precopy), string(qemu.Postcopy)}, level) {
				return "", fmt.Errorf("%q is no migration: want none, precopy or postcopy", level)
			}
			if at.Machine == nil {
				return level, nil
			}
			m, err := guestOf(at)
			if err != nil {
				return "", err
			}
			return level, m.mayMigrate(level)
		},
		Get: func(_ context.Context, at factor.Place) (string, error) {
			m, err := guestOf(at)
			if err != nil {
				return "", err
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			return m.migration.level(), nil
		},
		Set: func(_ context.Context, at factor.Place, level string) error {
			m, err := guestOf(at)
			if err != nil {
				return err
			}
			m.mu.Lock()
			defer m.mu.Unlock()
			m.migration.mode = qemu.Mode(level)
			return nil
		},
	}
}

// migration is what a guest has to do with migrations.
type migration struct {
	mode  qemu.Mode // in the middle of each load; empty or none for none
	relay *relay    // the connection to its agent
	past  platform.Given
}

func (m migration) level() string {
	if m.mode == "" {
		return free
	}
	return string(m.mode)
}

// mayMigrate refuses what cannot follow the guest, and what would damage it. Whoever has a
// migration in the middle of a load has a busy guest.
func (m *machine) mayMigrate(level string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.settings
	if level == free {
		return nil
	}
	for what, there := range map[string]bool{
		"network": s.Network, "pmem": s.Pmem != 0, "io_filter": s.IOFilter != "" && s.IOFilter != free, "virtual_time": s.VirtualTime > 0,
	} {
		if there {
			return fmt.Errorf("a guest with %s does not migrate: leave it out", what)
		}
	}
	if level == string(qemu.Postcopy) {
		return qemu.MayPostcopy()
	}
	if m.vm == nil {
		return nil
	}
	for _, r := range qemu.Refusals(m.vm.Facts().Version, m.chosen.Accelerator) {
		if r.What == qemu.RefusedPrecopy {
			return fmt.Errorf("%s: %s; postcopy does not", r.What, r.Reason)
		}
	}
	return nil
}

// Pending names the migration that is to happen in the middle of a load.
func (m *machine) Pending() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if level := m.migration.level(); level != free {
		return "migration by " + level
	}
	return ""
}

// Disturb moves the guest to another QEMU, while all that runs in it goes on.
func (m *machine) Disturb(ctx context.Context) (values map[string]float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, moving)
	defer cancel()
	if _, err := m.up(ctx); err != nil {
		return nil, err
	}
	m.mu.Lock()
	far, settings, both, level, who := m.far, m.booted, m.needs(), m.migration.level(), m.called()
	m.mu.Unlock()
	defer func() {
		if err != nil {
			err = fmt.Errorf("migrate %s by %s: %w", who, level, err)
		}
	}()
	if err := m.mayMigrate(level); err != nil {
		return nil, err
	}
	// Both need memory until the move is done; the disk is one.
	both.number, both.disk, both.image = -m.number, 0, ""
	if err := m.bed.room.claim(both); err != nil {
		return nil, err
	}
	defer m.bed.room.leave(both.number)
	w, err := testify(ctx, far, min(int64(settings.Memory)/witnessShare, witnessMost))
	if err != nil {
		return nil, err
	}
	went, err := m.move(ctx, settings)
	if said := w.end(); err == nil {
		err = said
	}
	if err != nil {
		return nil, err
	}
	return map[string]float64{
		"migration.total": went.Total.Seconds(), "migration.downtime": went.Stopped.Seconds(), "migration.transferred": float64(went.Transferred),
	}, nil
}

// move has another QEMU wait, moves the guest there and ends the one that it was in.
func (m *machine) move(ctx context.Context, s Settings) (went qemu.Migration, err error) {
	archive, err := m.bed.archive(s.parts())
	if err != nil {
		return went, err
	}
	m.mu.Lock()
	source, way, mode := m.vm, m.migration.relay, m.migration.mode
	m.mu.Unlock()
	o := qemu.Options{Kernel: m.depot.kernel, Initramfs: archive, Dir: m.home.Path, Accelerator: m.chosen.Accelerator, Incoming: true}
	target, err := qemu.Start(ctx, source.Shape(), o)
	if err != nil {
		return went, err
	}
	abandon := func(err error) error { return errors.Join(err, target.Stop(context.WithoutCancel(ctx))) }
	// The channel must be open before the guest arrives, or it is told that nobody listens.
	next, err := target.Channel(ctx)
	if err != nil {
		return went, abandon(err)
	}
	if err := way.hold(ctx); err != nil {
		return went, abandon(errors.Join(err, next.Close()))
	}
	if went, err = source.Migrate(ctx, target, mode); err != nil {
		way.release(nil)
		return went, abandon(errors.Join(err, next.Close()))
	}
	way.release(next)
	return went, m.arrived(ctx, target)
}

// arrived takes note that the guest is in another QEMU, and ends the one it was in.
func (m *machine) arrived(ctx context.Context, target *qemu.Guest) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	given, err := m.given(ctx)
	if err == nil {
		m.migration.past = given
	}
	source := m.vm
	m.vm = target
	m.bed.room.started(m.number, target.PID())
	return errors.Join(err, source.Stop(ctx), m.place(ctx))
}

// witnessing is a witness of the guest's memory.
type witnessing struct {
	stop  chan struct{}
	ended chan error
	said  *io.PipeReader
}

// testify starts a witness, and returns once it has its memory.
func testify(ctx context.Context, far *remote.Machine, size int64) (*witnessing, error) {
	self, err := far.Self(ctx)
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(witness.Order{Bytes: size, Seed: uint64(time.Now().UnixNano())})
	if err != nil {
		return nil, err
	}
	said, says := io.Pipe()
	w := &witnessing{stop: make(chan struct{}), ended: make(chan error, 1), said: said}
	go func() {
		r, err := far.Run(ctx, platform.Command{Argv: []string{self, witness.Command}, Stdin: bytes.NewReader(order), Stdout: says, Stop: w.stop})
		if err == nil && r.Exit != 0 {
			err = errors.New(strings.TrimSpace(string(r.Stderr)))
		}
		_ = says.CloseWithError(io.EOF) // always nil
		w.ended <- err
	}()
	if _, err := w.word(); err != nil {
		return nil, errors.Join(err, w.close())
	}
	return w, nil
}

func (w *witnessing) word() (said witness.Word, err error) {
	// A byte at a time, so that nothing of the next word is taken.
	var line []byte
	for b := make([]byte, 1); b[0] != '\n'; {
		if _, err := w.said.Read(b); err != nil {
			return said, fmt.Errorf("hear the witness of its memory: %w", err)
		}
		line = append(line, b[0])
	}
	return said, json.Unmarshal(line, &said)
}

func (w *witnessing) close() error {
	_ = w.said.Close() // always nil
	return <-w.ended
}

// end asks the witness what it saw.
func (w *witnessing) end() error {
	close(w.stop)
	said, err := w.word()
	if err = errors.Join(err, w.close()); err != nil {
		return err
	}
	if said.Wrong > 0 {
		return fmt.Errorf("the guest's memory is damaged: of %d pages that were watched, %d do not hold what was written to them", said.Pages, said.Wrong)
	}
	return nil
}
