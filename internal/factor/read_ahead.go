package factor

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/parameter"
)

// ReadAhead is the read-ahead of a block device, read back from the device's queue.
func ReadAhead() Factor {
	return file{
		words: called("read-ahead"),
		path: func(ctx context.Context, p Env) (string, error) {
			d, err := device(ctx, p)
			return d.Folder + "/queue/read_ahead_kb", err
		},
		toFile: func(level string) (string, error) {
			b, err := readAheadLevel(level)
			return strconv.FormatInt(int64(b)>>10, 10), err
		},
		toLevel: func(text string) (string, error) {
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return "", fmt.Errorf("%q is not a number", text)
			}
			return parameter.Bytes(n << 10).String(), nil
		},
	}.factor(Factor{
		Root:    true,
		Name:    "host.read_ahead",
		Doc:     "read-ahead of a block device",
		Target:  "block device",
		Example: []string{"128KiB", "4MiB"},
		// Without read-ahead, the device reads only what is asked for.
		Holds: []Hold{{Counter: "disk.read.bytes", Pinned: "0B"}},
	})
}

// readAheadLevel parses a level, a multiple of the page size.
func readAheadLevel(level string) (parameter.Bytes, error) {
	var b parameter.Bytes
	if err := b.UnmarshalText([]byte(level)); err != nil {
		return 0, fmt.Errorf("level %q is not %w", level, err)
	}
	if b%(4<<10) != 0 || b > 1<<30 {
		return 0, fmt.Errorf("level %q is not a multiple of 4KiB up to 1GiB", level)
	}
	return b, nil
}
