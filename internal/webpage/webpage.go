// Package webpage has what the pages of study reports and of clusters share: colours, type, badges and
// the beginning of the document. A page is one file without scripts that opens nothing on the network.
package webpage

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"html/template"
)

// Style is the part of the style sheet that all pages begin with.
//
//go:embed style.css
var Style string

//go:embed parts.html
var parts string

// Look is the style sheet of a page, and the content security policy that admits nothing else.
type Look struct {
	Style  template.CSS
	Policy string
}

// LookOf is the shared style with the rules of one page behind it. No text of a report may be in them.
func LookOf(rules string) Look {
	style := Style + rules
	sum := sha256.Sum256([]byte(style))
	return Look{
		Style:  template.CSS(style),
		Policy: "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; img-src data:; base-uri 'none'; form-action 'none'",
	}
}

// Badge is a result in a few words. Its class sets the colour, its mark is a path around the origin.
type Badge struct{ Word, Class, Mark string }

// Parse parses the template of a page. The shared parts are head, brand and badge; head takes a page with
// a Look, a Name and a Badge.
func Parse(page string, functions template.FuncMap) (*template.Template, error) {
	t, err := template.New("page").Funcs(functions).Parse(page)
	if err != nil {
		return nil, err
	}
	return t.Parse(parts)
}
