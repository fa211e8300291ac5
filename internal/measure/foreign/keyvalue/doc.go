// Package keyvalue parses results of load generators for key-value stores.
package keyvalue
