package tune

import (
	"context"
	"errors"
	"os"
	"strconv"

	"plimsoll/bench/causes/scene"
)

const (
	diskMebibytes = 3 << 10
	diskRate      = 200 // reads, and writes, per second: less than an emulated guest can issue
)

// slowDisk gives guests of this process a disk with a limit, as a hard disk has one: where the CPUs of an emulated guest
// limit it, boots differ by more than its settings. The function that it returns takes the disk back.
func slowDisk(ctx context.Context) (back func() error, err error) {
	s, err := scene.New(ctx, "", nil, 1, true)
	if err != nil {
		return nil, err
	}
	d, dir, err := s.Volume(diskMebibytes)
	if err != nil {
		return s.Close, err
	}
	g, err := s.Group("plimsoll-tune-disk", scene.Disks())
	if err != nil {
		return s.Close, err
	}
	self, former := strconv.Itoa(os.Getpid()), os.Getenv("TMPDIR")
	s.Undo(func() error { return errors.Join(g.Leave(self), os.Setenv("TMPDIR", former)) })
	return s.Close, errors.Join(g.Throttle(d.Device, true, diskRate), g.Throttle(d.Device, false, diskRate), g.Join(self), os.Setenv("TMPDIR", dir))
}
