// Package virtual is the machine of platforms in virtual time: settings are small files in
// memory, and there are no commands.
package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"sync"

	"plimsoll/internal/platform"
)

// Machine holds settings.
type Machine struct {
	// Stuck has writes to a file ignored; nil ignores none.
	Stuck func(name string) bool

	name  string
	mu    sync.Mutex // collectors read while a factor is set
	files map[string]string
}

// New makes a machine with some files.
func New(name string, files map[string]string) *Machine { return &Machine{name: name, files: files} }

// Name is the name of the machine.
func (m *Machine) Name() string { return m.name }

// Files returns all files.
func (m *Machine) Files() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.files)
}

// Run fails: there are no commands.
func (m *Machine) Run(context.Context, platform.Command) (platform.Result, error) {
	return platform.Result{}, fmt.Errorf("run a command on simulated machine %s: %w", m.name, errors.ErrUnsupported)
}

// ReadFile reads a file that was written; there are no others.
func (m *Machine) ReadFile(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text, ok := m.files[name]; ok {
		return []byte(text), nil
	}
	return nil, fmt.Errorf("read %s on simulated machine %s: %w", name, m.name, fs.ErrNotExist)
}

// WriteFile writes a file.
func (m *Machine) WriteFile(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.Stuck == nil || !m.Stuck(name) {
		m.files[name] = string(data)
	}
	return nil
}
