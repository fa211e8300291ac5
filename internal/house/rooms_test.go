package house

import (
	"go/ast"
	"testing"
)

const (
	mostPackageLines    = 2500 // without tests
	mostReceiverMethods = 25
)

// outgrown lists the packages and receivers that are past a limit, with their present size,
// which may only fall.
var outgrown = map[string]int{"internal/study": 2874}

func TestRoomsAreSmall(t *testing.T) {
	sizes := map[string]int{}
	limits := map[string]int{}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		sizes[f.folder()] += f.lines
		limits[f.folder()] = mostPackageLines
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				name := f.folder() + " " + receiver(fn.Recv)
				sizes[name]++
				limits[name] = mostReceiverMethods
			}
		}
	}
	for name, size := range sizes {
		switch known, excused := outgrown[name]; {
		case excused && size > known:
			t.Errorf("%s has grown from %d to %d (limit %d)", name, known, size, limits[name])
		case excused && size <= limits[name]:
			t.Errorf("%s keeps to the limit: drop its excuse", name)
		case !excused && size > limits[name]:
			t.Errorf("%s has %d lines or methods (limit %d)", name, size, limits[name])
		}
	}
	for name := range outgrown {
		if sizes[name] == 0 {
			t.Errorf("%s is gone: drop its excuse", name)
		}
	}
}

// receiver names the type of a method.
func receiver(list *ast.FieldList) string {
	e := list.List[0].Type
	if s, ok := e.(*ast.StarExpr); ok {
		e = s.X
	}
	switch i := e.(type) {
	case *ast.IndexExpr:
		e = i.X
	case *ast.IndexListExpr:
		e = i.X
	}
	id, ok := e.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name
}
