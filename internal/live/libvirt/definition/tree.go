package definition

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// element is an element of a definition, with its position in the text.
type element struct {
	xml.StartElement
	children []*element
	text     strings.Builder // without the text of its children
	// The element is from begin to end, its content from inner to outer. Both are end in <cpu/>.
	begin, inner, outer, end int
}

const (
	mostText  = 16 << 20 // bytes, the limit of libvirt
	mostDepth = 256
)

// readTree parses the text of a definition.
func readTree(text string) (*element, error) {
	if len(text) > mostText {
		return nil, fmt.Errorf("it has %d bytes, above %d", len(text), mostText)
	}
	in := xml.NewDecoder(strings.NewReader(text))
	top := &element{}
	open := []*element{top}
	for {
		begin := int(in.InputOffset())
		token, err := in.Token()
		last := open[len(open)-1]
		switch t := token.(type) {
		case nil:
			if !errors.Is(err, io.EOF) {
				return nil, err
			}
			if len(top.children) != 1 {
				return nil, errors.New("it has no root element, or several")
			}
			return top.children[0], nil
		case xml.StartElement:
			if len(open) > mostDepth {
				return nil, errors.New("its elements are nested too deeply")
			}
			e := &element{StartElement: t.Copy(), begin: begin, inner: int(in.InputOffset())}
			last.children = append(last.children, e)
			open = append(open, e)
		case xml.EndElement:
			last.outer, last.end = begin, int(in.InputOffset())
			open = open[:len(open)-1]
		case xml.CharData:
			last.text.Write(t)
		}
	}
}

// all are the children with a name, in libvirt's own namespace.
func (e *element) all(name string) (list []*element) {
	if e == nil {
		return nil
	}
	for _, c := range e.children {
		if c.Name.Local == name && c.Name.Space == "" {
			list = append(list, c)
		}
	}
	return list
}

// find is the first element on a path of names; nil if there is none.
func (e *element) find(path ...string) *element {
	for _, name := range path {
		list := e.all(name)
		if len(list) == 0 {
			return nil
		}
		e = list[0]
	}
	return e
}

// value is an attribute, empty without it.
func (e *element) value(name string) string {
	if e == nil {
		return ""
	}
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

// content is the text of the element, empty without it.
func (e *element) content() string {
	if e == nil {
		return ""
	}
	return strings.TrimSpace(e.text.String())
}

// descend visits all elements below.
func (e *element) descend(visit func(*element)) {
	if e == nil {
		return
	}
	for _, c := range e.children {
		visit(c)
		c.descend(visit)
	}
}
