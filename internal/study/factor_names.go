package study

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload"
)

// owned is a setting of a workload or service as a factor: "redis.io_threads".
type owned struct{ factor, owner, class string }

// settings lists every setting that could be a factor in some study.
func (c *Catalog) settings() []owned {
	var all []owned
	for _, class := range []string{"workload", "service"} {
		for _, k := range c.Kinds(class) {
			for _, name := range settingsOf(k.Name, k.Defaults) {
				all = append(all, owned{name, k.Name, class})
			}
		}
	}
	return all
}

// unknownFactor reports a factor that this study cannot have, with the nearest valid name,
// else a setting of that name elsewhere in the catalog, else where all are listed.
func (fr factorReader) unknownFactor(n *document.Node, name string, s *Study, kind *workload.Kind) {
	here := fr.factorNames(s, kind)
	if parameter.Nearest(name, here) != "" {
		fr.r.in.Unknown(n, "unknown factor", name, here)
		return
	}
	if i := slices.IndexFunc(here, func(f string) bool { return strings.HasSuffix(f, "."+name) }); i >= 0 {
		fr.r.in.Complain(n, "unknown factor %q; did you mean %q?", name, here[i])
		return
	}
	if o, ok := elsewhere(name, fr.r.catalog.settings(), s, kind); ok {
		fr.r.in.Complain(n, "unknown factor %q; %s is a setting of the %s %s: %s", name, o.factor, o.class, o.owner, o.remedy(s, kind))
		return
	}
	var own []string
	for _, f := range here {
		if _, _, dotted := strings.Cut(f, "."); dotted && fr.r.catalog.Factor(f) == nil {
			own = append(own, f)
		}
	}
	text := fmt.Sprintf("unknown factor %q", name)
	if len(own) > 0 {
		text += "; settings that this study can vary: " + strings.Join(own, ", ")
	}
	fr.r.in.Complain(n, "%s; factors of the host and of guests: plimsoll manual", text)
}

// elsewhere finds the setting that a name means: its whole name misspelled, or its
// last part alone. Where several have that part, the first of this study's workload
// and service counts, then the first of the catalog.
func elsewhere(name string, all []owned, s *Study, kind *workload.Kind) (owned, bool) {
	_, last, dotted := strings.Cut(name, ".")
	if !dotted {
		last = name
	}
	var full []string
	var found []owned
	for _, o := range all {
		full = append(full, o.factor)
		if strings.TrimPrefix(o.factor, o.owner+".") == last {
			found = append(found, o)
		}
	}
	if near := parameter.Nearest(name, full); dotted && near != "" {
		return all[slices.Index(full, near)], true
	}
	for _, o := range found {
		if kind != nil && o.owner == kind.Name || s.Service != nil && o.owner == s.Service.Kind {
			return o, true
		}
	}
	if len(found) > 0 {
		return found[0], true
	}
	return owned{}, false
}

// remedy is how to change the study to have the setting.
func (o owned) remedy(s *Study, kind *workload.Kind) string {
	switch {
	case o.class == "service" && s.Service != nil && s.Service.Kind == o.owner, o.class == "workload" && kind != nil && kind.Name == o.owner:
		return "write " + o.factor
	case o.class == "service" && s.Service != nil:
		return fmt.Sprintf("the service of this study is %s", s.Service.Kind)
	case o.class == "service":
		return fmt.Sprintf("add service: %s", o.owner)
	case kind != nil:
		return fmt.Sprintf("the workload of this study is %s", kind.Name)
	}
	return fmt.Sprintf("add workload: %s", o.owner)
}
