package trial

import (
	"encoding/json"
	"slices"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// undo is everything that a run changed and did not put back yet: a fold over
// its journal.
type undo struct {
	settings []*changed // oldest first
	loads    []Load
	servers  []string // machines on which services may have left something, as the journal names them
}

// changed is a setting that is not at its former level, or may not be.
type changed struct {
	factor, target string
	machine        string
	former         string              // before the run touched it
	ours           []string            // every level that the run set, or saw after it had set one
	midway         bool                // a change was announced and not confirmed
	coupled        map[string]string   // files that may change along, with their former values
	seen           map[string][]string // values of those files after changes
}

func (c *changed) name() string {
	name := study.Factor{Name: c.factor, Target: c.target}.FullName()
	if c.machine != "" {
		name += " on " + c.machine
	}
	return name
}

func (c *changed) is(s *Setting) bool {
	return c.factor == s.Factor && c.target == s.Target && c.machine == s.Machine
}

// outstanding folds the journal into what must be undone.
func outstanding(entries []Entry) *undo {
	u := &undo{}
	for _, e := range entries {
		u.fold(e)
	}
	return u
}

func (u *undo) fold(e Entry) {
	switch e.Kind {
	case KindChange, KindChanged:
		u.change(e.Kind, e.Setting)
	case KindRestored, KindLeft:
		u.settings = slices.DeleteFunc(u.settings, func(c *changed) bool { return c.is(e.Setting) })
	case KindPrepare:
		if !u.prepared(e.load()) {
			u.loads = append(u.loads, e.load())
		}
	case KindCleaned:
		u.loads = slices.DeleteFunc(u.loads, func(l Load) bool { return sameLoad(l, e.load()) })
	case KindServe:
		if !slices.Contains(u.servers, e.Server) {
			u.servers = append(u.servers, e.Server)
		}
	case KindServed:
		u.servers = slices.DeleteFunc(u.servers, func(name string) bool { return name == e.Server })
	}
}

func (u *undo) change(kind Kind, s *Setting) {
	i := slices.IndexFunc(u.settings, func(c *changed) bool { return c.is(s) })
	if i < 0 {
		u.settings = append(u.settings, &changed{factor: s.Factor, target: s.Target, machine: s.Machine, former: s.Former, coupled: s.Coupled, seen: map[string][]string{}})
		i = len(u.settings) - 1
	}
	c := u.settings[i]
	c.midway = kind == KindChange
	c.ours = append(c.ours, s.Level)
	if kind == KindChanged {
		c.ours = append(c.ours, s.Seen)
		for name, value := range s.Coupled {
			if !slices.Contains(c.seen[name], value) {
				c.seen[name] = append(c.seen[name], value)
			}
		}
	}
}

// of finds the change of a setting that is outstanding; nil for none.
func (u *undo) of(s *Setting) *changed {
	if i := slices.IndexFunc(u.settings, func(c *changed) bool { return c.is(s) }); i >= 0 {
		return u.settings[i]
	}
	return nil
}

func (u *undo) prepared(load Load) bool {
	return slices.ContainsFunc(u.loads, func(l Load) bool { return sameLoad(l, load) })
}

func (u *undo) none() bool { return u.count() == 0 }

func (u *undo) count() int { return len(u.settings) + len(u.loads) + len(u.servers) }

func sameLoad(a, b Load) bool {
	return a.Machine == b.Machine && a.Workload == b.Workload && loadKey(a.Settings) == loadKey(b.Settings)
}

// loadKey is the same text for the same settings: JSON sorts the keys of a map.
func loadKey(s parameter.Settings) string {
	text, err := json.Marshal(s)
	if err != nil || len(s) == 0 {
		return "{}"
	}
	return string(text)
}
