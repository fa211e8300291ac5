package house

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"slices"
	"strings"
	"testing"
)

// mostPromoted is how many methods a type may get from a type of the same package that it
// embeds from another file.
const mostPromoted = 4

// A type that embeds another answers to the methods of both: they count as its own. Who
// reads such a method must find it without a search through other files.
func TestTypesAreNotJoinedByEmbedding(t *testing.T) {
	for name, methods := range joined(tree(t)) {
		t.Errorf("%s: %d methods", name, methods)
	}
}

func TestEmbeddingIsFound(t *testing.T) {
	source := func(name, text string) file {
		syntax, err := parser.ParseFile(token.NewFileSet(), name, "package x\n"+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		return file{path: "x/" + name, syntax: syntax}
	}
	methods := func(receiver string, n int) (text string) {
		for i := range n {
			text += fmt.Sprintf("func (r *%s) m%d() {}\n", receiver, i)
		}
		return text
	}
	for name, c := range map[string]struct {
		files []file
		want  map[string]int
	}{
		"another file":    {[]file{source("a.go", "type a struct{ *b }\n"+methods("a", 1)), source("b.go", "type b struct{}\n"+methods("b", 5))}, map[string]int{"x a embeds b": 5}},
		"few methods":     {[]file{source("a.go", "type a struct{ *b }\n"+methods("a", 1)), source("b.go", "type b struct{}\n"+methods("b", 4))}, map[string]int{}},
		"the same file":   {[]file{source("a.go", "type a struct{ b }\ntype b struct{}\n"+methods("a", 1)+methods("b", 5))}, map[string]int{}},
		"data":            {[]file{source("a.go", "type a struct{ b }\n"), source("b.go", "type b struct{}\n"+methods("b", 5))}, map[string]int{}},
		"many in all":     {[]file{source("a.go", "type a struct{ b }\ntype b struct{ c }\ntype c struct{}\n"+methods("a", 9)+methods("b", 9)+methods("c", 8))}, map[string]int{"x a": 26}},
		"another package": {[]file{source("a.go", "type a struct{ y.b }\n"+methods("a", 25))}, map[string]int{}},
	} {
		if got := joined(c.files); !maps.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}

// joined finds the types past a limit.
func joined(files []file) map[string]int {
	found := map[string]int{}
	types := structs(files)
	for name, s := range types {
		if all := s.all(types); s.methods < all && all > mostReceiverMethods {
			found[name] = all
		}
		for _, e := range s.embeds {
			if other := types[e]; s.methods > 0 && other.file != s.file && other.all(types) > mostPromoted {
				found[name+" embeds "+strings.Fields(e)[1]] = other.all(types)
			}
		}
	}
	return found
}

// structure is a struct type, named by its folder and name.
type structure struct {
	file    string
	methods int
	embeds  []string // of the same package
}

// all is the number of methods, those of embedded types included.
func (s structure) all(types map[string]structure) int {
	n := s.methods
	for _, e := range s.embeds {
		n += types[e].all(types)
	}
	return n
}

func structs(files []file) map[string]structure {
	types := map[string]structure{}
	methods := map[string]int{}
	for _, f := range files {
		if f.test {
			continue
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv != nil {
					methods[f.folder()+" "+receiver(n.Recv)]++
				}
				return false
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok {
					types[f.folder()+" "+n.Name.Name] = structure{file: f.path, embeds: embedded(f.folder(), s)}
				}
			}
			return true
		})
	}
	for name, s := range types {
		s.methods = methods[name]
		s.embeds = slices.DeleteFunc(s.embeds, func(e string) bool { _, ok := types[e]; return !ok })
		types[name] = s
	}
	return types
}

// embedded names the types that a struct embeds. A document of JSON embeds another for its
// fields.
func embedded(folder string, s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		if f.Tag != nil && strings.Contains(f.Tag.Value, `json:"`) {
			return nil
		}
		if len(f.Names) == 0 {
			if name := receiver(&ast.FieldList{List: []*ast.Field{f}}); name != "" {
				names = append(names, folder+" "+name)
			}
		}
	}
	return names
}
