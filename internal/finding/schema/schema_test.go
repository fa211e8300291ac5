package schema

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"plimsoll/internal/finding"
)

var update = flag.Bool("update", false, "rewrite the schema")

// The schema is that of the types. After a change of these, -update rewrites it: a key that is new needs nothing else, one that changes its
// meaning, or goes, raises finding.Format.
func TestTheSchemaIsThatOfTheTypes(t *testing.T) {
	g := &generator{t: t, sources: map[string]source{}, made: map[string]any{}}
	root := map[string]any{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": fmt.Sprintf("urn:plimsoll:findings:%d", finding.Format),
		"title":    fmt.Sprintf("plimsoll findings, format %d", finding.Format),
		"$comment": "Later versions of plimsoll may add keys within a format: readers ignore those that they do not know.",
	}
	maps.Copy(root, g.object(reflect.TypeFor[finding.Findings]()))
	root["properties"].(map[string]any)["format"] = map[string]any{"const": finding.Format, "description": "Version of findings.json, raised with every incompatible change"}
	root["$defs"] = g.made
	text, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile("findings.schema.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if string(text) != Findings && !*update {
		t.Error("findings.schema.json is not that of the types: go test ./internal/finding/schema -update")
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("findings", document); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Compile("findings"); err != nil {
		t.Error(err)
	}
}

// source is what the text of a package says of its types.
type source struct {
	fields map[string]string   // comment by "Type.Field"
	docs   map[string]string   // comment by type
	values map[string][]string // of the constants of a type of strings
}

type generator struct {
	t       *testing.T
	sources map[string]source
	made    map[string]any // definitions by name
}

// of is the schema of a type.
func (g *generator) of(t reflect.Type) map[string]any {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return map[string]any{"type": "string", "format": "date-time"}
	case t.Kind() == reflect.Pointer:
		return g.of(t.Elem())
	case t.Kind() == reflect.Struct:
		name := path.Base(t.PkgPath()) + "." + t.Name()
		if _, known := g.made[name]; !known {
			g.made[name] = nil // for types that hold themselves
			g.made[name] = g.object(t)
		}
		return map[string]any{"$ref": "#/$defs/" + name}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []string{"array", "null"}, "items": g.of(t.Elem())}
	case t.Kind() == reflect.Array:
		return map[string]any{"type": "array", "items": g.of(t.Elem()), "minItems": t.Len(), "maxItems": t.Len()}
	case t.Kind() == reflect.Map:
		return map[string]any{"type": []string{"object", "null"}, "additionalProperties": g.of(t.Elem())}
	case t.Kind() == reflect.String && t.PkgPath() != "":
		if values := g.source(t.PkgPath()).values[t.Name()]; len(values) > 0 {
			return map[string]any{"type": "string", "enum": values}
		}
	}
	kind, known := map[reflect.Kind]string{
		reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer",
	}[t.Kind()]
	if !known {
		g.t.Fatalf("no schema for %s", t)
	}
	return map[string]any{"type": kind}
}

// object is the schema of a structure, those that it embeds included.
func (g *generator) object(t reflect.Type) map[string]any {
	properties, required := map[string]any{}, []string{}
	g.fields(t, properties, &required)
	out := map[string]any{"type": "object", "properties": properties}
	if len(required) > 0 {
		slices.Sort(required)
		out["required"] = required
	}
	if doc := g.source(t.PkgPath()).docs[t.Name()]; doc != "" {
		out["description"] = doc
	}
	return out
}

func (g *generator) fields(t reflect.Type, properties map[string]any, required *[]string) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			g.fields(f.Type, properties, required)
			continue
		case !f.IsExported() || name == "-":
			continue
		case name == "":
			g.t.Errorf("%s.%s has no name in JSON", t, f.Name)
		}
		s := g.of(f.Type)
		if doc := g.source(t.PkgPath()).fields[t.Name()+"."+f.Name]; doc != "" {
			s["description"] = doc
		}
		properties[name] = s
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			*required = append(*required, name)
		}
	}
}

// source reads a package of ours.
func (g *generator) source(pkg string) source {
	if s, known := g.sources[pkg]; known {
		return s
	}
	s := source{map[string]string{}, map[string]string{}, map[string][]string{}}
	g.sources[pkg] = s
	folder, ours := strings.CutPrefix(pkg, "plimsoll/")
	if !ours {
		return s
	}
	files, err := filepath.Glob(filepath.Join("../../..", folder, "*.go"))
	if err != nil || len(files) == 0 {
		g.t.Fatalf("%s: %d files, %v", pkg, len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			g.t.Fatal(err)
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				s.take(d)
			}
		}
	}
	return s
}

// take takes the comments of types and fields, and the values of constants.
func (s source) take(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			doc := spec.Doc
			if doc == nil {
				doc = d.Doc
			}
			s.docs[spec.Name.Name] = words(doc)
			if structure, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range structure.Fields.List {
					for _, name := range f.Names {
						s.fields[spec.Name.Name+"."+name.Name] = strings.TrimSpace(words(f.Doc) + " " + words(f.Comment))
					}
				}
			}
		case *ast.ValueSpec:
			kind, typed := spec.Type.(*ast.Ident)
			for _, v := range spec.Values {
				if literal, ok := v.(*ast.BasicLit); ok && typed && d.Tok == token.CONST && literal.Kind == token.STRING {
					if text, err := strconv.Unquote(literal.Value); err == nil {
						s.values[kind.Name] = append(s.values[kind.Name], text)
					}
				}
			}
		}
	}
}

// words is a comment on one line.
func words(c *ast.CommentGroup) string { return strings.Join(strings.Fields(c.Text()), " ") }
