package house

import (
	"flag"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var update = flag.Bool("update", false, "lower the counts in testdata to what is left")

// terms are words that may not come back, in lower case, with the terms that the field has for them.
var terms = map[string]string{
	"after it was due":          "late",
	"again and again":           "repeatedly",
	"as the planner sees it":    "planner cost",
	"costs more than it brings": "costs more than it gains",
	"courtship":                 "handshake",
	"deals out":                 "distributes",
	"dealt out":                 "distributed",
	"duel":                      "competing balancer",
	"for people":                "as text, for users",
	"for want of":               "for lack of, not enough",
	"had no cpu":                "waited for a CPU",
	"hangs up":                  "closes the connection",
	"has a word with":           "communicates with",
	"held back":                 "throttled, delayed",
	"hung up":                   "closed the connection",
	"in the mean":               "on average",
	"in vain":                   "without effect",
	"is not whole":              "is truncated, is incomplete",
	"kept busy":                 "used",
	"knows nothing of":          "does not depend on, ignores",
	"leave to overwrite":        "permission to overwrite",
	"is lent":                   "that you provide",
	"lent by":                   "that you provide",
	"lookout":                   "watcher",
	"must hold and do not":      "hard constraints are violated",
	"nobody asks":               "periodic, unused",
	"nobody there":              "no server",
	"one a line":                "one per line",
	"parted by":                 "separated by",
	"places of rows":            "key cache",
	"ready and without a cpu":   "runnable and waiting for a CPU",
	"servant":                   "helper process",
	"share a minute":            "share per minute",
	"sibling rivalry":           "VMs beside pools",
	"stands still":              "stalls, hangs",
	"takes no notice":           "ignores",
	"the way there and back":    "round trip",
	"thrown away":               "discarded",
	"took no notice":            "ignored",
	"vouches":                   "signs, certificate authority",
	"warden":                    "guard",
	"were not purged":           "history list length",
	"what came of":              "result, outcome",
	"what becomes of":           "result, consequence",
	"who plimsoll is":           "user name",
	"whom this host trusts":     "trust store",
	"without a word":            "silently",
	"worth a look":              "warnings",
}

// The language of Go comments, strings and names, of docs and of YAML is the field's.
func TestWords(t *testing.T) {
	var found []finding
	for name, text := range prose(t) {
		for word, term := range terms {
			for range occurrences(text, word) {
				found = append(found, finding{name, fmt.Sprintf("%q: write %s", word, term)})
			}
		}
	}
	compareCounts(t, "testdata/words.txt", found)
}

const mostWords = 30

// No sentence of docs, of a command's help and of the documentation of settings is long.
func TestSentences(t *testing.T) {
	var found []finding
	for name, text := range told(t) {
		for _, sentence := range sentences(text) {
			if n := len(strings.Fields(code.ReplaceAllString(sentence, "code"))); n > mostWords {
				found = append(found, finding{name, fmt.Sprintf("%d words (limit %d): %s", n, mostWords, sentence)})
			}
		}
	}
	compareCounts(t, "testdata/sentences.txt", found)
}

// finding is one thing wrong in a file.
type finding struct{ file, text string }

// compareCounts fails for each file with more findings than a list allows it. The list
// only gets shorter: -update lowers its counts.
func compareCounts(t *testing.T, list string, found []finding) {
	t.Helper()
	allowed, texts, left := counts(t, list), map[string][]string{}, []string{}
	for _, f := range found {
		texts[f.file] = append(texts[f.file], f.text)
	}
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if n := len(texts[name]); n > allowed[name] {
			t.Errorf("%s (%d more than %s in internal/house allows):\n  %s", name, n-allowed[name], list, strings.Join(texts[name], "\n  "))
		}
		if n := min(len(texts[name]), allowed[name]); n > 0 {
			left = append(left, fmt.Sprintf("%s %d\n", name, n))
		}
	}
	if *update {
		if err := os.WriteFile(list, []byte(strings.Join(left, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func counts(t *testing.T, list string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, count, _ := strings.Cut(strings.TrimSpace(line), " ")
		if allowed[name], err = strconv.Atoi(count); err != nil {
			t.Fatalf("%s: %q: %v", list, line, err)
		}
	}
	return allowed
}

// occurrences counts a phrase in a text, as whole words.
func occurrences(text, phrase string) int {
	n := 0
	for {
		before, after, ok := strings.Cut(text, phrase)
		if !ok {
			return n
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !unicode.IsLetter(last) && !unicode.IsLetter(next) {
			n++
		}
		text = after
	}
}

// prose is the text of each file of the repository that people read, on one line in lower case.
func prose(t *testing.T) map[string]string {
	t.Helper()
	texts := documents(t, ".md", ".yaml")
	for _, f := range tree(t) {
		if f.path == "internal/house/words_test.go" {
			continue
		}
		var parts []string
		for _, group := range f.syntax.Comments {
			parts = append(parts, group.Text())
		}
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				parts = append(parts, camel.ReplaceAllString(n.Name, " $1"))
			case ast.Expr:
				text, ok := literal(n)
				parts = append(parts, text)
				return !ok
			}
			return true
		})
		texts[f.path] = strings.Join(parts, "\n")
	}
	for name, text := range texts {
		texts[name] = strings.ToLower(strings.Join(strings.Fields(text), " "))
	}
	return texts
}

var camel = regexp.MustCompile(`([A-Z][a-z])`)

// told is what users are told: docs, the help of commands, the documentation of settings.
func told(t *testing.T) map[string]string {
	t.Helper()
	texts := documents(t, ".md")
	for _, f := range tree(t) {
		if f.test {
			continue
		}
		var parts []string
		ast.Inspect(f.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Field:
				if n.Tag != nil {
					tag, _ := literal(n.Tag)
					parts = append(parts, reflect.StructTag(tag).Get("doc"))
				}
				return n.Tag == nil
			case ast.Expr:
				text, ok := literal(n)
				if ok && strings.HasPrefix(f.path, "cmd/") {
					parts = append(parts, text)
				}
				return !ok
			}
			return true
		})
		texts[f.path] = strings.Join(parts, "\n\n")
	}
	return texts
}

