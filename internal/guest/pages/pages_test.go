package pages

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// memory is a file as QEMU has one, of so many pages.
func memory(t testing.TB, n int) *os.File {
	t.Helper()
	fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), "memory")
	t.Cleanup(func() { _ = f.Close() })
	if err := f.Truncate(int64(n) * Size); err != nil {
		t.Fatal(err)
	}
	return f
}

func write(t testing.TB, f *os.File, page int, data []byte) {
	t.Helper()
	if _, err := f.WriteAt(data, int64(page)*Size); err != nil {
		t.Fatal(err)
	}
}

func content(t testing.TB, f *os.File) []byte {
	t.Helper()
	i, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, i.Size())
	if _, err := f.ReadAt(all, 0); err != nil {
		t.Fatal(err)
	}
	return all
}

// Whatever changes, the copy is the memory as it was at the last call of Take before a Commit, and only changed pages count.
func TestCopy(t *testing.T) {
	for _, n := range []int{1, 63, 65, 5 * chunk / 2} {
		from, to := memory(t, n), memory(t, n)
		write(t, to, n-1, []byte("left by another"))
		c, err := New(from, target(t, to))
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(uint64(n), 1))
		want := make([]byte, n*Size)
		last := bytes.Clone(want)
		pending := map[int]bool{n - 1: true} // the first Commit writes what another left there
		for round := range 40 {
			changed := map[int]bool{}
			for range random.IntN(2 * n) {
				page := random.IntN(n)
				switch random.IntN(4) {
				case 0: // given back to the host
					if err := unix.Fallocate(int(from.Fd()), unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, int64(page)*Size, Size); err != nil {
						t.Fatal(err)
					}
					clear(want[page*Size:][:Size])
				case 1: // written without a change
					write(t, from, page, want[page*Size:][:Size])
				default:
					data := []byte{byte(random.IntN(3))}
					at := random.IntN(Size)
					if _, err := from.WriteAt(data, int64(page*Size+at)); err != nil {
						t.Fatal(err)
					}
					want[page*Size+at] = data[0]
				}
			}
			for page := range n {
				if !bytes.Equal(want[page*Size:][:Size], last[page*Size:][:Size]) {
					changed[page], pending[page] = true, true
				}
			}
			copy(last, want)
			if got, err := c.Take(); err != nil || got != len(changed) {
				t.Fatalf("%d pages, round %d: %d changed, took %d, %v", n, round, len(changed), got, err)
			}
			if random.IntN(3) == 0 {
				continue // an attempt that failed: its pages are written later
			}
			if got, err := c.Commit(); err != nil || got != len(pending) || !bytes.Equal(content(t, to), want) {
				t.Fatalf("%d pages, round %d: wrote %d of %d; the copy is right: %v", n, round, got, len(pending), bytes.Equal(content(t, to), want))
			}
			clear(pending)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// What the guest never touched takes no memory.
func TestUntouchedMemory(t *testing.T) {
	const n = 16 * chunk
	from, to := memory(t, n), memory(t, n)
	write(t, from, 3*chunk, []byte("data"))
	c, err := New(from, target(t, to))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // the files end with the test
	if got, err := c.Take(); err != nil || got != 1 || committed(t, c) != 1 {
		t.Errorf("%d pages, %v", got, err)
	}
	for _, f := range []*os.File{from, to} {
		var s unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &s); err != nil || s.Blocks*512 > 64*Size {
			t.Errorf("the memory has %d bytes, %v", s.Blocks*512, err)
		}
	}
}

func TestFilesThatDoNotFit(t *testing.T) {
	odd, err := os.Create(filepath.Join(t.TempDir(), "odd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = odd.Close() })
	for _, two := range [][2]*os.File{{memory(t, 1), memory(t, 2)}, {memory(t, 0), memory(t, 0)}, {odd, odd}} {
		to, err := OpenFile(two[1])
		if err == nil {
			_, err = New(two[0], to)
		}
		if err == nil {
			t.Errorf("%v are copied", two)
		}
	}
}

func BenchmarkTake(b *testing.B) {
	const n = 1 << 14
	from, to := memory(b, n), memory(b, n)
	for page := range n {
		write(b, from, page, bytes.Repeat([]byte{1}, Size))
	}
	c, err := New(from, target(b, to))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // the files end with the benchmark
	b.SetBytes(n * Size)
	for b.Loop() {
		if _, err := c.Take(); err != nil {
			b.Fatal(err)
		}
	}
}

// target makes a file a target.
func target(t testing.TB, f *os.File) Target {
	t.Helper()
	to, err := OpenFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// committed commits, and returns the number of pages.
func committed(t testing.TB, c *Copy) int {
	t.Helper()
	n, err := c.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return n
}
