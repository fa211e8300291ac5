package finding

import "plimsoll/internal/sentence"

// Grade says how strong an explanation is.
type Grade string

// The grades of an explanation.
const (
	MovedWith   Grade = "moved with it"
	AccountsFor Grade = "accounts for it"
	CausedIt    Grade = "caused it"
)

// Explanation is what a rule found.
type Explanation struct {
	Rule  string `json:"rule"`
	Arm   int    `json:"arm"` // that it is about
	Grade Grade  `json:"grade"`
	sentence.Sentence
	Evidence []Evidence `json:"evidence"`
	Change   *Change    `json:"change,omitempty"` // what the rule would change; nil when there is nothing to change
	Gain     *Gain      `json:"gain,omitempty"`   // what the change may bring; nil when it cannot be said
}

// Evidence is one number behind an explanation.
type Evidence struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Change is one setting from one value to another.
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
	Arm       int    `json:"arm"` // whose measurement it rests on
	Change    Change `json:"change"`
	Predicted *Gain  `json:"predicted,omitempty"` // before it was tried; never the claim
	sentence.Sentence
}
