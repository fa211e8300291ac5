package file

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plimsoll/internal/document"
	"plimsoll/internal/factor"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/workload"
)

// CommandKeys are the keys of a command.
var CommandKeys = []Key{
	{"read", "prints the level in effect; run by sh"},
	{"apply", "sets a level; {level} stands for it"},
	{"restore", "puts back; {level} stands for the former level; default: apply"},
}

func (r *reader) commands(n *document.Node) []study.Command {
	var out []study.Command
	for _, e := range r.entries(n, "commands") {
		c := study.Command{Name: e.key.Text}
		if !plainName(c.Name) {
			r.in.Complain(e.key, "commands: invalid name %q: use letters, digits, '-', '_' and '.', a letter or digit first", c.Name)
			continue
		}
		keys := r.table(e.value, "commands."+c.Name, names(CommandKeys))
		for i, into := range []*string{&c.Read, &c.Apply, &c.Restore} {
			name := CommandKeys[i].Name
			if k, ok := keys[name]; ok {
				*into, _ = r.scalar(k.value, name)
			} else if name != "restore" {
				r.in.Complain(e.key, "commands.%s: the key %q is missing", c.Name, name)
			}
		}
		out = append(out, c)
	}
	return out
}

func (fr factorReader) factors(n *document.Node, s *study.Study, kind *workload.Kind) []study.Factor {
	var out []study.Factor
	for _, e := range fr.r.entries(n, "factors") {
		f, accept, ok := fr.factor(e.key, s, kind)
		if !ok {
			continue
		}
		if f.Levels, ok = fr.levels(e, f.FullName(), accept, levelPlace); ok {
			fr.baseline(e.key, f, s)
			fr.pauses(e.key, f, s)
			out = append(out, f)
		}
	}
	return out
}

// accept validates one level and returns its canonical text.
type accept func(n *document.Node) (string, error)

// errComplained stands for a mistake that was reported already.
var errComplained = errors.New("already reported")

// factor finds the factor of a name, or reports a mistake.
func (fr factorReader) factor(n *document.Node, s *study.Study, kind *workload.Kind) (f study.Factor, levels accept, ok bool) {
	name, target, hasTarget := strings.Cut(n.Text, ":")
	f = study.Factor{Name: name, Target: target}
	if hasTarget && strings.TrimSpace(target) == "" {
		fr.r.in.Complain(n, "factor %q: the target after the colon is missing", n.Text)
		return f, nil, false
	}
	if name == study.MachinesFactor {
		return fr.machinesFactor(n, f, s)
	}
	if f, levels, ok, mine := fr.groupFactor(n, s, kind); mine {
		return f, levels, ok
	}
	if c := fr.r.catalog.Factor(name); c != nil {
		if hasTarget && c.Target == "" && s.Group(target) == nil {
			fr.r.in.Complain(n, "factor %s takes no target, but %q is given", name, target)
			return f, nil, false
		}
		f.Restart = c.Restart
		return f, fr.machineLevels(c, target), true
	}
	if hasTarget {
		name = n.Text
	}
	switch before, rest, _ := strings.Cut(name, "."); {
	case name == study.Label:
		return f, fr.plainLevel, true
	case strings.HasPrefix(name, study.CommandPrefix):
		if !slices.ContainsFunc(s.Commands, func(c study.Command) bool { return c.Name == rest }) {
			fr.r.in.Unknown(n, "commands has no", rest, namesOf(s.Commands, func(c study.Command) string { return c.Name }))
			return f, nil, false
		}
		return f, fr.plainLevel, true
	case kind != nil && before == kind.Name:
		return fr.parameter(n, kind.Name, kind.Defaults)
	case s.Service != nil && before == s.Service.Kind:
		f, levels, ok = fr.parameter(n, s.Service.Kind, fr.r.catalog.Service(s.Service.Kind).Defaults)
		f.OfService = true
		return f, levels, ok
	case kind == nil && fr.couldBeLoad(before):
		return f, nil, false // the workload is missing or unknown, which was reported
	case s.Service != nil && fr.r.catalog.Service(before) != nil:
		fr.r.in.Complain(n, "factor %q: the service of this study is %s, not %s", name, s.Service.Kind, before)
		return f, nil, false
	case kind != nil && fr.r.catalog.Workload(before) != nil:
		fr.r.in.Complain(n, "factor %q: the workload of this study is %s, not %s", name, kind.Name, before)
		return f, nil, false
	}
	fr.unknownFactor(n, name, s, kind)
	return f, nil, false
}

// couldBeLoad reports whether a name with an unknown prefix may be a setting of the workload,
// which is unknown too.
func (fr factorReader) couldBeLoad(before string) bool {
	return !slices.ContainsFunc(fr.r.catalog.Factors, func(f factor.Factor) bool { return strings.HasPrefix(f.Name, before+".") })
}

