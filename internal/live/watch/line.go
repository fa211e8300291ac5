package watch

import (
	"fmt"
	"time"

	"plimsoll/internal/live"
)

// Line is a line of the log.
type Line struct {
	At   time.Time `json:"at"`
	Kind Kind      `json:"kind"`
	// Event is the kind of the reported event; empty for other lines.
	Event live.EventKind `json:"event,omitempty"`
	VM    string         `json:"vm,omitempty"`
	From  string         `json:"from,omitempty"`
	To    string         `json:"to,omitempty"`
	Host  string         `json:"host,omitempty"`
	By    string         `json:"by,omitempty"`
	// Recommended is whether the last round recommended a move that was made.
	Recommended *bool  `json:"recommended,omitempty"`
	Text        string `json:"text"`
}

// Kind is a kind of lines.
type Kind string

// The kinds of lines.
const (
	Begin      Kind = "begin"     // start of the watch
	Load       Kind = "load"      // of the cluster, when it changed by some points
	Recommend  Kind = "recommend" // a move, with its reason
	Withdraw   Kind = "withdraw"  // a recommendation that no longer holds
	Balanced   Kind = "balanced"  // no recommendation remains, and why
	Stranded   Kind = "stranded"  // a VM that must move, but cannot
	Violated   Kind = "violated"  // a hard constraint
	Resolved   Kind = "resolved"  // the end of a violation, of a stranding or of a warning
	Warn       Kind = "warning"
	Prediction Kind = "prediction" // the outcome of the last round
	Moved      Kind = "moved"
	Happened   Kind = "event" // any other event
	Lost       Kind = "lost"  // the control plane
	Back       Kind = "back"
)

// String is the line as text.
func (l Line) String() string {
	return fmt.Sprintf("%s  %-10s  %s", l.At.UTC().Format("2006-01-02T15:04:05Z"), l.Kind, l.Text)
}
