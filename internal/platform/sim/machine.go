package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"plimsoll/internal/platform"
)

// machine holds the knobs, as small files in memory. It runs no commands.
type machine struct {
	lie   string
	mu    sync.Mutex // collectors read while a factor is set
	files map[string]string
}

const machineName = "sim"

func (m *machine) Name() string { return machineName }

// knobs returns the levels of the knobs that were set, by the name of the factor.
func (m *machine) knobs() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	levels := map[string]string{}
	for name, level := range m.files {
		if knob, found := strings.CutPrefix(name, knobFolder); found {
			levels[strings.TrimSuffix(knobName+":"+knob, ":"+knobDefault)] = level
		}
	}
	return levels
}

// Run fails: a simulated machine has no programs.
func (m *machine) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{}, fmt.Errorf("run a command on the simulated machine: %w", errors.ErrUnsupported)
}

// ReadFile reads a file that was written; there are no others.
func (m *machine) ReadFile(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, ok := m.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("read %s on the simulated machine: %w", name, fs.ErrNotExist)
}

// WriteFile writes a file, unless it is a knob that is stuck.
func (m *machine) WriteFile(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lie != "stuck" || !strings.HasPrefix(name, knobFolder) {
		m.files[name] = string(data)
	}
	return nil
}
