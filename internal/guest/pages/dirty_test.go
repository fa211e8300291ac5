package pages

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
)

// writer has this program be a process that has mapped the file at descriptor 3 and writes to it.
const writer = "PLIMSOLL_TEST_WRITER"

func TestMain(m *testing.M) {
	if os.Getenv(writer) == "" {
		os.Exit(m.Run())
	}
	if err := obey(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// obey writes a byte to each of so many pages, from one on: lines of FIRST NUMBER VALUE.
func obey() error {
	f := os.NewFile(3, "memory")
	info, err := f.Stat()
	if err != nil {
		return err
	}
	memory, err := unix.Mmap(3, 0, int(info.Size()), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var first, number int
		var value byte
		if _, err := fmt.Sscan(in.Text(), &first, &number, &value); err != nil {
			return err
		}
		for i := first; i < first+number; i++ {
			memory[i*Size+i%Size] = value
		}
		fmt.Println("done")
	}
	return in.Err()
}

// guest is a process that writes to the memory of a copy.
type guest struct {
	copy     *Copy
	from, to *os.File
	orders   io.Writer
	answers  *bufio.Reader
}

// written is a copy of so many pages that a process writes, tracked or not.
func written(t testing.TB, n int, track bool) *guest {
	t.Helper()
	if !track {
		return begin(t, n, false)
	}
	if !marks() {
		t.Skip("the kernel has no soft-dirty bits (CONFIG_MEM_SOFT_DIRTY)")
	}
	if swaps() {
		t.Skip("this host swaps")
	}
	return begin(t, n, true)
}

func begin(t testing.TB, n int, track bool) *guest {
	t.Helper()
	g := &guest{from: memory(t, n), to: memory(t, n)}
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.ExtraFiles, cmd.Stderr = append(os.Environ(), writer+"=1"), []*os.File{g.from}, os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = cmd.Wait() })
	g.orders, g.answers = in, bufio.NewReader(out)
	g.heard(t, "ready\n")
	if g.copy, err = New(g.from, target(t, g.to)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = g.copy.Close() })
	if !track {
		return g
	}
	if is, err := g.copy.Track(cmd.Process.Pid); err != nil || !is {
		t.Fatalf("it is tracked: %t, %v", is, err)
	}
	return g
}

func (g *guest) heard(t testing.TB, want string) {
	t.Helper()
	if line, err := g.answers.ReadString('\n'); line != want || err != nil {
		t.Fatalf("the writer said %q, %v", line, err)
	}
}

func (g *guest) write(t testing.TB, first, number int, value byte) {
	t.Helper()
	if _, err := fmt.Fprintln(g.orders, first, number, value); err != nil {
		t.Fatal(err)
	}
	g.heard(t, "done\n")
}

func (g *guest) take(t testing.TB) int {
	t.Helper()
	n, err := g.copy.Take()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// A copy that looks at written pages alone is as good as one that compares all.
func TestTrack(t *testing.T) {
	const n = 3*chunk + 17
	g := written(t, n, true)
	g.write(t, 5, 3, 1)
	g.write(t, 100, 1, 1)
	if got := g.take(t); got != 4 {
		t.Errorf("at first %d pages changed, want 4", got)
	}
	if got := g.take(t); got != 0 {
		t.Errorf("without a write %d pages changed", got)
	}
	if _, err := g.from.WriteAt([]byte("by another"), 100*Size); err != nil {
		t.Fatal(err)
	}
	if got := g.take(t); got != 0 {
		t.Errorf("%d pages changed that the process has not written: all are compared", got)
	}
	g.write(t, 100, 1, 2)
	random := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		first := random.IntN(n)
		g.write(t, first, min(n-first, 1+random.IntN(40)), byte(random.IntN(256)))
		if random.IntN(3) == 0 {
			g.take(t)
		}
	}
	g.take(t)
	committed(t, g.copy)
	if !bytes.Equal(content(t, g.from), content(t, g.to)) {
		t.Error("the copy differs")
	}
}

// By the bits a call takes time for each page that was written, and little for the others.
func BenchmarkTakeWritten(b *testing.B) {
	for _, c := range []struct {
		memory, written int
		track           bool
	}{{64, 1, true}, {192, 1, true}, {512, 1, true}, {192, 16, true}, {192, 64, true}, {64, 1, false}, {512, 1, false}} {
		by := "bits"
		if !c.track {
			by = "comparison"
		}
		b.Run(fmt.Sprintf("%dMiB/%dMiB/%s", c.memory, c.written, by), func(b *testing.B) {
			const pages = 1 << 20 / Size
			g := written(b, c.memory*pages, c.track)
			g.write(b, 0, c.memory*pages, 1)
			g.take(b)
			value := byte(1)
			for b.Loop() {
				b.StopTimer()
				value++
				g.write(b, 0, c.written*pages, value)
				b.StartTimer()
				if got := g.take(b); got != c.written*pages {
					b.Fatalf("%d pages changed", got)
				}
			}
		})
	}
}
