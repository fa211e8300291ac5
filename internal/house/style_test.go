package house

import (
	"go/ast"
	"go/token"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const (
	mostFileLines        = 400
	mostFunctionLines    = 60
	mostInterfaceMethods = 4
	mostParameters       = 4 // after the context
)

// longer lists what may pass a limit, with the reason.
var longer = map[string]string{
	"internal/workload/workload.go interface": "Demand is not a step of a load's life as the other four are, and every load has one",
	"internal/report/chart/svg.go Line":       "two points and a class",
	"internal/report/chart/svg.go Rect":       "a corner, two sides and a class",
}

func TestSizes(t *testing.T) {
	used := map[string]bool{}
	excused := func(key string) bool { used[key] = true; return longer[key] != "" }
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		if f.lines > mostFileLines && !excused(f.path) {
			t.Errorf("%s has %d lines: does it hold one idea? (limit %d)", f.path, f.lines, mostFileLines)
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch d := n.(type) {
			case *ast.FuncDecl:
				name := f.path + " " + d.Name.Name
				if lines := f.set.Position(d.End()).Line - f.set.Position(d.Pos()).Line + 1; lines > mostFunctionLines && !excused(name) {
					t.Errorf("%s has %d lines (limit %d)", name, lines, mostFunctionLines)
				}
				if p := parameters(d.Type); p > mostParameters && !excused(name) {
					t.Errorf("%s takes %d parameters: a struct would name them (limit %d)", name, p, mostParameters)
				}
			case *ast.InterfaceType:
				own := 0
				for _, m := range d.Methods.List {
					own += len(m.Names)
				}
				if own > mostInterfaceMethods && !excused(f.path+" interface") {
					t.Errorf("%s: an interface of %d methods (limit %d)", f.set.Position(d.Pos()), own, mostInterfaceMethods)
				}
			}
			return true
		})
	}
	for key := range longer {
		if !used[key] {
			t.Errorf("%s keeps to the limits: drop its excuse", key)
		}
	}
}

func parameters(f *ast.FuncType) int {
	n := 0
	for _, p := range f.Params.List {
		if s, ok := p.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Context" {
			continue
		}
		n += max(1, len(p.Names))
	}
	return n
}

func TestNames(t *testing.T) {
	forbidden := []string{"util", "utils", "common", "helper", "helpers", "misc", "base", "types", "shared", "core", "lib", "manager"}
	for _, f := range tree(t) {
		stem := strings.TrimSuffix(strings.TrimSuffix(path.Base(f.path), ".go"), "_test")
		for _, name := range []string{stem, f.syntax.Name.Name} {
			if slices.Contains(forbidden, name) {
				t.Errorf("%s: %q says nothing about what it holds", f.path, name)
			}
		}
	}
}

func TestDocumentation(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		if _, seen := documented[f.folder()]; !seen {
			documented[f.folder()] = false
		}
		if d := f.syntax.Doc; d != nil && (strings.HasPrefix(d.Text(), "Package ") || f.syntax.Name.Name == "main") {
			documented[f.folder()] = true
		}
		for _, d := range f.syntax.Decls {
			undocumented(t, f, d)
		}
	}
	for folder, ok := range documented {
		if !ok {
			t.Errorf("%s: the package does not say what it is", folder)
		}
	}
}

func undocumented(t *testing.T, f file, d ast.Decl) {
	t.Helper()
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d.Recv)) && f.syntax.Name.Name != "main" {
			t.Errorf("%s: %s has no comment", f.set.Position(d.Pos()), d.Name.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			ts, ok := s.(*ast.TypeSpec)
			if ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil {
				t.Errorf("%s: %s has no comment", f.set.Position(ts.Pos()), ts.Name.Name)
			}
			vs, ok := s.(*ast.ValueSpec)
			if ok && vs.Names[0].IsExported() && d.Doc == nil && vs.Doc == nil && vs.Comment == nil {
				t.Errorf("%s: %s has no comment", f.set.Position(vs.Pos()), vs.Names[0].Name)
			}
		}
	}
}

// exportedReceiver tells whether a method belongs to an exported type. Methods
// that only fulfil a contract of the standard library speak for themselves.
func exportedReceiver(recv *ast.FieldList) bool {
	e := recv.List[0].Type
	if s, ok := e.(*ast.StarExpr); ok {
		e = s.X
	}
	if i, ok := e.(*ast.IndexExpr); ok {
		e = i.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}

func TestNoHiddenState(t *testing.T) {
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		for _, d := range f.syntax.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s: init runs unasked", f.set.Position(fn.Pos()))
			}
		}
		written(t, f)
	}
}

// written reports assignments to variables of the package. Only the syntax is
// looked at, so that a name that a function defines anywhere counts as its own.
func written(t *testing.T, f file) {
	t.Helper()
	vars := map[string]bool{}
	for _, d := range f.syntax.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.VAR {
			for _, s := range g.Specs {
				for _, n := range s.(*ast.ValueSpec).Names {
					vars[n.Name] = true
				}
			}
		}
	}
	for _, d := range f.syntax.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		own := locals(fn)
		ast.Inspect(fn, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || a.Tok == token.DEFINE {
				return true
			}
			for _, l := range a.Lhs {
				if i, ok := l.(*ast.IndexExpr); ok {
					l = i.X
				}
				if id, ok := l.(*ast.Ident); ok && vars[id.Name] && !own[id.Name] {
					t.Errorf("%s: %s is a variable of the package and is written to", f.set.Position(a.Pos()), id.Name)
				}
			}
			return true
		})
	}
}

// locals are the names that a function defines itself.
func locals(fn *ast.FuncDecl) map[string]bool {
	own := map[string]bool{}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch d := n.(type) {
		case *ast.Field:
			for _, name := range d.Names {
				own[name.Name] = true
			}
		case *ast.ValueSpec:
			for _, name := range d.Names {
				own[name.Name] = true
			}
		case *ast.AssignStmt:
			for _, l := range d.Lhs {
				if id, ok := l.(*ast.Ident); ok && d.Tok == token.DEFINE {
					own[id.Name] = true
				}
			}
		}
		return true
	})
	return own
}

func TestNoSleepInTests(t *testing.T) {
	for _, f := range tree(t) {
		if !f.test || strings.HasPrefix(f.path, "internal/house/") {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Sleep" {
				if id, ok := s.X.(*ast.Ident); ok && id.Name == "time" {
					t.Errorf("%s: a sleep hopes; wait for what you need", f.set.Position(n.Pos()))
				}
			}
			return true
		})
	}
}

func TestNothingIsLeftOpen(t *testing.T) {
	for _, f := range tree(t) {
		if strings.HasPrefix(f.path, "internal/house/") {
			continue
		}
		data, err := os.ReadFile(path.Join(root, f.path))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"TODO", "FIXME", "XXX", "HACK"} {
			if strings.Contains(string(data), word) {
				t.Errorf("%s holds a %s", f.path, word)
			}
		}
	}
}
