package remote

import (
	"context"
	"net"
	"testing"

	"plimsoll/internal/platform"
)

func bench(b *testing.B, e *echo) *Machine {
	near, there := net.Pipe()
	go func() { _ = Server{Machine: e}.Serve(context.Background(), there) }()
	m, err := Connect(b.Context(), near)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.Close() })
	return m
}

// BenchmarkCall is the protocol's latency of a small call.
func BenchmarkCall(b *testing.B) {
	m := bench(b, &echo{files: map[string][]byte{"/f": []byte("1\n")}})
	for b.Loop() {
		if _, err := m.ReadFile(b.Context(), "/f"); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOutput is the throughput of a command's output.
func BenchmarkOutput(b *testing.B) {
	const size = 16 << 20
	piece := make([]byte, 64<<10)
	m := bench(b, &echo{run: func(_ context.Context, c platform.Command) (platform.Result, error) {
		for range size / len(piece) {
			if _, err := c.Stdout.Write(piece); err != nil {
				return platform.Result{}, err
			}
		}
		return platform.Result{}, nil
	}})
	b.SetBytes(size)
	for b.Loop() {
		if _, err := m.Run(b.Context(), platform.Command{Argv: []string{"x"}, Stdout: counter{}}); err != nil {
			b.Fatal(err)
		}
	}
}

type counter struct{}

func (counter) Write(p []byte) (int, error) { return len(p), nil }
