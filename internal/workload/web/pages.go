package web

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// manifest is the path below which a web server of a study lists its pages: each
// line is one page, all files that it takes, as PATH:BYTES separated by blanks.
const manifest = "/pages.txt"

// page is the paths of all files of a page, its text first.
type page []string

// parseManifest reads the list of a server.
func parseManifest(text []byte) ([]page, error) {
	var pages []page
	for n, line := range bytes.Split(text, []byte("\n")) {
		var p page
		for file := range strings.FieldsSeq(string(line)) {
			path, size, found := strings.Cut(file, ":")
			if _, err := number([]byte(size), 10); !found || err != nil || checkPath(path) != nil {
				return nil, fmt.Errorf("line %d: %.60q is not PATH:BYTES", n+1, file)
			}
			p = append(p, path)
		}
		if len(p) > 0 {
			pages = append(pages, p)
		}
	}
	if len(pages) == 0 {
		return nil, errors.New("no pages are listed")
	}
	return pages, nil
}

// parsePages reads the pages that a study names, each with its further files after
// it, separated by blanks.
func parsePages(texts []string) ([]page, error) {
	var pages []page
	for _, text := range texts {
		p := page(strings.Fields(text))
		for _, path := range p {
			if err := checkPath(path); err != nil {
				return nil, err
			}
		}
		if len(p) == 0 {
			return nil, errors.New("a page has no path")
		}
		pages = append(pages, p)
	}
	return pages, nil
}

// checkPath refuses what would break a request.
func checkPath(path string) error {
	if !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c >= 0x7f || c == '#' }) {
		return fmt.Errorf("%q is not a path of a web server, like /index.html", path)
	}
	return nil
}
