package journal

import (
	"encoding/json"
	"slices"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

// Undo holds the outstanding changes of a run: a fold over its journal.
type Undo struct {
	Settings []*Change // oldest first
	Loads    []Load
	Servers  []string // machines on which services may have left something, as the journal names them
}

// Change is a setting that is, or may be, not at its former level.
type Change struct {
	Factor, Target string
	Machine        string
	Former         string              // before the run touched it
	Ours           []string            // every level that the run set, or saw after it had set one
	Midway         bool                // a change was announced and not confirmed
	Coupled        map[string]string   // files that may change along, with their former values
	Seen           map[string][]string // values of those files after changes
}

// Name is the factor with its target and machine.
func (c *Change) Name() string {
	name := study.Factor{Name: c.Factor, Target: c.Target}.FullName()
	if c.Machine != "" {
		name += " on " + c.Machine
	}
	return name
}

// Back is the entry for a setting that goes from a level back to the former one.
func (c *Change) Back(from string) Setting {
	return Setting{Factor: c.Factor, Target: c.Target, Machine: c.Machine, Former: from, Level: c.Former, Seen: c.Former}
}

func (c *Change) is(s *Setting) bool {
	return c.Factor == s.Factor && c.Target == s.Target && c.Machine == s.Machine
}

// outstanding folds the journal into the changes that must be undone.
func outstanding(entries []Entry) *Undo {
	u := &Undo{}
	for _, e := range entries {
		u.fold(e)
	}
	return u
}

func (u *Undo) fold(e Entry) {
	switch e.Kind {
	case KindChange, KindChanged:
		u.change(e.Kind, e.Setting)
	case KindRestored, KindLeft:
		u.Settings = slices.DeleteFunc(u.Settings, func(c *Change) bool { return c.is(e.Setting) })
	case KindPrepare:
		if !u.Prepared(e.load()) {
			u.Loads = append(u.Loads, e.load())
		}
	case KindCleaned:
		u.Loads = slices.DeleteFunc(u.Loads, func(l Load) bool { return sameLoad(l, e.load()) })
	case KindServe:
		if !slices.Contains(u.Servers, e.Server) {
			u.Servers = append(u.Servers, e.Server)
		}
	case KindServed:
		u.Servers = slices.DeleteFunc(u.Servers, func(name string) bool { return name == e.Server })
	}
}

func (u *Undo) change(kind Kind, s *Setting) {
	i := slices.IndexFunc(u.Settings, func(c *Change) bool { return c.is(s) })
	if i < 0 {
		u.Settings = append(u.Settings, &Change{Factor: s.Factor, Target: s.Target, Machine: s.Machine, Former: s.Former, Coupled: s.Coupled, Seen: map[string][]string{}})
		i = len(u.Settings) - 1
	}
	c := u.Settings[i]
	c.Midway = kind == KindChange
	c.Ours = append(c.Ours, s.Level)
	if kind == KindChanged {
		c.Ours = append(c.Ours, s.Seen)
		for name, value := range s.Coupled {
			if !slices.Contains(c.Seen[name], value) {
				c.Seen[name] = append(c.Seen[name], value)
			}
		}
	}
}

// of finds the change of a setting that is outstanding; nil for none.
func (u *Undo) of(s *Setting) *Change {
	if i := slices.IndexFunc(u.Settings, func(c *Change) bool { return c.is(s) }); i >= 0 {
		return u.Settings[i]
	}
	return nil
}

// Prepared reports whether a load was prepared and not cleaned.
func (u *Undo) Prepared(load Load) bool {
	return slices.ContainsFunc(u.Loads, func(l Load) bool { return sameLoad(l, load) })
}

// None reports whether nothing is left to put back.
func (u *Undo) None() bool { return u.count() == 0 }

func (u *Undo) count() int { return len(u.Settings) + len(u.Loads) + len(u.Servers) }

func sameLoad(a, b Load) bool {
	return a.Machine == b.Machine && a.Workload == b.Workload && LoadKey(a.Settings) == LoadKey(b.Settings)
}

// LoadKey is the same text for the same settings: JSON sorts the keys of a map.
func LoadKey(s parameter.Settings) string {
	text, err := json.Marshal(s)
	if err != nil || len(s) == 0 {
		return "{}"
	}
	return string(text)
}
