// Package redact keeps known secret values out of text that others will read.
//
// It owns the set of values that are secret here and now, the forms in which they turn up in output, and the replacement of each
// by "(sensitive)", also when a value is split over several writes.
//
// It never guesses: what nobody added is shown. It never keeps or returns the text that it saw. The job process of the runner
// passes everything that it logs or reports as an error through it, before a byte reaches the disk.
package redact
