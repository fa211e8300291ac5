package study

import (
	"slices"
	"strings"
	"time"

	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
)

// Operation is a management operation that is repeated while tiles run, one at a time.
type Operation struct {
	Kind      string        `json:"kind"`                // Restart
	Group     string        `json:"group"`               // whose twin it is done to
	Every     time.Duration `json:"every"`               // shortest time from the beginning of one to that of the next
	Reference float64       `json:"reference,omitempty"` // operations per hour beside one tile on an idle machine; 0 for none
}

// Restart starts the service of a group in a folder of its own, and stops it once it answers: no member of a tile is
// disturbed but by the work.
const Restart = "restart"

// TwinGroup is the group of the machine that operations are done to.
const TwinGroup = "twin"

var operationKeys = []Key{
	{"group", "group whose service is restarted, in a twin of its machine"},
	{"every", "shortest time from the beginning of one to that of the next; default 10s"},
	{"reference", "operations per hour beside one tile on an idle machine"},
}

// Metric is the metric of the operation, completed ones per hour.
func (o Operation) Metric() measure.Metric {
	return measure.OperationsMetric(o.Kind)
}

// operations parses the management operations beside tiles.
func (gr groupReader) operations(e entry, s *Study) {
	for _, kind := range gr.r.entries(e.value, "operations") {
		if kind.key.Text != Restart {
			gr.r.in.Unknown(kind.key, "operations: unknown operation", kind.key.Text, []string{Restart})
			continue
		}
		gr.operation(kind, s)
	}
}

func (gr groupReader) operation(e entry, s *Study) {
	const usual = 10 * time.Second
	path := "operations." + e.key.Text
	keys := gr.r.table(e.value, path, names(operationKeys))
	o := Operation{Kind: e.key.Text, Every: usual}
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
		gr.r.in.Complain(e.key, "%s: name the group whose service is restarted, such as {group: shop, every: 10s}", path)
		return
	}
	o.Group, _ = gr.r.scalar(group.value, path+".group")
	served := slices.DeleteFunc(slices.Clone(s.Groups), func(g Group) bool { return g.Service == nil })
	of := find(served, func(g Group) bool { return g.Name == o.Group })
	switch {
	case !s.Tiled():
		gr.r.in.Complain(e.key, "%s: operations belong to tiles, whose groups have limits or a reference", path)
	case of == nil && len(served) == 0:
		gr.r.in.Complain(group.value, "%s.group: no group has a service to restart", path)
	case of == nil:
		gr.r.in.Complain(group.value, "%s.group: %q has no service to restart; these have one: %s", path, o.Group, strings.Join(namesOf(served, func(g Group) string { return g.Name }), ", "))
	case s.group(TwinGroup) != nil:
		gr.r.in.Complain(group.value, "groups.%s: this name is that of the machine for operations: choose another", TwinGroup)
	default:
		s.Operations = append(s.Operations, o)
		s.Groups = append(s.Groups, Group{Name: TwinGroup, Machines: 1, Service: of.Service, Twin: true})
	}
}
