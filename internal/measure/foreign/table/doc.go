// Package table parses results that the user describes: CSV by a mapping of its columns, and logs of histograms by
// their unit.
package table
