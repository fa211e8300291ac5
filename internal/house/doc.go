// Package house holds the rules of this repository as tests: who may import
// whom, documentation, names and sizes. There is no code in it.
package house
