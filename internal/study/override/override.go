// Package override applies overrides of the command line to the tree of a study file.
package override

import (
	"slices"
	"strings"

	"plimsoll/internal/document"
)

// auto as a number of blocks leaves the choice to plimsoll.
const auto = "auto"

// Put sets path=value in the tree of a file. The first part of a path is a key of a study, the
// name of a kind that it uses, or that of a group.
func Put(in *document.File, keys []string, root *document.Node, set string) {
	overrider{in, keys}.put(root, set)
}

type overrider struct {
	in  *document.File
	top []string // keys of a study
}

func (o overrider) put(root *document.Node, set string) {
	path, text, found := strings.Cut(set, "=")
	path, text = strings.TrimSpace(path), strings.TrimSpace(text)
	place := o.outside(path)
	if !found || path == "" {
		o.in.Complain(o.outside(set), "expected path=value, such as measure.window=5s")
		return
	}
	value := o.overrideValue(place, text)
	if value == nil {
		return
	}
	o.in.Mark(value, source(path))
	if value.Kind == document.Scalar && value.Text != "" && slices.Contains([]string{"platform", "workload", "service", "monitor"}, path) && value.Text == usedKind(root, path) {
		return // the kind that the study uses, with its settings
	}
	if keys := o.route(root, place, path); keys != nil {
		o.displace(root, keys, value)
		o.enter(root, keys, value)
	}
}

// overrideValue parses a list, a mapping or a quoted text as YAML and takes anything else
// literally, so that a question may have a colon.
func (o overrider) overrideValue(place *document.Node, text string) *document.Node {
	if text == "" || !strings.ContainsRune(`[{"'`, rune(text[0])) {
		return &document.Node{Text: text}
	}
	before := o.in.Count()
	sub := o.in.Anew()
	value := sub.Read([]byte("value: " + text))
	for _, m := range document.Mistakes(sub.Err()) {
		o.in.Complain(place, "%s", m.Text)
	}
	if o.in.Count() > before || value == nil || len(value.Kids) != 2 {
		if o.in.Count() == before {
			o.in.Complain(place, "%q is more than one value", text)
		}
		return nil
	}
	return &value.Kids[1]
}

// outside is a value that is not in the file.
func (o overrider) outside(path string) *document.Node {
	n := &document.Node{}
	o.in.Mark(n, source(path))
	return n
}

func source(path string) string { return "--set " + document.OneLine(path) }

// route splits a path into keys. Names of metrics and factors have dots, so each part of a
// study splits its path differently.
func (o overrider) route(root, place *document.Node, path string) []string {
	head, rest, deeper := strings.Cut(path, ".")
	if !slices.Contains(o.top, head) {
		for _, what := range []string{"workload", "service"} {
			if head == usedKind(root, what) && deeper {
				return o.route(root, place, what+"."+path)
			}
		}
		if group := child(child(root, "groups"), head); group != nil && deeper {
			return o.route(root, place, "groups."+path)
		}
		o.in.Unknown(place, "unknown key", head, o.top)
		return nil
	}
	if !deeper {
		return []string{head}
	}
	switch head {
	case "groups":
		return routeGroup(rest)
	case "platform", "workload", "service", "monitor":
		kind, setting, more := strings.Cut(rest, ".")
		if used := usedKind(root, head); kind != used {
			o.in.Complain(place, "the %s of this study is %s; to change it: --set %s=%s", head, used, head, kind)
			return nil
		}
		at := append(holder(root, head), head, kind)
		if !more {
			return at
		}
		return append(at, setting)
	case "limits":
		for _, bound := range []string{"min", "max"} {
			if metric, ok := strings.CutSuffix(rest, "."+bound); ok {
				return []string{head, metric, bound}
			}
		}
	case "goal":
		if metric, ok := strings.CutPrefix(rest, "floor."); ok {
			return []string{head, "floor", metric}
		}
	case "tune":
		if name, ok := strings.CutPrefix(rest, "candidates."); ok {
			return []string{head, "candidates", name}
		}
	case "commands":
		if i := strings.LastIndex(rest, "."); i > 0 {
			return []string{head, rest[:i], rest[i+1:]}
		}
	case "load":
		return append([]string{head}, strings.SplitN(rest, ".", 3)...) // peak.within.p99.9
	case "operations", "measure":
		return append([]string{head}, strings.SplitN(rest, ".", 2)...)
	case "factors":
	default:
		o.in.Complain(place, "%s has no keys: --set %s=value replaces all of it", head, head)
		return nil
	}
	return []string{head, rest}
}

