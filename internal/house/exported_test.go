package house

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// tested are names that other packages use in tests only: parsers, formulas and drawings that are tested one by one,
// and what tests ask a real system or look at afterwards. The others are unexported, and tested by what uses them.
var tested = map[string]string{
	"internal/agent/program": "FindIn", "internal/cluster/doctor/whatif": "ParseSetting", "internal/cluster/snapshot/entry": "Matches",
	"internal/cluster/trace": "Rows", "internal/factor/vm": "MemoryIn ParametersIn", "internal/finding/rule": "MostLeft StepDown",
	"internal/finding/wording": "Compare", "internal/measure/score": "Of Ratio", "internal/guest/capacity": "AvailableMemory", "internal/guest/folder": "Sweep", "internal/guest/netem": "Read",
	"internal/postgres": "Open", "internal/report/figure": "DrawSeries SeriesTable", "internal/report/forest": "DrawForest PublishedTable",
	"internal/report/page": "AsHTML Unbroken", "internal/stat": "SteinInterval", "internal/stat/curve": "FitHyperbola FitUSL",
	"internal/trial/drive": "NewBarrier ServersAsked", "internal/trial/window": "Drifts", "internal/vsphere/session": "ParseThumbprint",
	"internal/vsphere/sim/counter": "SeriesOf", "internal/vsphere/sim/vijson": "Decode Encode", "internal/workload/engine": "Absent", "internal/webpage": "Style",
	"internal/catalog/manual": "Allowed Pages", "internal/history": "ID",
}

// forTests reports whether a folder is for tests and benchmarks.
func forTests(folder string) bool {
	return strings.HasPrefix(folder, "bench") || strings.HasSuffix(folder, "test") || strings.HasSuffix(folder, "/testnet") || folder == "internal/effort"
}

// Functions, types and variables are exported for other packages. Constants belong to their type; a type in a
// signature or structure is used; errors are for whoever asks.
func TestExportedNamesAreUsedElsewhere(t *testing.T) {
	exported, used := map[string][]string{}, map[string]bool{} // names by folder; "folder.Name"
	for folder, names := range tested {
		for name := range strings.FieldsSeq(names) {
			used[folder+"."+name] = true
		}
	}
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
				if x, ok := n.X.(*ast.Ident); ok && (!f.test || forTests(folders[x.Name]) || strings.HasPrefix(n.Sel.Name, "Err")) {
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
		if len(idle) > 0 {
			t.Errorf("%s: no other package uses %s, but for tests", folder, strings.Join(idle, " "))
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
