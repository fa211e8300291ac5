// Package measure holds what is measured: metrics with their units, samples,
// histograms, intervals and records, and the form in which they lie on disk.
//
// A load hands its counts to a Recorder, interval by interval. Summarise adds up
// those that lie inside a trial's window, a Record keeps the sums with the
// certificate of the trial, and Results stores it. Reading verifies checksums.
//
// All values are in base units (seconds, bytes, events per second); only what
// is shown to a person is scaled. Latency quantiles come from histograms, which
// merge by adding; a quantile that the data cannot bear is absent rather than
// wrong.
package measure