// usedKind is the name of the platform, workload or service that the tree holds.
func usedKind(root *document.Node, what string) string {
	n := root
	for _, key := range append(holder(root, what), what) {
		n = child(n, key)
	}
	switch {
	case n == nil:
		return ""
	case n.Kind == document.Mapping && len(n.Kids) > 0:
		return n.Kids[0].Text
	}
	return n.Text
}

// holder is the group of the subject, if there are groups.
func holder(root *document.Node, what string) []string {
	groups := child(root, "groups")
	if groups == nil || groups.Kind != document.Mapping || child(root, what) != nil {
		return nil
	}
	for i := 0; i+1 < len(groups.Kids); i += 2 {
		if child(&groups.Kids[i+1], what) != nil {
			return []string{"groups", groups.Kids[i].Text}
		}
	}
	return nil
}

// routeGroup splits what stands after "groups." in a path.
func routeGroup(path string) []string {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return []string{"groups", name}
	}
	what, rest, deeper := strings.Cut(rest, ".")
	keys := []string{"groups", name, what}
	switch {
	case !deeper:
		return keys
	case what == "settings" || what == "limits" || what == "elastic":
		return append(keys, rest)
	case what != "workload" && what != "service":
		// NAME.KIND.SETTING is short for NAME.workload.KIND.SETTING.
		return []string{"groups", name, "workload", what, rest}
	}
	return append(keys, strings.SplitN(rest, ".", 2)...)
}

func child(n *document.Node, key string) *document.Node {
	if n == nil || n.Kind != document.Mapping {
		return nil
	}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		if n.Kids[i].Text == key && n.Kids[i].Kind == document.Scalar {
			return &n.Kids[i+1]
		}
	}
	return nil
}

// enter sets the value at the end of the keys and creates mappings on the way.
func (o overrider) enter(n *document.Node, keys []string, value *document.Node) {
	at := value.Line
	for i, name := range keys {
		if n.Kind != document.Mapping {
			open(n, at)
		}
		next := child(n, name)
		switch last := i == len(keys)-1; {
		case next == nil:
			if next = value; !last {
				next = &document.Node{Kind: document.Mapping, Line: at}
			}
			n.Kids = append(n.Kids, document.Node{Text: name, Line: at}, *next)
			next = &n.Kids[len(n.Kids)-1]
		case last:
			for j := 0; j+1 < len(n.Kids); j += 2 {
				if n.Kids[j].Text == name {
					n.Kids[j+1] = *value
				}
			}
		}
		n = next
	}
}

// open expands a bare name, as in "workload: storage", to a mapping, and replaces other values
// by an empty one.
func open(n *document.Node, at int32) {
	m := document.Node{Kind: document.Mapping, Line: n.Line, Column: n.Column}
	if n.Kind == document.Scalar && n.Text != "" && n.Text != "closed" {
		kind := document.Node{Text: n.Text, Line: n.Line, Column: n.Column}
		m.Kids = []document.Node{kind, {Kind: document.Mapping, Line: at}}
	}
	*n = m
}

// displace removes keys that an override excludes: a number of blocks replaces looks, and a
// varied setting is no longer fixed.
func (o overrider) displace(root *document.Node, keys []string, value *document.Node) {
	drop := func(in *document.Node, names ...string) {
		if in == nil || in.Kind != document.Mapping {
			return
		}
		for i := len(in.Kids) - 2; i >= 0; i -= 2 {
			if !in.Kids[i+1].Outside() && slices.Contains(names, in.Kids[i].Text) {
				in.Kids = slices.Delete(in.Kids, i, i+2)
			}
		}
	}
	if len(keys) != 2 {
		return
	}
	switch in := child(root, keys[0]); keys[0] + "." + keys[1] {
	case "measure.blocks":
		drop(in, "precision")
		if value.Text != auto {
			drop(in, "looks")
		}
	case "measure.precision":
		drop(in, "blocks", "looks")
	case "measure.looks":
		drop(in, "blocks", "precision")
	case "goal.most":
		drop(in, "least")
	case "goal.least":
		drop(in, "most")
	}
	for _, what := range []string{"workload", "service"} {
		kind := usedKind(root, what)
		setting, ok := strings.CutPrefix(keys[len(keys)-1], kind+".")
		if keys[0] != "factors" || kind == "" || !ok {
			continue
		}
		at := root
		for _, key := range append(holder(root, what), what) {
			at = child(at, key)
		}
		if w := at; w != nil && w.Kind == document.Mapping {
			drop(child(w, kind), setting)
		}
	}
}
