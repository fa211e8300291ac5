package sim

import (
	"errors"
	"io"
	"time"

	"plimsoll/internal/vsphere/sim/operation"
	"plimsoll/internal/vsphere/sim/state"
	"plimsoll/internal/vsphere/sim/task"
)

// patience is the time that a checkpoint waits for calls and operations that are changing the
// inventory.
const patience = 5 * time.Second

// Save ends all operations, refuses all calls, and writes the state of the simulator. It
// returns the names of datastore files that are too large to save.
func (s *Server) Save(to io.Writer) (left []string, err error) {
	if s.front == nil {
		return nil, errOriginal
	}
	s.down(true)
	s.tasks.Close()
	return s.write(to)
}

// Checkpoint writes the state of the running simulator: calls wait meanwhile, and operations
// in progress are not part of the state.
func (s *Server) Checkpoint(to io.Writer) (left []string, err error) {
	if s.front == nil {
		return nil, errOriginal
	}
	if err := s.gate.Close(patience); err != nil {
		return nil, err
	}
	defer s.gate.Open()
	return s.write(to)
}

var errOriginal = errors.New("the original simulator has no state to save")

func (s *Server) write(to io.Writer) (left []string, err error) {
	s.files.Create()
	policies, err := s.manager.Save()
	if err != nil {
		return nil, err
	}
	return state.Save(to, state.Source{
		Service: s.Model.Service, Tags: s.tags, Folder: s.folder, Begun: task.Begun(s.tasks), Unregistered: operation.Unregistered(s.operations),
		Policies: policies, Events: s.events.All(),
	})
}

// Count is the number of hosts and VMs.
func (s *Server) Count() (hosts, vms int) {
	return len(s.Model.Map().All("HostSystem")), len(s.Model.Map().All("VirtualMachine"))
}
