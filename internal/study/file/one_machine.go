package file

import (
	"cmp"

	"plimsoll/internal/document"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// oneMachine reports several machines with a load whose owner, on the platform that it manages, is the process of the lab: they would remove
// each other's VMs. The members of a tile have services of their own.
func (r *reader) oneMachine(s *study.Study, kind *workload.Kind, top map[string]entry, root *document.Node) {
	if s.Tiled() {
		return
	}
	for _, g := range s.Most() {
		of := kind
		if g.Workload != nil {
			of = r.catalog.Workload(g.Workload.Kind)
		}
		if of == nil || !of.Lab || !g.Loaded() || g.Machines < 2 {
			continue
		}
		r.in.Complain(cmp.Or(top["groups"].key, top["machines"].key, root), "workload %s runs on one machine, and %d would share what it creates: use one, and raise its threads", of.Name, g.Machines)
	}
}
