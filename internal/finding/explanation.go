package finding

import "plimsoll/internal/sentence"

// Grade is the strength of an explanation.
type Grade string

// The grades of an explanation.
const (
	MovedWith   Grade = "moved with it"
	AccountsFor Grade = "accounts for it"
	CausedIt    Grade = "caused it"
)

// Explanation is the result of a rule.
type Explanation struct {
	Rule  string `json:"rule"`
	Arm   int    `json:"arm"` // that it explains
	Grade Grade  `json:"grade"`
	sentence.Sentence
	Names    []string   `json:"names,omitempty"` // in the sentence, with digits that are no numbers: "nvme0n1", "CPUs 2-3"
	Evidence []Evidence `json:"evidence"`
	Change   *Change    `json:"change,omitempty"`  // the recommended change; nil for none
	Gain     *Gain      `json:"gain,omitempty"`    // expected effect of the change; nil if unknown
	Advice   string     `json:"advice,omitempty"`  // the change in words, where no factor stands for it
	Command  string     `json:"command,omitempty"` // for a shell on the host, that makes the change
}

// Evidence is one number behind an explanation.
type Evidence struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Change is a change of one setting.
type Change struct {
	Factor string `json:"factor"` // "storage.threads"
	From   string `json:"from"`
	To     string `json:"to"`
}

// Gain is a prediction of the effect of a change, as shares: 0.27 is +27 %.
type Gain struct {
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Basis string  `json:"basis"` // how it was predicted
}

// Recommendation is the one change that the analysis names.
type Recommendation struct {
	Rule      string `json:"rule"`
	Arm       int    `json:"arm"` // whose measurement it is based on
	Change    Change `json:"change"`
	Predicted *Gain  `json:"predicted,omitempty"` // prediction before the trial, not a result
	sentence.Sentence
}
