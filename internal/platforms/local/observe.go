package local

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"plimsoll/internal/platform"
)

// Clock reads the kernel's clock state, as adjtimex(2) does.
func (m *machine) Clock(context.Context) (platform.Clock, error) {
	var t unix.Timex // no mode set: nothing is changed
	state, err := unix.Adjtimex(&t)
	if err != nil {
		return platform.Clock{}, fmt.Errorf("read the state of the clock: %w", err)
	}
	return platform.Clock{
		Synchronised: state != unix.TIME_ERROR && t.Status&unix.STA_UNSYNC == 0,
		MaxError:     time.Duration(t.Maxerror) * time.Microsecond,
	}, nil
}

// Offset is zero: the clock is that of this process.
func (m *machine) Offset(context.Context) (offset, uncertainty time.Duration, err error) {
	return 0, 0, nil
}

// Space is the free space of the file system of dir.
func (m *machine) Space(_ context.Context, dir string) (platform.Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return platform.Space{}, fmt.Errorf("free space in the file system of %s: %w", dir, err)
	}
	return platform.Space{Size: int64(s.Blocks) * s.Frsize, Free: int64(s.Bavail) * s.Frsize}, nil
}
