package study

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// override puts path=value into the tree, in place of what stands there.
func (r *reader) override(root *yaml.Node, set string) {
	path, text, found := strings.Cut(set, "=")
	path, text = strings.TrimSpace(path), strings.TrimSpace(text)
	place := &yaml.Node{Kind: yaml.ScalarNode}
	r.origin[place] = oneLine(path)
	if !found || path == "" {
		r.origin[place] = oneLine(set)
		r.complain(place, "want path=value, such as measure.window=5s")
		return
	}
	value := r.overrideValue(place, text)
	if value == nil {
		return
	}
	r.mark(value, oneLine(path))
	if value.Kind == yaml.ScalarNode && value.Value != "" && slices.Contains([]string{"platform", "workload", "service"}, path) && value.Value == usedKind(root, path) {
		return // it is what the study uses, with its settings
	}
	if keys := r.route(root, place, path); keys != nil {
		r.displace(root, keys, value)
		r.put(root, keys, value)
	}
}

// overrideValue reads a list, a mapping or a quoted text as YAML and takes
// anything else as it is, so that a question may hold a colon.
func (r *reader) overrideValue(place *yaml.Node, text string) *yaml.Node {
	if text == "" || !strings.ContainsRune(`[{"'`, rune(text[0])) {
		return &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	}
	before := len(r.mistakes)
	sub := &reader{file: r.file, catalog: r.catalog}
	value := sub.document([]byte("value: " + text))
	for _, m := range sub.mistakes {
		r.complain(place, "%s", m.Text)
	}
	if len(r.mistakes) > before || value == nil || len(value.Content) != 2 {
		if len(r.mistakes) == before {
			r.complain(place, "%q is more than one value", text)
		}
		return nil
	}
	return value.Content[1]
}

// mark remembers that a node came from an override.
func (r *reader) mark(n *yaml.Node, path string) {
	r.origin[n] = path
	for _, c := range n.Content {
		r.mark(c, path)
	}
}

// route turns a path into the keys that lead to its place. Names of metrics and
// factors hold dots, so that each part of a study splits its path its own way.
func (r *reader) route(root, place *yaml.Node, path string) []string {
	head, rest, deeper := strings.Cut(path, ".")
	if !slices.Contains(names(topKeys), head) {
		for _, what := range []string{"workload", "service"} {
			if head == usedKind(root, what) && deeper {
				return r.route(root, place, what+"."+path)
			}
		}
		if group := child(child(root, "groups"), head); group != nil && deeper {
			return r.route(root, place, "groups."+path)
		}
		r.unknown(place, "unknown key", head, names(topKeys))
		return nil
	}
	if !deeper {
		return []string{head}
	}
	switch head {
	case "groups":
		return r.routeGroup(root, place, rest)
	case "platform", "workload", "service":
		kind, setting, more := strings.Cut(rest, ".")
		if used := usedKind(root, head); kind != used {
			r.complain(place, "the %s of this study is %s; to change it: --set %s=%s", head, used, head, kind)
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
	case "commands":
		if i := strings.LastIndex(rest, "."); i > 0 {
			return []string{head, rest[:i], rest[i+1:]}
		}
	case "load":
		return append([]string{head}, strings.SplitN(rest, ".", 3)...) // peak.within.p99.9
	case "factors", "measure":
	default:
		r.complain(place, "%s holds nothing below it: --set %s=value replaces all of it", head, head)
		return nil
	}
	return []string{head, rest}
}

// usedKind is the name of the platform, workload or service that the tree holds.
func usedKind(root *yaml.Node, what string) string {
	n := root
	for _, key := range append(holder(root, what), what) {
		n = child(n, key)
	}
	switch {
	case n == nil:
		return ""
	case n.Kind == yaml.MappingNode && len(n.Content) > 0:
		return n.Content[0].Value
	}
	return n.Value
}

// holder is the group that holds what the study is about, where it has groups.
func holder(root *yaml.Node, what string) []string {
	groups := child(root, "groups")
	if groups == nil || groups.Kind != yaml.MappingNode || child(root, what) != nil {
		return nil
	}
	for i := 0; i+1 < len(groups.Content); i += 2 {
		if child(groups.Content[i+1], what) != nil {
			return []string{"groups", groups.Content[i].Value}
		}
	}
	return nil
}

// routeGroup splits what stands after "groups." in a path.
func (r *reader) routeGroup(root, place *yaml.Node, path string) []string {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		return []string{"groups", name}
	}
	what, rest, deeper := strings.Cut(rest, ".")
	keys := []string{"groups", name, what}
	switch {
	case !deeper:
		return keys
	case what == "settings":
		return append(keys, rest)
	case what != "workload" && what != "service":
		// NAME.KIND.SETTING is short for NAME.workload.KIND.SETTING.
		return []string{"groups", name, "workload", what, rest}
	}
	return append(keys, strings.SplitN(rest, ".", 2)...)
}

func child(n *yaml.Node, key string) *yaml.Node {
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key && n.Content[i].Kind == yaml.ScalarNode {
			return n.Content[i+1]
		}
	}
	return nil
}

// put sets the value at the end of the keys, making mappings on the way.
func (r *reader) put(n *yaml.Node, keys []string, value *yaml.Node) {
	path := r.origin[value]
	for i, name := range keys {
		if n.Kind != yaml.MappingNode {
			r.open(n, path)
		}
		next := child(n, name)
		switch last := i == len(keys)-1; {
		case next == nil:
			if next = value; !last {
				next = &yaml.Node{Kind: yaml.MappingNode}
				r.origin[next] = path
			}
			k := &yaml.Node{Kind: yaml.ScalarNode, Value: name}
			r.origin[k] = path
			n.Content = append(n.Content, k, next)
		case last:
			for j := 0; j+1 < len(n.Content); j += 2 {
				if n.Content[j].Value == name {
					n.Content[j+1] = value
				}
			}
		}
		n = next
	}
}

// open turns a bare name, as in "workload: storage", into the mapping of it, and
// anything else that is no mapping into an empty one.
func (r *reader) open(n *yaml.Node, path string) {
	if n.Kind == yaml.ScalarNode && n.Value != "" && n.Value != "closed" {
		k := &yaml.Node{Kind: yaml.ScalarNode, Value: n.Value, Line: n.Line, Column: n.Column}
		v := &yaml.Node{Kind: yaml.MappingNode}
		r.origin[v] = path
		*n = yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column, Content: []*yaml.Node{k, v}}
		return
	}
	*n = yaml.Node{Kind: yaml.MappingNode, Line: n.Line, Column: n.Column}
}

// displace drops from the file what an override decides instead: who asks for 9
// blocks wants no looks, and who varies a setting does not want it fixed.
func (r *reader) displace(root *yaml.Node, keys []string, value *yaml.Node) {
	drop := func(in *yaml.Node, names ...string) {
		if in == nil || in.Kind != yaml.MappingNode {
			return
		}
		for i := len(in.Content) - 2; i >= 0; i -= 2 {
			if _, ours := r.origin[in.Content[i+1]]; !ours && slices.Contains(names, in.Content[i].Value) {
				in.Content = slices.Delete(in.Content, i, i+2)
			}
		}
	}
	if len(keys) != 2 {
		return
	}
	switch in := child(root, keys[0]); keys[0] + "." + keys[1] {
	case "measure.blocks":
		drop(in, "precision")
		if value.Value != auto {
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
		if w := at; w != nil && w.Kind == yaml.MappingNode {
			drop(child(w, kind), setting)
		}
	}
}
