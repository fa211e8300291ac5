// Package measure holds metrics with their units, samples, histograms, intervals and records,
// and their format on disk.
//
// A load reports its counts to a Recorder, interval by interval. Summarise adds up the
// intervals within a trial's window, a Record has the sums with the certificate of the trial,
// and Results stores it. Reading verifies checksums.
//
// All values are in base units (seconds, bytes, events per second); only printed output is
// scaled. Latency quantiles come from histograms, which merge by adding counts. A quantile
// with too few samples is absent.
package measure
