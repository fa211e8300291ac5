// Package database parses results of load generators for databases.
package database
