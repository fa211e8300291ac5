package house

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// overexported counts the exported names of a package that no other package uses. The
// counts may only fall.
var overexported = map[string]int{
	"internal/cluster/balance": 1, "internal/cluster/doctor": 1,
	"internal/finding": 2, "internal/trial": 1, "internal/trial/journal": 1,
}

// Functions, types and variables are exported for other packages, of which an external
// test is one. Constants belong to their type; a type in a signature or structure is used.
func TestExportedNamesAreUsedElsewhere(t *testing.T) {
	exported, used := map[string][]string{}, map[string]bool{} // names by folder; "folder.Name"
	for _, f := range tree(t) {
		folders := map[string]string{} // of the names under which packages are imported
		for _, i := range f.syntax.Imports {
			folder := strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), "plimsoll/")
			name := path.Base(folder)
			if i.Name != nil {
				name = i.Name.Name
			}
			folders[name] = folder
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					used[folders[x.Name]+"."+n.Sel.Name] = true
				}
			case *ast.Field:
				ast.Inspect(n.Type, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok && !f.test {
						used[f.folder()+"."+id.Name] = true
					}
					return true
				})
			}
			return true
		})
		if f.test || strings.HasPrefix(f.folder(), "cmd/") || strings.HasPrefix(f.folder(), "bench") {
			continue
		}
		for _, d := range f.syntax.Decls {
			exported[f.folder()] = append(exported[f.folder()], declared(d)...)
		}
	}
	for folder, names := range exported {
		var idle []string
		for _, name := range names {
			if ast.IsExported(name) && !used[folder+"."+name] {
				idle = append(idle, name)
			}
		}
		if len(idle) > overexported[folder] {
			t.Errorf("%s: no other package uses %s (%d names; limit %d)", folder, strings.Join(idle, " "), len(idle), overexported[folder])
		}
	}
}

// declared lists the functions, types and variables that a declaration makes.
func declared(d ast.Decl) (names []string) {
	if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
		return []string{f.Name.Name}
	}
	if g, ok := d.(*ast.GenDecl); ok && g.Tok != token.CONST {
		for _, s := range g.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names = append(names, id.Name)
				}
			}
		}
	}
	return names
}
