package house

import (
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var (
	fences   = regexp.MustCompile("(?ms)^\\s*```.*?^\\s*```$")
	links    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
)

// Every relative link of docs leads to a file, and every anchor to a heading of it.
func TestLinks(t *testing.T) {
	pages := documents(t, ".md")
	n := 0
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range links.FindAllStringSubmatch(fences.ReplaceAllString(pages[name], ""), -1) {
			if !strings.Contains(link[1], "://") {
				n++
				checkLink(t, pages, name, link[1])
			}
		}
	}
	if n < 100 {
		t.Errorf("only %d links found in %d pages", n, len(pages))
	}
}

func checkLink(t *testing.T, pages map[string]string, name, link string) {
	t.Helper()
	file, anchor, _ := strings.Cut(link, "#")
	target := path.Join(path.Dir(name), file)
	if file == "" {
		target = name
	}
	if _, err := os.Stat(path.Join(root, target)); err != nil {
		t.Errorf("%s: the link %s leads nowhere: %v", name, link, err)
		return
	}
	if anchor != "" && !slices.Contains(anchors(pages[target]), anchor) {
		t.Errorf("%s: no heading for the link %s; the anchors of %s are %s", name, link, target, strings.Join(anchors(pages[target]), ", "))
	}
}

// anchors are those of a page's headings, as GitHub makes them.
func anchors(page string) []string {
	var all []string
	for _, heading := range headings.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		text := links.ReplaceAllString(heading[1], "]")
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r):
				return unicode.ToLower(r)
			}
			return -1
		}, text))
	}
	return all
}

func TestAnchors(t *testing.T) {
	page := "# VMs\n```\n# no heading\n```\n## `tcp_rmem` and [others](a.md), 2-way\n"
	if got, want := anchors(page), []string{"vms", "tcp_rmem-and-others-2-way"}; !slices.Equal(got, want) {
		t.Errorf("anchors are %q, want %q", got, want)
	}
}

const longestLine = 200

// No line of docs outside of examples is long, so that changes can be read line by line.
func TestLinesOfDocs(t *testing.T) {
	for name, text := range documents(t, ".md") {
		for line := range strings.Lines(blocks.ReplaceAllString(text, "")) {
			if n := utf8.RuneCountInString(line); n > longestLine {
				t.Errorf("%s: %d characters (limit %d): %s", name, n, longestLine, line)
			}
		}
	}
}
