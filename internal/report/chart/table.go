// Package chart draws tables as SVG: a figure is a table and a drawing of that table.
package chart

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"

	"plimsoll/internal/escape"
	"plimsoll/internal/quantity"
	"plimsoll/internal/report"
)

// SVG is a drawing, as an HTML element.
type SVG string

// Table is the data of a figure.
type Table struct {
	Name    string // of the figure
	Title   string // heading
	Summary string // text alternative of the drawing
	Note    string // what was left out, and why; empty if nothing was
	Columns []Column
	Rows    [][]Cell
	Alone   bool // no table stands beside the drawing
	// Ramp is the shade of each arm, from 0 for the smallest, if the arms are sizes of one
	// factor. Empty if each arm has a colour of its own.
	Ramp []int
}

// Column is one column of a table. Its values are in base units.
type Column struct {
	Name string
	Unit string // empty for text and integers; "row" if each row has its own in column "unit"
	// Around names the columns with the ends of the interval around a value of this column;
	// its width determines the digits.
	Around [2]string
}

// Cell is a text or a number; the zero Cell is empty.
type Cell struct {
	Text    string
	Value   float64
	Numeric bool
}

// Text is a text.
func Text(s string) Cell { return Cell{Text: s} }

// Num is a number; a value that is not finite is an empty cell.
func Num(v float64) Cell {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Cell{}
	}
	return Cell{Value: v, Numeric: true}
}

// Whole is an integer.
func Whole(n int) Cell { return Num(float64(n)) }

// Column is the index of a column by name; -1 if there is none.
func (t *Table) Column(name string) int {
	for i, c := range t.Columns {
		if c.Name == name {
			return i
		}
	}
	return -1
}

// At is the cell of a row in a named column.
func (t *Table) At(row int, column string) Cell {
	i := t.Column(column)
	if i < 0 {
		return Cell{}
	}
	return t.Rows[row][i]
}

// Number is the value of a cell; NaN if it has none.
func (t *Table) Number(row int, column string) float64 {
	c := t.At(row, column)
	if !c.Numeric {
		return math.NaN()
	}
	return c.Value
}

// Change formats the ratio of a row in a named column.
func (t *Table) Change(row int, column string) string { return t.Shown(row, t.Column(column)) }

// RatioColumns are a ratio and the ends of its interval.
func RatioColumns() []Column { return IntervalColumns("change", "ratio", "") }

// IntervalColumns are a value and the ends of its interval, named low and high with a prefix.
func IntervalColumns(name, unit, prefix string) []Column {
	around := [2]string{prefix + "low", prefix + "high"}
	return []Column{{name, unit, around}, {around[0], unit, around}, {around[1], unit, around}}
}

// Interval are the cells of a value and the ends of its interval.
func Interval(value, low, high float64) []Cell { return []Cell{Num(value), Num(low), Num(high)} }

// Unit is the unit of a column.
func (t *Table) Unit(column string) string {
	if i := t.Column(column); i >= 0 {
		return t.Columns[i].Unit
	}
	return ""
}

// CSV returns the table as comma-separated values. Its first line holds the names, with the
// unit in brackets. Numbers have all their digits.
func (t *Table) CSV() []byte {
	var b strings.Builder
	w := csv.NewWriter(&b)
	line := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		line[i] = escape.Cell(c.Name)
		if c.Unit != "" && c.Unit != "1" && c.Unit != "row" {
			line[i] += " [" + c.Unit + "]"
		}
	}
	_ = w.Write(line) // writing to a strings.Builder does not fail
	for _, row := range t.Rows {
		for i, c := range row {
			line[i] = escape.Cell(c.Text)
			if c.Numeric {
				line[i] = strconv.FormatFloat(c.Value, 'g', -1, 64)
			}
		}
		_ = w.Write(line)
	}
	w.Flush()
	return []byte(b.String())
}

// Shown formats a cell.
func (t *Table) Shown(row, column int) string {
	cell, c := t.Rows[row][column], t.Columns[column]
	if !cell.Numeric {
		return cell.Text
	}
	switch c.Unit {
	case "ratio": // as a change, like every ratio of the report
		if c.Around[0] != "" {
			return report.Within(cell.Value, t.Number(row, c.Around[0]), t.Number(row, c.Around[1]))
		}
		return report.Change(cell.Value)
	case "row":
		return report.Amount(cell.Value, max(0, (t.Number(row, "high")-t.Number(row, "low"))/2), t.At(row, "unit").Text)
	case "":
		return quantity.Grouped(strconv.FormatFloat(cell.Value, 'f', -1, 64))
	}
	if c.Around[0] == "" {
		return report.Amount(cell.Value, 0, c.Unit)
	}
	low, high := t.Number(row, c.Around[0]), t.Number(row, c.Around[1])
	half := (high - low) / 2
	if !(half > 0) {
		half = 0
	}
	return report.Amount(cell.Value, half, c.Unit)
}

// desc is the text alternative of the drawing.
func (t *Table) desc() string {
	parts := []string{t.Summary}
	if t.Note != "" {
		parts = append(parts, t.Note)
	}
	if !t.Alone {
		parts = append(parts, "The table below holds the same data.")
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

// Optional is a number that is absent when it is 0.
func Optional(v float64) Cell {
	if v == 0 {
		return Cell{}
	}
	return Num(v)
}
