package clustersim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"plimsoll/internal/platform"
)

// machine holds the settings, as small files in memory. It runs no commands.
type machine struct {
	mu    sync.Mutex // collectors read while a factor is set
	files map[string]string
}

func (m *machine) Name() string { return machineName }

func (m *machine) read(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.files[name]
}

// Run fails: a simulated machine has no programs.
func (m *machine) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{}, fmt.Errorf("run a command in a simulated cluster: %w", errors.ErrUnsupported)
}

// ReadFile reads a file that was written; there are no others.
func (m *machine) ReadFile(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, ok := m.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("read %s in a simulated cluster: %w", name, fs.ErrNotExist)
}

// WriteFile writes a file.
func (m *machine) WriteFile(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[name] = string(data)
	return nil
}
