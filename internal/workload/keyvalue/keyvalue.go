// Package keyvalue is a workload of reads and writes on a key-value store that
// speaks the protocol of Redis or the text protocol of memcached. The load core of
// plimsoll moves the bytes; here is what is said, and to which keys.
package keyvalue
