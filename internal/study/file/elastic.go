package file

import (
	"slices"
	"strconv"
	"time"

	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
)

var elasticKeys = []Key{
	{"servers", "numbers of servers, one after the other"},
	{"every", "how long each number stays"},
}

// sharedNetwork is the network in which all servers of a service have one address, so that connections follow them.
const sharedNetwork = "shared"

// elastic parses the servers of a group that come and go. All of them start before the load.
func (gr groupReader) elastic(g *study.Group, path string, e entry) {
	path += ".elastic"
	keys := gr.r.table(e.value, path, names(elasticKeys))
	servers, listed := keys["servers"]
	every, timed := keys["every"]
	if !listed || !timed {
		gr.r.in.Complain(e.key, "%s: requires servers and every, such as {servers: [1, 2], every: 5s}", path)
		return
	}
	el := &study.Elastic{}
	all, _ := gr.r.list(servers.value, path+".servers")
	for _, n := range all {
		text, _ := gr.r.scalar(n, path+".servers")
		count, err := strconv.Atoi(text)
		if err != nil || count < 1 || count > study.MostElastic {
			gr.r.in.Complain(n, "%s.servers: %q is not a number of servers from 1 to %d", path, text, study.MostElastic)
			return
		}
		el.Servers = append(el.Servers, count)
	}
	if len(slices.Compact(slices.Clone(el.Servers))) < 2 {
		gr.r.in.Complain(servers.value, "%s.servers: requires two different numbers, such as [1, 2]", path)
		return
	}
	text, _ := gr.r.scalar(every.value, path+".every")
	var d parameter.Duration
	if err := d.UnmarshalText([]byte(text)); err != nil || d <= 0 {
		gr.r.in.Complain(every.value, "%s.every: %q is not a time above 0, such as 5s", path, text)
		return
	}
	el.Every = time.Duration(d)
	if g.Service == nil {
		gr.r.in.Complain(e.key, "%s: the group has no service of which servers could be added", path)
		return
	}
	kind := gr.r.catalog.Service(g.Service.Kind)
	if !slices.ContainsFunc(parameter.Fields(kind.Defaults), func(f parameter.Field) bool { return f.Name == study.InstancesSetting }) {
		gr.r.in.Complain(e.key, "%s: the service %s has one server only; nginx can have several", path, kind.Name)
		return
	}
	if g.Service.Settings == nil {
		g.Service.Settings = parameter.Settings{}
	}
	for _, own := range []string{study.InstancesSetting, "network"} {
		if _, twice := g.Service.Settings[own]; twice {
			gr.r.in.Complain(e.key, "%s: sets %s of the service itself: omit it there", path, own)
		}
	}
	g.Service.Settings[study.InstancesSetting], g.Service.Settings["network"] = strconv.Itoa(el.Most()), sharedNetwork
	g.Elastic = el
	gr.r.places[path] = e.key
}

// checkElastic finds windows that are too short for the servers to come and go.
func (gr groupReader) checkElastic(s *study.Study) {
	for _, g := range s.Groups {
		if g.Elastic != nil && g.Elastic.Cycle() > s.Measure.Window {
			gr.r.in.Complain(gr.r.places["groups."+g.Name+".elastic"], "groups.%s.elastic: a window of %s does not hold all numbers of servers, which take %s: lengthen measure.window, or shorten every",
				g.Name, s.Measure.Window, g.Elastic.Cycle())
		}
	}
}