// literal is the text of a string, also of one that is written in several parts.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

// documents are the files of docs, studies and scenarios with certain endings.
func documents(t *testing.T, endings ...string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	read := func(name string) error {
		data, err := os.ReadFile(path.Join(root, name))
		texts[name] = string(data)
		return err
	}
	for _, folder := range []string{"docs", "studies", "scenarios"} {
		err := filepath.WalkDir(path.Join(root, folder), func(name string, d fs.DirEntry, err error) error {
			if err != nil || !slices.Contains(endings, path.Ext(name)) {
				return err
			}
			return read(strings.TrimPrefix(filepath.ToSlash(name), root+"/"))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"README.md", "ARCHITECTURE.md"} {
		if err := read(name); err != nil {
			t.Fatal(err)
		}
	}
	return texts
}

var (
	blocks     = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```$|^    .*?$")
	paragraphs = regexp.MustCompile(`\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n\s+(?:plimsoll|\d+ )|\n[|#]|\|`)
	ends       = regexp.MustCompile(`[.!?][)*"]*\s`)
	code       = regexp.MustCompile("`[^`]*`")
)

// sentences parts Markdown and plain text; examples are none.
func sentences(text string) []string {
	var all []string
	for _, paragraph := range paragraphs.Split(blocks.ReplaceAllString(text, "\n\n"), -1) {
		paragraph = strings.Join(strings.Fields(paragraph), " ")
		for _, end := range slices.Backward(ends.FindAllStringIndex(paragraph, -1)) {
			all = append(all, paragraph[end[1]:])
			paragraph = paragraph[:end[1]]
		}
		all = append(all, paragraph)
	}
	return all
}

func TestSentencesAreParted(t *testing.T) {
	text := "# Title\nOne sentence\nof two lines. Another one!\n\n- an item\n- two. three\n\n| a | b |\n|---|---|\n\n```sh\nno sentence\n```\n"
	var got []string
	for _, s := range sentences(text) {
		if s = strings.Trim(s, " -"); s != "" {
			got = append(got, s)
		}
	}
	slices.Sort(got)
	want := []string{"# Title One sentence of two lines.", "Another one!", "a", "an item", "b", "three", "two."}
	if !slices.Equal(got, want) {
		t.Errorf("sentences are %q, want %q", got, want)
	}
}

func TestOccurrences(t *testing.T) {
	text := "a warden, wardens and a warden"
	if n := occurrences(text, "warden"); n != 2 {
		t.Errorf("%q has the word %d times, want 2", text, n)
	}
}
