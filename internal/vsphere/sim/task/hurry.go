package task

import "github.com/vmware/govmomi/simulator"

// Hurry disables or enables modelled times for the operations of a session.
func (r *Runner) Hurry(session string, hurry bool) {
	r.m.Lock()
	defer r.m.Unlock()
	if hurry {
		r.hurried[session] = true
	} else {
		delete(r.hurried, session)
	}
}

// Hurried reports whether modelled times are disabled for a session.
func (r *Runner) Hurried(session string) bool {
	r.m.Lock()
	defer r.m.Unlock()
	return r.hurried[session]
}

// hurries is Hurried for the session of a call. The lock is held.
func (r *Runner) hurries(ctx *simulator.Context) bool {
	return len(r.hurried) > 0 && ctx.Session != nil && r.hurried[ctx.Session.Key]
}
