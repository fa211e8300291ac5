// Package guest has no code: the packages in it start VMs. Its tests are those of packages
// with few tests, each in a file with the name of its package.
package guest
