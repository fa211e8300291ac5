// Package check audits texts, tables and lists of claims.
package check

import (
	"plimsoll/internal/claim"
	"plimsoll/internal/claim/document"
	"plimsoll/internal/claim/grammar"
	"plimsoll/internal/claim/number"
)

// Text audits plain text or Markdown. Its claims are in the order of the text.
func Text(text string) []claim.Claim {
	d := document.Split(text)
	d.Facts()
	a := &auditor{doc: d}
	for i := range d.Blocks {
		a.block(&d.Blocks[i])
	}
	return a.claims
}

// auditor collects the claims of a text.
type auditor struct {
	doc    *document.Document
	claims []claim.Claim
	line   int
	text   string
}

// add records an outcome for the current sentence.
func (a *auditor) add(c claim.Claim) {
	c.Line, c.Text = a.line, a.text
	a.claims = append(a.claims, c)
}

func (a *auditor) block(b *document.Block) {
	switch b.Kind {
	case document.TableBlock:
		table(a, b)
	case document.CodeBlock:
		a.line, a.text = b.Line, b.Text
		if number.HasDigit(b.Text) {
			a.add(claim.Claim{Status: claim.NotUnderstood, Reason: "code is not audited"})
		}
	default:
		var before *grammar.Sentence
		for i := range b.Sentences {
			a.line, a.text = b.Sentences[i].Line, b.Sentences[i].Text
			s := grammar.ReadSentence(a.doc.Locale, b, i, before)
			a.sentence(s)
			if len(s.Numbers) > 0 {
				before = s
			}
		}
	}
}
