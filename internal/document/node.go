package document

// Node is one value of a file with its position, from YAML or JSON. A mapping has keys and
// values alternating.
type Node struct {
	Kind         Kind
	Quoted       bool
	Refused      bool // an alias, which was reported
	Line, Column int32
	Text         string // of a scalar, as it stands in the file
	Kids         []Node
	items        *items // of a list that is parsed on demand
}

// Kind is the kind of a value.
type Kind uint8

// The kinds of value.
const (
	Scalar Kind = iota
	List
	Mapping
)

// deepest is the maximum nesting depth.
const deepest = 200

// Empty reports whether a value was left out, as after "pools:".
func (n *Node) Empty() bool { return n.Kind == Scalar && n.Text == "" && !n.Quoted }

// Find is the value of a key; nil if it is missing or empty.
func (n *Node) Find(key string) *Node {
	for i := 0; i+1 < len(n.Kids); i += 2 {
		if n.Kids[i].Text == key && !n.Kids[i+1].Empty() {
			return &n.Kids[i+1]
		}
	}
	return nil
}

// Says describes a node in an error.
func (n *Node) Says() string {
	switch n.Kind {
	case Mapping:
		return "a mapping"
	case List:
		return "a list"
	}
	return Quote(n.Text)
}
