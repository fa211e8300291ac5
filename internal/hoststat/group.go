package hoststat

import "plimsoll/internal/hoststat/cgroup"

// controlGroups reads control groups.
func (r *Reader) controlGroups() *cgroup.Reader {
	if r.groups == nil {
		r.groups = cgroup.NewReader(r.file)
	}
	return r.groups
}

// readGroups reads the control groups of the processes with details, and of the reader's members.
func readGroups(r *Reader, s *State) (err error) {
	for _, text := range r.Members {
		r.controlGroups().Membership([]byte(text))
	}
	s.Groups, err = r.controlGroups().Read(r.now, len(s.Nodes))
	return err
}
