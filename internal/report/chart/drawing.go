package chart

import (
	"plimsoll/internal/report"
)

// Figure is one picture of a report, or a table that needs no picture.
type Figure struct {
	Name  string // part of file names and of addresses inside the page
	Doc   string // what to see in it, as a sentence
	Place string // section of the page: one of the places below
	// Table makes the data; it answers false where the input has none for it.
	Table func(s *report.Sources) (Table, bool)
	// Draw draws the table, and nothing else, that many pixels wide. Nil for a
	// figure that is a table only.
	Draw func(t Table, width float64) SVG
}

// The sections that figures stand in.
const (
	InVerdict   = "verdict"
	InTuning    = "tuning"
	InFigures   = "figures"
	InPublished = "published"
	InNoise     = "noise"
	InLedger    = "certificate"
)
