package document

import "slices"

// Table checks that a value is a mapping of known keys, each given once.
func (f *File) Table(n *Node, what string, known []string) bool {
	if n.Kind != Mapping {
		if !n.Empty() {
			f.Complain(n, "%s must be a mapping, such as {key: value}, not %s", what, n.Says())
		}
		return false
	}
	for i := 0; i+1 < len(n.Kids); i += 2 {
		k := &n.Kids[i]
		switch {
		case k.Kind != Scalar:
			f.Complain(k, "a key must be one word, not %s", k.Says())
		case known != nil && !slices.Contains(known, k.Text):
			f.Unknown(k, what+": unknown key", k.Text, known)
		default:
			for j := 0; j < i && known != nil; j += 2 {
				if n.Kids[j].Text == k.Text {
					f.Complain(k, "duplicate key %q, first given in line %d", k.Text, n.Kids[j].Line)
				}
			}
		}
	}
	return true
}
