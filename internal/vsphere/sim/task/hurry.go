package task

import "github.com/vmware/govmomi/simulator"

// Hurry has the operations of a session take no modelled time, or take it again.
func (r *Runner) Hurry(session string, hurry bool) {
	r.m.Lock()
	defer r.m.Unlock()
	if hurry {
		r.hurried[session] = true
	} else {
		delete(r.hurried, session)
	}
}

// Hurried reports whether the operations of a session take no modelled time.
func (r *Runner) Hurried(session string) bool {
	r.m.Lock()
	defer r.m.Unlock()
	return r.hurried[session]
}

// hurries is Hurried of the session of a call. The lock is held.
func (r *Runner) hurries(ctx *simulator.Context) bool {
	return len(r.hurried) > 0 && ctx.Session != nil && r.hurried[ctx.Session.Key]
}
