package sim

import (
	"errors"
	"io"

	"plimsoll/internal/vsphere/sim/operation"
	"plimsoll/internal/vsphere/sim/state"
	"plimsoll/internal/vsphere/sim/task"
)

// Save ends all operations and refuses all calls, and writes the state of the simulator. It returns the names of the
// files of datastores that are too large to be saved.
func (s *Server) Save(to io.Writer) (left []string, err error) {
	if s.front == nil {
		return nil, errors.New("the original simulator has no state to save")
	}
	s.down(true)
	s.tasks.Close()
	policies, err := s.desk.Save()
	if err != nil {
		return nil, err
	}
	return state.Save(to, state.Source{
		Service: s.Model.Service, Tags: s.tags, Folder: s.folder, Begun: task.Begun(s.tasks), Unregistered: operation.Unregistered(s.operations),
		Policies: policies,
	})
}

// Count is the number of hosts and VMs.
func (s *Server) Count() (hosts, vms int) {
	return len(s.Model.Map().All("HostSystem")), len(s.Model.Map().All("VirtualMachine"))
}
