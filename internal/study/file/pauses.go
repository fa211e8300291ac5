package file

import (
	"cmp"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/study"
)

const pausedLoad = "the clock of a machine stops while it is paused, so that a load on it would be timed wrongly"

// pauses reports a load on a machine that a level of the factor pauses.
func (fr factorReader) pauses(n *document.Node, f study.Factor, s *study.Study) {
	c := fr.r.catalog.Factor(f.Name)
	if c == nil || c.Pauses == nil || !slices.ContainsFunc(f.Levels, c.Pauses) {
		return
	}
	if len(s.Groups) == 0 || slices.ContainsFunc(s.Groups, func(g study.Group) bool { return g.Loaded() && (f.Target == "" || f.Target == g.Name) }) {
		fr.r.in.Complain(n, "factor %s: %s: give the service a group of its own, and vary %s:GROUP of that one", f.FullName(), pausedLoad, f.Name)
	}
}

// paused reports a load on a machine that a setting of the platform pauses. The factor that varies a setting has its name after that of
// the platform.
func (r *reader) paused(s *study.Study) {
	groups := s.Groups
	if len(groups) == 0 {
		groups = []study.Group{{Subject: true}}
	}
	for _, c := range r.catalog.Factors {
		setting, own := strings.CutPrefix(c.Name, s.Platform.Kind+".")
		if !own || c.Pauses == nil {
			continue
		}
		for _, g := range groups {
			level := cmp.Or(g.Settings[setting], s.Platform.Settings[setting])
			if level == "" || !g.Loaded() || !c.Pauses(level) {
				continue
			}
			at := cmp.Or(r.places["groups."+g.Name+".settings."+setting], r.places["platform."+c.Name])
			r.in.Complain(at, "%s: %s: set it for the group of a service that has no load", setting, pausedLoad)
			break
		}
	}
}
