package front

import (
	"strings"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/vpx"
	"github.com/vmware/govmomi/vim25/types"
)

// sweep ends idle sessions.
func (f *Front) sweep() {
	each := time.NewTicker(max(f.idle/4, time.Millisecond))
	defer each.Stop()
	for {
		select {
		case <-f.ctx.Done():
			return
		case now := <-each.C:
			for _, key := range f.unused(now) {
				f.finish(key)
			}
		}
	}
}

// unused lists sessions past the idle timeout, and drops those that have ended.
func (f *Front) unused(now time.Time) (list []string) {
	there := f.there()
	f.m.Lock()
	defer f.m.Unlock()
	for key, last := range there {
		s := f.sessions[key]
		if s != nil && s.last.After(last) {
			last = s.last
		}
		if (s == nil || s.calls == 0) && now.Sub(last) > f.idle {
			list = append(list, key)
		}
	}
	for key, s := range f.sessions {
		if _, is := there[key]; !is && s.calls == 0 {
			delete(f.sessions, key)
		}
	}
	return list
}

// there lists the sessions of the simulator with their last activity.
func (f *Front) there() map[string]time.Time {
	list := map[string]time.Time{}
	if m, ok := f.asSession().Get(f.reg.SessionManager().Self).(*simulator.SessionManager); ok {
		for _, s := range m.SessionList {
			list[s.Key] = s.LastActiveTime
		}
	}
	return list
}

// asSession is an internal session.
func (f *Front) asSession() *simulator.Session {
	return &simulator.Session{Registry: simulator.NewRegistry(), Map: f.reg}
}

// Expire ends all sessions.
func (f *Front) Expire() {
	for key := range f.there() {
		f.finish(key)
	}
}

// finish ends a session with its waits, views and filters.
func (f *Front) finish(key string) {
	own := &simulator.Context{Context: f.ctx, Map: f.reg, Session: f.asSession()}
	m := f.reg.SessionManager()
	f.era.Add(1)
	m.TerminateSession(own, &types.TerminateSession{This: m.Self, SessionId: []string{key}})
	f.era.Add(1)
	f.m.Lock()
	s := f.sessions[key]
	delete(f.sessions, key)
	f.m.Unlock()
	if s == nil || s.objects == nil {
		return
	}
	for _, o := range s.objects.AllReference("") {
		if w, ok := o.(interface{ Stop() }); ok {
			w.Stop()
		}
		if o.Reference() == vpx.ServiceContent.PropertyCollector {
			continue // that of the inventory has the same name
		}
		_, listens := o.(simulator.RegisterObject)
		if listens || strings.HasPrefix(o.Reference().Value, "session[") { // of the session, not a shadow
			f.reg.Remove(own, o.Reference())
		}
	}
}
