package snapshot

import (
	"iter"
	"slices"
)

// items are those of a list right below the root, by where they stand: 35,000 VMs are read
// one after the other, and never are there at once as nodes.
type items struct {
	reader *textReader // of the text that they stand in
	spans  []itemAt
}

// itemAt is where an item begins.
type itemAt struct {
	at           int
	line, column int32
	kind         kind
}

// scan reads the list that begins here, and keeps where its items are.
func (j *textReader) scan(n *node) *jsonError {
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
	var place node
	j.next()
	j.place(&place)
	at, before := j.at, j.nodes.mark()
	value, err := j.value(2)
	if err != nil {
		return err
	}
	j.nodes.release(before)
	l.spans = append(l.spans, itemAt{at, place.line, place.column, value.kind})
	return nil
}

// item reads an item again. It was read before, so that there is no error.
func (l *items) item(j *textReader, i int) node {
	s := l.spans[i]
	j.at, j.counted, j.line, j.column = s.at, s.at, s.line, s.column
	n, _ := j.value(2)
	return n
}

// again is a reader of the same text.
func (l *items) again() *textReader {
	return &textReader{text: l.reader.text, flow: l.reader.flow}
}

// all are the members of a list.
func (n *node) all() []node {
	if n.items == nil {
		return n.kids
	}
	j := n.items.again()
	out := make([]node, len(n.items.spans))
	for i := range out {
		out[i] = n.items.item(j, i)
	}
	return out
}

// each visits the mappings of a list, of which each is valid until the next one, after it
// complained about what is none.
func (r *reader) each(n *node, what string) iter.Seq[*node] {
	if n == nil || n.items == nil {
		return func(yield func(*node) bool) {
			all := r.items(n, what)
			for i := range all {
				if !yield(&all[i]) {
					return
				}
			}
		}
	}
	j := n.items.again()
	for i, s := range n.items.spans {
		if s.kind != mapping {
			odd := n.items.item(j, i)
			r.complain(&odd, "%s has mappings, such as {name: a}, not %s", what, odd.says())
		}
	}
	return func(yield func(*node) bool) {
		for i, s := range n.items.spans {
			if s.kind != mapping {
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

// items are the mappings of a list.
func (r *reader) items(n *node, what string) []node {
	switch {
	case n == nil || n.empty():
		return nil
	case n.kind != list:
		r.complain(n, "%s is a list, such as [{name: a}, {name: b}], not %s", what, n.says())
		return nil
	}
	all := n.all()
	odd := func(n node) bool { return n.kind != mapping }
	if !slices.ContainsFunc(all, odd) {
		return all
	}
	for i := range all {
		if odd(all[i]) {
			r.complain(&all[i], "%s has mappings, such as {name: a}, not %s", what, all[i].says())
		}
	}
	return slices.DeleteFunc(slices.Clone(all), odd)
}
