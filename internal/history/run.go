// Package history lists the runs in results folders. It keeps an index of them in the user's cache folder, which is disposable: it is
// made from the folders, and made again where it is missing, damaged or of another version.
package history

import "time"

// State is the state of a run.
type State string

// The states of a run.
const (
	Finished    State = "finished"
	Interrupted State = "interrupted" // plimsoll resume continues it
	Running     State = "running"
	Tuned       State = "tuned"    // a folder of plimsoll tune
	Damaged     State = "damaged"  // its files cannot be read
	Unjudged    State = "unjudged" // trials complete, findings.json missing: plimsoll report
)

// States lists the states.
func States() []string {
	return []string{string(Finished), string(Interrupted), string(Running), string(Tuned), string(Damaged), string(Unjudged)}
}

// Run is one results folder.
type Run struct {
	ID       string    `json:"id"` // digest of the folder's path
	Folder   string    `json:"folder"`
	Study    string    `json:"study"`
	Question string    `json:"question,omitempty"`
	Digest   string    `json:"digest,omitempty"` // of the study as understood
	Started  time.Time `json:"started"`
	Ended    time.Time `json:"ended,omitzero"` // last event
	State    State     `json:"state"`
	Trials   int       `json:"trials"` // that ended
	Void     int       `json:"void"`
	// Verdict is that on the first headline, or what else the findings say in a few words; empty without findings.
	Verdict   string     `json:"verdict,omitempty"`
	Answer    string     `json:"answer"` // first sentence of the findings, or the reason for a damaged folder
	Headlines []Headline `json:"headlines,omitempty"`
	Testbed   string     `json:"testbed,omitempty"` // digest of the facts that decide its speed
	Machine   string     `json:"machine,omitempty"` // the testbed in a few words
	Platform  string     `json:"platform,omitempty"`
	Workload  string     `json:"workload,omitempty"`
	Version   string     `json:"version,omitempty"` // of plimsoll
	Tags      []string   `json:"tags,omitempty"`
}

// Headline is a comparison that decides a study.
type Headline struct {
	Metric  string  `json:"metric"`
	Unit    string  `json:"unit"`
	Arm     string  `json:"arm"`
	Ratio   float64 `json:"ratio"` // arm / baseline
	Low     float64 `json:"low"`   // its interval; equal to Ratio without one
	High    float64 `json:"high"`
	Verdict string  `json:"verdict"`
}

// Ends reports whether nothing more is added to the run.
func (r *Run) Ends() bool { return r.State == Finished || r.State == Tuned }
