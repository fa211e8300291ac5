package file

import (
	"path/filepath"
	"time"

	"plimsoll/internal/document"
	"plimsoll/internal/parameter"
	"plimsoll/internal/study"
	"plimsoll/internal/study/timing"
)

// apart separates the key energy, which has keys of its own, from those of the timing.
func (mr measureReader) apart(n *document.Node, t *timing.Settings) (rest *document.Node, own entry) {
	if n == nil || n.Kind != document.Mapping {
		return n, own
	}
	rest = &document.Node{Kind: document.Mapping, Line: n.Line, Column: n.Column}
	for name, e := range mr.r.table(n, "measure", append(parameter.Names(parameter.Fields(t)), timing.Energy)) {
		if name == timing.Energy {
			own = e
		} else {
			rest.Kids = append(rest.Kids, *e.key, *e.value)
		}
	}
	return rest, own
}

// energy parses a source of energy of the user's; nil without one.
func (mr measureReader) energy(e entry) *study.Energy {
	if e.value == nil {
		return nil
	}
	const path = "measure." + timing.Energy
	before, t := mr.r.in.Count(), timing.EnergySource()
	mr.r.places[path] = e.key
	_ = parameter.Decode(t, mr.r.settings(e.value, path, t)) // each value was checked
	switch {
	case mr.r.in.Count() > before:
	case t.File == "" && t.Command == "":
		mr.r.in.Complain(e.key, "%s: name a file or a command that shows a power or an energy, such as {file: /run/pdu/watts} or {command: pdu-read 4, unit: J}", path)
	case t.File != "" && t.Command != "":
		mr.r.in.Complain(e.key, "%s: file and command are mutually exclusive: each is the source", path)
	case t.File != "" && !filepath.IsAbs(t.File):
		mr.r.in.Complain(mr.r.places[path+".file"], "%s.file: %q is not an absolute path, such as /run/pdu/watts", path, t.File)
	case t.File != "" && badPattern(t.File):
		mr.r.in.Complain(mr.r.places[path+".file"], "%s.file: %q is not a valid pattern", path, t.File)
	}
	return &study.Energy{File: t.File, Command: t.Command, Unit: t.Unit, Covers: t.Covers, Every: time.Duration(t.Every)}
}

func badPattern(text string) bool { _, err := filepath.Match(text, ""); return err != nil }

// metered rejects a source of energy that the study cannot use.
func (mr measureReader) metered(s *study.Study) {
	if s.Measure.Energy == nil {
		return
	}
	n := mr.r.places["measure."+timing.Energy]
	if mr.r.catalog.Virtual(s.Platform.Kind) {
		mr.r.in.Complain(n, "measure.energy: platform %s is simulated in virtual time, in which nothing uses energy", s.Platform.Kind)
	}
	if _, searches := s.Load.Sought(); searches && !s.Tiled() {
		mr.r.in.Complain(n, "measure.energy: a search has no metrics of energy, since its loads differ: use load: {rate: ...} or closed")
	}
}
