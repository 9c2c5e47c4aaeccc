// Package redact removes known secret values from text that others will read.
//
// It owns the set of known secrets, the forms in which they appear in output, and the replacement
// of each by "(sensitive)", also when a value is split over several writes.
//
// It never guesses: a value that nobody added is shown. It never stores or returns the text that it
// scans. The runner's job process passes everything that it logs or reports as an error through
// this package before a byte reaches the disk.
package redact
