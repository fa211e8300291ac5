package file

import (
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/misplaced"
	"plimsoll/internal/workload"
)

// settings lists every setting that could be a factor in some study.
func settings(c *study.Catalog) (all []misplaced.Setting) {
	for _, class := range []string{"workload", "service"} {
		for _, k := range c.Kinds(class) {
			for _, name := range study.SettingNames(k.Name, k.Defaults) {
				all = append(all, misplaced.Setting{Factor: name, Owner: k.Name, Class: class})
			}
		}
	}
	return all
}

// unknownFactor reports a factor that this study cannot have, with the nearest valid name,
// else a setting of that name elsewhere in the catalog, else where all are listed.
func (fr factorReader) unknownFactor(n *document.Node, name string, s *study.Study, kind *workload.Kind) {
	here := fr.factorNames(s, kind)
	if parameter.Nearest(name, here) != "" {
		fr.r.in.Unknown(n, "unknown factor", name, here)
		return
	}
	if i := slices.IndexFunc(here, func(f string) bool { return strings.HasSuffix(f, "."+name) }); i >= 0 {
		fr.r.in.Complain(n, "unknown factor %q; did you mean %q?", name, here[i])
		return
	}
	of := misplaced.Study{}
	if kind != nil {
		of.Workload = kind.Name
	}
	if s.Service != nil {
		of.Service = s.Service.Kind
	}
	if o, ok := of.Find(name, settings(fr.r.catalog)); ok {
		fr.r.in.Complain(n, "unknown factor %q; %s is a setting of the %s %s: %s", name, o.Factor, o.Class, o.Owner, of.Remedy(o))
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
