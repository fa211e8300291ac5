package factor

import (
	"context"
	"fmt"
	"strconv"

	"plimsoll/internal/parameter"
)

const readAheadWords = "read-ahead"

// ReadAhead is how far the kernel reads ahead on a block device. It is read
// back from the device's queue.
func ReadAhead() Factor {
	file := func(ctx context.Context, p Place) (string, error) {
		d, err := device(ctx, p)
		return d.Folder + "/queue/read_ahead_kb", err
	}
	return Factor{
		Root:    true,
		Name:    "host.read_ahead",
		Doc:     "read-ahead of a block device",
		Target:  "block device",
		Example: []string{"128KiB", "4MiB"},
		Offers: func(ctx context.Context, p Place) ([]string, error) {
			name, err := file(ctx, p)
			if err == nil {
				_, err = read(ctx, p.Machine, name, readAheadWords)
			}
			return nil, err
		},
		Check: func(_ context.Context, _ Place, level string) (string, error) {
			b, err := readAheadLevel(level)
			return b.String(), err
		},
		Get: func(ctx context.Context, p Place) (string, error) {
			name, err := file(ctx, p)
			if err != nil {
				return "", err
			}
			text, err := read(ctx, p.Machine, name, readAheadWords)
			if err != nil {
				return "", err
			}
			n, err := strconv.ParseInt(text, 10, 32)
			if err != nil {
				return "", fmt.Errorf("%s: read %s: %q is not a number", p.Machine.Name(), name, text)
			}
			return parameter.Bytes(n << 10).String(), nil
		},
		Set: func(ctx context.Context, p Place, level string) error {
			b, err := readAheadLevel(level)
			if err != nil {
				return err
			}
			name, err := file(ctx, p)
			if err != nil {
				return err
			}
			return write(ctx, p.Machine, name, readAheadWords, strconv.FormatInt(int64(b)>>10, 10))
		},
		Effect: func(ctx context.Context, p Place) (Effect, error) {
			name, err := file(ctx, p)
			return Effect{Sets: []string{name}}, err
		},
	}
}

// readAheadLevel reads a level. The kernel counts in whole pages.
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
