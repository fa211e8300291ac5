package compile

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// builder has builds done, one after the other, by as many jobs as ask for a unit. A job
// that finds nothing left to compile waits for the others of its build and for the
// linker: what it waits is in the time of its next unit.
type builder struct {
	tool  tool
	units []unit

	mu      sync.Mutex
	next    int           // next unit of the current build
	left    int           // units of it that have not ended
	running int           // compilers
	most    int           // compilers that ran at once
	failed  bool          // something of this build went wrong
	began   time.Time     // this build
	cpu     time.Duration // of this build
	turn    chan struct{} // closed when this build is over
	whole   []built
	sum     [sha256.Size]byte // of the first program, while there are builds
}

// built is a build that went well.
type built struct{ time, cpu time.Duration }

func newBuilder(t tool, all []unit) *builder {
	return &builder{tool: t, units: all, left: len(all), turn: make(chan struct{})}
}

// Call compiles one unit; the last of a build links it as well.
func (b *builder) Call(ctx context.Context) (class int, bytes int64, err error) {
	u, err := b.take(ctx)
	if err != nil {
		return 0, 0, err
	}
	cpu, err := b.tool.compile(ctx, u)
	if b.ended(cpu, err) {
		err = errors.Join(err, b.finish(ctx))
	}
	return 0, u.size, err
}

// Close does nothing: processes end with their context.
func (b *builder) Close() error { return nil }

// take waits for a unit to compile.
func (b *builder) take(ctx context.Context) (unit, error) {
	for {
		b.mu.Lock()
		if b.next < len(b.units) {
			break
		}
		turn := b.turn
		b.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
			return unit{}, context.Cause(ctx)
		}
	}
	defer b.mu.Unlock()
	if b.next == 0 {
		b.began = time.Now()
	}
	u := b.units[b.next]
	b.next++
	b.running++
	b.most = max(b.most, b.running)
	return u, nil
}

// ended reports whether the unit that has ended was the last of its build.
func (b *builder) ended(cpu time.Duration, err error) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.running--
	b.left--
	b.cpu += cpu
	b.failed = b.failed || err != nil
	return b.left == 0
}

// finish links the objects, and starts the next build. No other job runs meanwhile.
func (b *builder) finish(ctx context.Context) error {
	var err error
	if !b.failed {
		var cpu time.Duration
		if cpu, err = b.link(ctx); err == nil {
			took := time.Since(b.began)
			if err = b.inspect(ctx); err == nil {
				b.count(built{took, b.cpu + cpu})
			}
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.next, b.left, b.cpu, b.failed = 0, len(b.units), 0, false
	close(b.turn)
	b.turn = make(chan struct{})
	return err
}

func (b *builder) count(done built) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.whole = append(b.whole, done)
}

func (b *builder) link(ctx context.Context) (total time.Duration, err error) {
	for name, own := range programs() {
		var objects []string
		for _, u := range b.units {
			if o := u.object(); o == own || !isOwn(o) {
				objects = append(objects, o)
			}
		}
		cpu, err := b.tool.link(ctx, name, objects)
		total += cpu
		if err != nil {
			return total, err
		}
	}
	return total, nil
}

func isOwn(object string) bool {
	return slices.Contains(slices.Collect(maps.Values(programs())), object)
}

// inspect requires that all builds give the same program, byte for byte, and that the first
// one computes correctly.
func (b *builder) inspect(ctx context.Context) error {
	path := filepath.Join(b.tool.out, "lua")
	program, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("inspect the built program: %w", err)
	}
	sum := sha256.Sum256(program)
	switch {
	case len(b.whole) > 0 && sum != b.sum:
		return errors.New("a build produced another program than the previous one from the same source: the machine computes incorrectly, or the folder was changed")
	case len(b.whole) > 0:
		return nil
	}
	b.sum = sum
	script, want := trial()
	said, err := b.tool.start(ctx, path, "-e", script)
	if err != nil {
		return fmt.Errorf("run the built program: %w", err)
	}
	if got := strings.TrimSpace(said); got != want {
		return fmt.Errorf("the built program prints %.60q instead of %q: the machine computes incorrectly", got, want)
	}
	return nil
}

// trial is a script for the built program, and its expected output.
func trial() (script, want string) {
	const turns, factor, modulus = 100_000, 31, 1_000_003
	sum := 0
	for i := 1; i <= turns; i++ {
		sum = (sum*factor + i) % modulus
	}
	return fmt.Sprintf("local s = 0 for i = 1, %d do s = (s * %d + i) %% %d end print(s)", turns, factor, modulus), fmt.Sprint(sum)
}

// summary is the summary of builds after the first.
type summary struct {
	count          int
	mean, max, cpu time.Duration
}

func (b *builder) summary() summary {
	b.mu.Lock()
	whole := slices.Clone(b.whole)
	b.mu.Unlock()
	s := summary{count: max(0, len(whole)-1)}
	if s.count == 0 {
		return s
	}
	for _, w := range whole[1:] {
		s.mean += w.time
		s.cpu += w.cpu
		s.max = max(s.max, w.time)
	}
	s.mean /= time.Duration(s.count)
	s.cpu /= time.Duration(s.count)
	return s
}
