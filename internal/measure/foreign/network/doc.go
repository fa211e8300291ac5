// Package network parses results of network benchmarks.
package network
