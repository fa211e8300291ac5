package claim

// Text audits plain text or Markdown. Its claims are in the order of the text.
func Text(text string) []Claim {
	d := split(text)
	d.facts()
	a := &auditor{doc: d}
	for i := range d.blocks {
		a.block(&d.blocks[i])
	}
	return a.claims
}

// auditor collects the claims of a text.
type auditor struct {
	doc    *document
	claims []Claim
	line   int
	text   string
}

// add records an outcome of the sentence at hand.
func (a *auditor) add(c Claim) {
	c.Line, c.Text = a.line, a.text
	a.claims = append(a.claims, c)
}

func (a *auditor) block(b *block) {
	switch b.kind {
	case tableBlock:
		a.table(b)
	case codeBlock:
		a.line, a.text = b.line, b.text
		if hasDigit(b.text) {
			a.add(Claim{Status: NotUnderstood, Reason: "code is not audited"})
		}
	default:
		var before *sentence
		for i := range b.sentences {
			a.line, a.text = b.sentences[i].line, b.sentences[i].text
			s := readSentence(a.doc.locale, b, i, before)
			a.sentence(s)
			if len(s.numbers) > 0 {
				before = s
			}
		}
	}
}
