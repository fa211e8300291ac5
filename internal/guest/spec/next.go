package spec

import "sync"

// Next is the name of a VM and the settings of its next boot.
type Next struct {
	mu   sync.Mutex // guards the fields below
	name string
	spec Guest
}

// NewNext returns a VM's name and first settings.
func NewNext(name string, g Guest) *Next { return &Next{name: name, spec: g} }

// Name is the name of the VM.
func (n *Next) Name() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.name
}

// Rename changes the name of the VM.
func (n *Next) Rename(name string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.name = name
}

// Spec returns the settings of the next boot.
func (n *Next) Spec() Guest {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.spec
}

// Reshape changes the settings. The VM reboots when it is next used.
func (n *Next) Reshape(change func(*Guest) error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	g := n.spec
	if err := change(&g); err != nil {
		return err
	}
	n.spec = g
	return nil
}
