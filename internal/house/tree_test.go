package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

// file is one Go source file of the repository.
type file struct {
	path    string // from the root, with slashes
	test    bool
	lines   int
	syntax  *ast.File
	set     *token.FileSet
	imports []string
}

// folder is the package's path below the root: "internal/stat".
func (f file) folder() string { return path.Dir(f.path) }

// parsed reads the repository once for all tests.
var parsed = sync.OnceValues(func() (files []file, err error) {
	err = filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if base := d.Name(); name != root && (strings.HasPrefix(base, ".") || base == "testdata" || base == "bin" || base == "results") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		f := file{test: strings.HasSuffix(name, "_test.go"), set: token.NewFileSet()}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		f.path = filepath.ToSlash(rel)
		if f.syntax, err = parser.ParseFile(f.set, name, nil, parser.ParseComments); err != nil {
			return err
		}
		f.lines = f.set.File(f.syntax.Pos()).LineCount()
		for _, i := range f.syntax.Imports {
			f.imports = append(f.imports, strings.Trim(i.Path.Value, `"`))
		}
		files = append(files, f)
		return nil
	})
	return files, err
})

func tree(t *testing.T) []file {
	t.Helper()
	files, err := parsed()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 50 {
		t.Fatalf("only %d files found: is this the repository?", len(files))
	}
	return files
}
