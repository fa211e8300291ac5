package wording

import (
	"plimsoll/internal/finding"
	"plimsoll/internal/sentence"
)

// Accounts writes the sentences of the accounts.
func Accounts(f *finding.Findings) {
	l := finding.NewLedger(f)
	for i := range f.Accounts {
		a := &f.Accounts[i]
		names := map[string]string{"arm": f.Label(a.Arm)}
		template := "Change of {whole} with {arm}: " + a.Template(names) + "."
		a.Sentence = sentence.Scene{Names: names, Number: l.Number}.Compose(template)
	}
}
