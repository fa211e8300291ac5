package snapshot

// node is one value of a file with its place, whether it was written as YAML or JSON.
// A mapping has its keys and values by turns.
type node struct {
	kind         kind
	quoted       bool
	line, column int32
	text         string // of a scalar, as it stands in the file
	kids         []node
	items        *items // of a list whose kids are read when they are needed
}

type kind uint8

const (
	scalar kind = iota
	list
	mapping
)

// deepest is how far values may be nested; a sensible file needs a tenth, apart from
// nested pools.
const deepest = 200

// empty tells a value that was left out, as after "pools:".
func (n *node) empty() bool { return n.kind == scalar && n.text == "" && !n.quoted }

// find is the value of a key; nil when it is not there or was left empty.
func (n *node) find(key string) *node {
	for i := 0; i+1 < len(n.kids); i += 2 {
		if n.kids[i].text == key && !n.kids[i+1].empty() {
			return &n.kids[i+1]
		}
	}
	return nil
}

// says is what a node is, in a complaint.
func (n *node) says() string {
	switch n.kind {
	case mapping:
		return "a mapping"
	case list:
		return "a list"
	}
	return quote(n.text)
}
