package file

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/platform"
	"plimsoll/internal/study"
)

var operationKeys = []Key{
	{"group", "group whose machine has a twin that this is done to"},
	{"every", "shortest time from the beginning of one to that of the next; default 10s"},
	{"reference", "operations per hour beside one tile on an idle machine"},
}

// operations parses the management operations beside tiles.
func (gr groupReader) operations(e entry, s *study.Study) {
	if g := find(s.Groups, func(g study.Group) bool {
		return g.Name == study.TwinGroup || strings.HasPrefix(g.Name, study.TwinGroup+"-")
	}); g != nil {
		gr.r.in.Complain(e.key, "groups.%s: such names are those of machines for operations: choose another", g.Name)
		return
	}
	known := study.Operations()
	has := []string{study.Restart}
	if on := find(gr.r.catalog.Platforms, func(k platform.Kind) bool { return k.Name == s.Platform.Kind }); on != nil {
		has = append(has, on.Operations...)
	}
	for _, kind := range gr.r.entries(e.value, "operations") {
		switch name := kind.key.Text; {
		case !slices.Contains(known, name):
			gr.r.in.Unknown(kind.key, "operations: unknown operation", name, known)
		case !slices.Contains(has, name):
			gr.r.in.Complain(kind.key, "operations.%s: platform %s has none; it has %s", name, s.Platform.Kind, strings.Join(has, ", "))
		default:
			gr.operation(kind, s)
		}
	}
}

func (gr groupReader) operation(e entry, s *study.Study) {
	const usual = 10 * time.Second
	path := "operations." + e.key.Text
	keys := gr.r.table(e.value, path, names(operationKeys))
	o := study.Operation{Kind: e.key.Text, Every: usual}
	if every, ok := keys["every"]; ok {
		text, _ := gr.r.scalar(every.value, path+".every")
		var d parameter.Duration
		if err := d.UnmarshalText([]byte(text)); err != nil || d <= 0 {
			gr.r.in.Complain(every.value, "%s.every: %q is not a time above 0, such as 10s", path, text)
		}
		o.Every = time.Duration(d)
	}
	if reference, ok := keys["reference"]; ok {
		if o.Reference = aimReader(gr).amount(reference.value, measure.Metric{Name: path + ".reference", Unit: "1"}); !(o.Reference > 0) {
			gr.r.in.Complain(reference.value, "%s.reference: must be above 0: operations per hour beside one tile on an idle machine", path)
		}
	}
	group, ok := keys["group"]
	if !ok {
		gr.r.in.Complain(e.key, "%s: name the group whose machine has a twin for it, such as {group: shop, every: 10s}", path)
		return
	}
	o.Group, _ = gr.r.scalar(group.value, path+".group")
	fit := slices.DeleteFunc(slices.Clone(s.Groups), func(g study.Group) bool { return g.Twin || o.Kind == study.Restart && g.Service == nil })
	of := find(fit, func(g study.Group) bool { return g.Name == o.Group })
	switch {
	case !s.Tiled():
		gr.r.in.Complain(e.key, "%s: operations belong to tiles, whose groups have limits or a reference", path)
	case of == nil && o.Kind != study.Restart:
		gr.r.in.Unknown(group.value, path+".group: no group", o.Group, namesOf(fit, func(g study.Group) string { return g.Name }))
	case of == nil && len(fit) == 0:
		gr.r.in.Complain(group.value, "%s.group: no group has a service to restart", path)
	case of == nil:
		gr.r.in.Complain(group.value, "%s.group: %q has no service to restart; these have one: %s", path, o.Group, strings.Join(namesOf(fit, func(g study.Group) string { return g.Name }), ", "))
	default:
		s.Operations = append(s.Operations, o)
		if twin := o.Twin(); twin != "" {
			s.Groups = append(s.Groups, study.Group{Name: twin, Machines: 1, Settings: of.Settings, Service: of.Service, Twin: true})
		}
	}
}
