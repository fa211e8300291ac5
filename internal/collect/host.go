package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plimsoll/internal/hoststat"
	"plimsoll/internal/platform"
)

// Files is the tree of a machine that is reached file by file. Its folders cannot be listed: a
// round trip for each file would disturb the machine.
func Files(ctx context.Context, m platform.Machine) hoststat.Root { return files{ctx, m} }

// FileSources are the sources of package hoststat that take few files.
func FileSources() []string {
	return []string{"cpus", "softirqs", "irqs", "pressure", "vmstat", "memory", "disks", "links", "net", "groups"}
}

type files struct {
	ctx     context.Context // of the trial
	machine platform.Machine
}

// Open supports fs.FS.
func (f files) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: errors.ErrUnsupported}
}

// Append reads a file and appends its content to a buffer.
func (f files) Append(buffer []byte, name string) ([]byte, error) {
	text, err := f.machine.ReadFile(f.ctx, "/"+name)
	return append(buffer, text...), err
}

// Names refuses.
func (f files) Names(folder string) ([]string, error) {
	return nil, fmt.Errorf("list /%s on %s: %w", folder, f.machine.Name(), errors.ErrUnsupported)
}

// ReadLink refuses.
func (f files) ReadLink(name string) (string, error) {
	return "", fmt.Errorf("read link /%s on %s: %w", name, f.machine.Name(), errors.ErrUnsupported)
}
