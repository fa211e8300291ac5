package platform

import (
	"context"
	"errors"
	"os/exec"
	"testing"
)

func TestLog(t *testing.T) {
	var lines []string
	ctx := WithLog(t.Context(), func(line string) { lines = append(lines, line) })
	argv := []string{"fio", "--name=a b", "it's", ""}
	LogCommand(ctx, "local", argv)(Result{}, nil)
	LogCommand(ctx, "local", argv[:1])(Result{Exit: -1, Signal: "SIGKILL"}, nil)
	LogCommand(ctx, "vm", argv[:1])(Result{}, errors.New("no such program"))
	LogWrite(ctx, Write{"local", "/proc/sys/vm/dirty_ratio", []byte("20\n"), nil})
	LogWrite(ctx, Write{"local", "/etc/secret", []byte("password"), errors.New("read-only")})
	LogStart(ctx, "local", []string{"qemu", "-m", "1G"})
	LogStart(context.Background(), "local", argv) // to nobody
	want := []string{
		`local: run fio '--name=a b' 'it'\''s' '' (0s, exit 0)`,
		"local: run fio (0s, SIGKILL)",
		"vm: run fio (0s, failed: no such program)",
		"local: write 20 to /proc/sys/vm/dirty_ratio",
		"local: write 8 bytes to /etc/secret (failed: read-only)",
		"local: start qemu -m 1G",
	}
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("%s, want %s", lines[i], want[i])
		}
	}
}

// A shell reads the quoted command back as it was.
func FuzzQuote(f *testing.F) {
	for _, seed := range []string{"", "a b", "it's", "$HOME `id` \\", "-n", "\x1b[31m"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, c := range []byte(text) {
			if c == 0 {
				t.Skip("no argument holds a zero byte")
			}
		}
		out, err := exec.Command("sh", "-c", "printf %s "+Quote([]string{text})+"x").Output()
		if err != nil || string(out) != text+"x" {
			t.Errorf("%q came back as %q: %v", text, out, err)
		}
	})
}
