package document

// Node is one value of a file with its position, whether it was written as YAML or JSON.
// A mapping has its keys and values by turns.
type Node struct {
	Kind         Kind
	Quoted       bool
	Refused      bool // an alias, which was complained about
	Line, Column int32
	Text         string // of a scalar, as it stands in the file
	Kids         []Node
	items        *items // of a list whose kids are read when they are needed
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of value.
const (
	Scalar Kind = iota
	List
	Mapping
)

// deepest is how far values may be nested; a sensible file needs a tenth, apart from
// nested pools.
const deepest = 200

// Empty tells a value that was left out, as after "pools:".
func (n *Node) Empty() bool { return n.Kind == Scalar && n.Text == "" && !n.Quoted }

// Find is the value of a key; nil when it is not there or was left empty.
func (n *Node) Find(key string) *Node {
	for i := 0; i+1 < len(n.Kids); i += 2 {
		if n.Kids[i].Text == key && !n.Kids[i+1].Empty() {
			return &n.Kids[i+1]
		}
	}
	return nil
}

// Says is what a node is, in an error.
func (n *Node) Says() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case List:
		return "a list"
	}
	return Quote(n.Text)
}
