package task

import "github.com/vmware/govmomi/simulator"

// SetUntimed disables or enables modelled times for the operations of a session.
func (r *Runner) SetUntimed(session string, untimed bool) {
	r.m.Lock()
	defer r.m.Unlock()
	if untimed {
		r.untimed[session] = true
	} else {
		delete(r.untimed, session)
	}
}

// Untimed reports whether modelled times are disabled for a session.
func (r *Runner) Untimed(session string) bool {
	r.m.Lock()
	defer r.m.Unlock()
	return r.untimed[session]
}

// isUntimed is Untimed for the session of a call. The lock is held.
func (r *Runner) isUntimed(ctx *simulator.Context) bool {
	return len(r.untimed) > 0 && ctx.Session != nil && r.untimed[ctx.Session.Key]
}
