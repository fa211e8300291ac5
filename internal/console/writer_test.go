package console

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// stalled takes no write until it is released.
type stalled struct{ release chan struct{} }

func (s stalled) Write(p []byte) (int, error) {
	<-s.release
	return len(p), nil
}

// What is written to a file on a busy disk is not dropped in a bounded; what a reader does not read is.
func TestHurry(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	defer in.Close()
	if !regular(file) || regular(in) || regular(stalled{}) {
		t.Errorf("regular: a file %v, a pipe %v, another writer %v", regular(file), regular(in), regular(stalled{}))
	}
	for name, file := range map[string]bool{"file": true, "reader": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stalled{make(chan struct{})}
			w := NewWriter(s)
			w.file, w.last = file, 100*time.Millisecond
			w.BoundWrites()
			put := make(chan struct{})
			go func() {
				defer close(put)
				w.put("stopped")
			}()
			select {
			case <-put:
				if file {
					t.Error("a write to a file was given up")
				}
			case <-time.After(w.last + w.last/5):
			}
			if !file {
				<-put
			}
			close(s.release)
			<-put
			if w.dropped() == file || !file && !errors.Is(w.failed, errStuck) {
				t.Errorf("dropped %v, %v", w.dropped(), w.failed)
			}
		})
	}
}
