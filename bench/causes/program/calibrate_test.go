package program

import (
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
)

// printed is the number that a program prints.
func printed(t *testing.T, args ...string) int {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdout
	os.Stdout = w
	ran, err := Run(append([]string{Command}, args...))
	os.Stdout = before
	w.Close()
	text, _ := io.ReadAll(r)
	if !ran || err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestSurveyNamesASizeOfItsRange(t *testing.T) {
	if n := printed(t, "survey", "--size=1", "--limit=2", "--threads=1", "--stream=8"); n != 1024 && n != 2048 {
		t.Errorf("%d KiB, want 1 or 2 MiB", n)
	}
}

func TestTollIsTheTimeOfADatagram(t *testing.T) {
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if n := printed(t, "toll", "--to", conn.LocalAddr().String()); n < 10 || n > 100_000_000 {
		t.Errorf("%d ns", n)
	}
}

// A stream goes on while it is told to, also past the end of its memory.
func TestStreamEnds(t *testing.T) {
	chunks := 0
	stream(3, func() bool { chunks++; return chunks < 7 })
	if chunks != 7 {
		t.Errorf("%d chunks of 1 MiB, want 7", chunks)
	}
}
