package document

import (
	"iter"
	"slices"
)

// items are the offsets of the items of a top-level list: 35,000 VMs are parsed one by one,
// and are never in memory as nodes together.
type items struct {
	reader *textReader // of the text that they stand in
	spans  []itemAt
}

// itemAt is where an item begins.
type itemAt struct {
	at           int
	line, column int32
	kind         Kind
}

// scan parses a list and records the offsets of its items.
func (j *textReader) scan(n *Node) *jsonError {
	n.items = &items{reader: j}
	j.at++
	if j.next() == ']' {
		j.at++
		return nil
	}
	for {
		if err := n.items.add(j); err != nil {
			return err
		}
		if more, err := j.more(']'); err != nil || !more {
			return err
		}
	}
}

// add reads an item and keeps where it was.
func (l *items) add(j *textReader) *jsonError {
	var position Node
	j.next()
	j.position(&position)
	at, before := j.at, j.nodes.mark()
	value, err := j.value(2)
	if err != nil {
		return err
	}
	j.nodes.release(before)
	l.spans = append(l.spans, itemAt{at, position.Line, position.Column, value.Kind})
	return nil
}

// item parses an item again, which cannot fail.
func (l *items) item(j *textReader, i int) Node {
	s := l.spans[i]
	j.at, j.counted, j.line, j.column = s.at, s.at, s.line, s.column
	n, _ := j.value(2)
	return n
}

// again is a reader of the same text.
func (l *items) again() *textReader {
	return &textReader{text: l.reader.text, flow: l.reader.flow}
}

// All are the members of a list.
func (n *Node) All() []Node {
	if n.items == nil {
		return n.Kids
	}
	j := n.items.again()
	out := make([]Node, len(n.items.spans))
	for i := range out {
		out[i] = n.items.item(j, i)
	}
	return out
}

// Each iterates over the mappings of a list, each valid until the next, and adds a mistake for
// each other element.
func (f *File) Each(n *Node, what string) iter.Seq[*Node] {
	if n == nil || n.items == nil {
		return func(yield func(*Node) bool) {
			all := f.Items(n, what)
			for i := range all {
				if !yield(&all[i]) {
					return
				}
			}
		}
	}
	j := n.items.again()
	for i, s := range n.items.spans {
		if s.kind != Mapping {
			odd := n.items.item(j, i)
			f.Complain(&odd, "%s must be a list of mappings, such as {name: a}, not %s", what, odd.Says())
		}
	}
	return func(yield func(*Node) bool) {
		for i, s := range n.items.spans {
			if s.kind != Mapping {
				continue
			}
			before := j.nodes.mark()
			item := n.items.item(j, i)
			if !yield(&item) {
				return
			}
			j.nodes.release(before)
		}
	}
}

// Items are the mappings of a list.
func (f *File) Items(n *Node, what string) []Node {
	switch {
	case n == nil || n.Empty():
		return nil
	case n.Kind != List:
		f.Complain(n, "%s must be a list, such as [{name: a}, {name: b}], not %s", what, n.Says())
		return nil
	}
	all := n.All()
	odd := func(n Node) bool { return n.Kind != Mapping }
	if !slices.ContainsFunc(all, odd) {
		return all
	}
	for i := range all {
		if odd(all[i]) {
			f.Complain(&all[i], "%s must be a list of mappings, such as {name: a}, not %s", what, all[i].Says())
		}
	}
	return slices.DeleteFunc(slices.Clone(all), odd)
}
