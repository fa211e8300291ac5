// Package guest has no code: its sub-packages start VMs. Its tests are those of sub-packages
// with few tests, each in a file named after its package.
package guest