// factorNames lists every factor that is valid with this workload.
func (fr factorReader) factorNames(s *study.Study, kind *workload.Kind) []string {
	out := []string{study.Label, study.MachinesFactor}
	for _, f := range fr.r.catalog.Factors {
		if f.Name != study.Label {
			out = append(out, f.Name)
		}
	}
	for _, c := range s.Commands {
		out = append(out, study.CommandPrefix+c.Name)
	}
	if kind != nil {
		out = append(out, study.SettingNames(kind.Name, kind.Defaults)...)
	}
	if s.Service != nil {
		out = append(out, study.SettingNames(s.Service.Kind, fr.r.catalog.Service(s.Service.Kind).Defaults)...)
	}
	return out
}

// baseline rejects a workload setting that is also varied, unless it equals the baseline.
func (fr factorReader) baseline(n *document.Node, f study.Factor, s *study.Study) {
	use, what := s.Workload, "workload"
	switch {
	case f.OfService:
		use, what = *s.Service, "service"
	case f.Group != "":
		use, what = *s.Group(f.Group).Workload, "groups"
	}
	given, ok := use.Settings[f.Parameter]
	if !ok || f.Parameter == "" || given == f.Levels[0] {
		return
	}
	place := n
	if at := fr.r.places[what+"."+f.Name]; at != nil && at.Outside() {
		place = at
	}
	fr.r.in.Complain(place, "%s is varied from the baseline %s, and %s in the %s: keep one of them", f.Name, f.Levels[0], given, what)
}

// parameter finds the setting of a workload or a service that a factor varies.
func (fr factorReader) parameter(n *document.Node, kind string, defaults any) (f study.Factor, levels accept, ok bool) {
	name := strings.TrimPrefix(n.Text, kind+".")
	field, found := parameter.Find(defaults, name)
	if !found {
		fr.r.in.Unknown(n, "unknown factor", n.Text, study.SettingNames(kind, defaults))
		return f, nil, false
	}
	return study.Factor{Name: n.Text, Parameter: name}, func(n *document.Node) (string, error) {
		if text, ok := fr.r.value(n, field); ok {
			return text, nil
		}
		return "", errComplained
	}, true
}

// machineLevels validates the form of a level; whether the machine supports it is checked
// before a run.
func (fr factorReader) machineLevels(f *factor.Factor, target string) accept {
	return func(n *document.Node) (string, error) {
		text, err := fr.plainLevel(n)
		if err != nil {
			return "", err
		}
		return f.Accept(context.Background(), factor.Env{Target: target}, text)
	}
}

func (fr factorReader) plainLevel(n *document.Node) (string, error) {
	text, ok := fr.r.scalar(n, "a level")
	text = strings.TrimSpace(text)
	if !ok {
		return "", errComplained
	}
	return text, nil
}

// levels parses the levels of a factor without duplicates. It returns false if one was
// rejected.
func (fr factorReader) levels(e entry, name string, accept accept, place func(string, int) string) ([]string, bool) {
	n := e.value
	switch {
	case n.Refused:
		return nil, false
	case n.Kind != document.List:
		fr.r.in.Complain(n, "%s: levels are a list, such as [a, b], not %s", name, n.Says())
		return nil, false
	case len(n.Kids) == 0:
		fr.r.in.Complain(n, "%s has no level; give at least one", name)
		return nil, false
	case len(n.Kids) > study.MostLevels:
		fr.r.in.Complain(&n.Kids[study.MostLevels], "%s has %d levels; %d is the most", name, len(n.Kids), study.MostLevels)
		return nil, false
	}
	var out []string
	good := true
	for i, item := range members(n) {
		level, err := accept(item)
		switch {
		case errors.Is(err, errComplained):
			good = false
		case err != nil:
			fr.r.in.Complain(item, "%v", err)
			good = false
		case slices.Contains(out, level):
			fr.r.in.Complain(item, "%s: the level %s is given twice", name, level)
			good = false
		default:
			out = append(out, level)
			fr.r.places[place(name, i)] = item
		}
	}
	return out, good
}

func levelPlace(factor string, i int) string { return fmt.Sprintf("factors.%s[%d]", factor, i) }

// Candidate is a candidate of tune that the catalog suggests for the study, with its levels; an error if the
// study cannot have it.
func Candidate(s *study.Study, c *study.Catalog, name string, levels []string) (study.Factor, error) {
	r := &reader{in: document.New(name, format), catalog: c, places: map[string]*document.Node{}}
	key, list := document.Node{Kind: document.Scalar, Text: name}, document.Node{Kind: document.List}
	for _, level := range levels {
		list.Kids = append(list.Kids, document.Node{Kind: document.Scalar, Text: level})
	}
	f, accept, ok := factorReader{r}.factor(&key, s, c.Workload(s.Workload.Kind))
	if ok {
		f.Levels, _ = factorReader{r}.levels(entry{&key, &list}, name, accept, candidatePlace)
	}
	return f, r.in.Err()
}

// levelPlaces are the places of the levels, by factor and canonical text.
func (fr factorReader) levelPlaces(s *study.Study) map[string]document.Mistake {
	places := map[string]document.Mistake{}
	for _, f := range s.Factors {
		for i, level := range f.Levels {
			if n := fr.r.places[levelPlace(f.FullName(), i)]; n != nil {
				places[f.FullName()+"="+level] = fr.r.in.Position(n)
			}
		}
	}
	return places
}
